// SPDX-License-Identifier: MIT
#include "store/coin_memtable.hpp"

#include "base/endian.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace blockpub {

CoinKey coin_key(const Outpoint& outpoint) {
    CoinKey key;
    std::ranges::copy(outpoint.txid.wire_bytes(), key.begin());
    write_be<std::uint32_t>(key.data() + 32, outpoint.position);
    return key;
}

Outpoint coin_outpoint(ByteSpan key) {
    return {.txid = Txid::from_wire(key.first(32)), .position = read_be<std::uint32_t>(key.data() + 32)};
}

void* CountingResource::do_allocate(std::size_t bytes, std::size_t alignment) {
    void* const pointer = ::operator new(bytes, std::align_val_t{alignment});
    own_.fetch_add(bytes, std::memory_order_relaxed);
    total_.fetch_add(bytes, std::memory_order_relaxed);
    return pointer;
}

void CountingResource::do_deallocate(void* pointer, std::size_t bytes, std::size_t alignment) {
    own_.fetch_sub(bytes, std::memory_order_relaxed);
    total_.fetch_sub(bytes, std::memory_order_relaxed);
    ::operator delete(pointer, bytes, std::align_val_t{alignment});
}

/// One value of one outpoint; the encoded coin lies behind it, none when spent.
struct CoinMemtable::Version {
    Version* older;
    StepNumber step;
    std::uint32_t size;
    bool fresh;

    [[nodiscard]] const std::uint8_t* bytes() const {
        return reinterpret_cast<const std::uint8_t*>(this + 1);
    }
    [[nodiscard]] std::uint8_t* bytes() { return reinterpret_cast<std::uint8_t*>(this + 1); }
    [[nodiscard]] bool spent() const { return size == 0; }
};

std::deque<CoinMemtable::Shard> CoinMemtable::make_shards() {
    std::deque<Shard> shards;
    for (std::size_t i = 0; i < kShards; ++i) shards.emplace_back(&counting_);
    return shards;
}

CoinMemtable::Shard& CoinMemtable::shard_of(const Outpoint& outpoint) const {
    return shards_[outpoint.txid.wire_bytes()[0]];
}

void CoinMemtable::free_version(Shard& shard, Version* version) {
    shard.pool.deallocate(version, sizeof(Version) + version->size, alignof(Version));
}

void CoinMemtable::put(const CoinChange& change, StepNumber step) {
    thread_local std::vector<std::uint8_t> encoded;
    encoded.clear();
    if (change.coin) encode_coin(*change.coin, encoded);
    Shard& shard = shard_of(change.outpoint);
    const MutexLock lock(shard.mutex);
    Version*& newest = shard.newest.try_emplace(change.outpoint, nullptr).first->second;
    const bool fresh = newest != nullptr ? newest->fresh : change.fresh;
    void* const memory = shard.pool.allocate(sizeof(Version) + encoded.size(), alignof(Version));
    auto* const version = new (memory) Version{
        .older = newest, .step = step, .size = static_cast<std::uint32_t>(encoded.size()), .fresh = fresh};
    if (!encoded.empty()) std::memcpy(version->bytes(), encoded.data(), encoded.size());
    newest = version;
    changes_.fetch_add(1, std::memory_order_relaxed);
    if (version->older != nullptr || (version->fresh && version->spent())) {
        superseded_.push_back({.since = step, .outpoint = change.outpoint});
    }
}

void CoinMemtable::release_superseded(StepNumber oldest_reader) {
    while (!superseded_.empty() && superseded_.front().since <= oldest_reader) {
        const Outpoint outpoint = superseded_.front().outpoint;
        superseded_.pop_front();
        Shard& shard = shard_of(outpoint);
        const MutexLock lock(shard.mutex);
        const auto found = shard.newest.find(outpoint);
        if (found == shard.newest.end()) continue;
        Version* kept = found->second;
        while (kept->step > oldest_reader && kept->older != nullptr) kept = kept->older;
        while (kept->older != nullptr) {
            Version* const gone = kept->older;
            kept->older = gone->older;
            free_version(shard, gone);
        }
        if (kept == found->second && kept->step <= oldest_reader && kept->spent() && kept->fresh) {
            shard.newest.erase(found);
            free_version(shard, kept);
        }
    }
}

const CoinMemtable::Version* CoinMemtable::visible(const Version* newest, StepNumber step) {
    while (newest != nullptr && newest->step > step) newest = newest->older;
    return newest;
}

std::optional<CoinMemtable::Found> CoinMemtable::find(const Outpoint& outpoint, StepNumber step) const {
    const Shard& shard = shard_of(outpoint);
    const MutexLock lock(shard.mutex);
    const auto found = shard.newest.find(outpoint);
    if (found == shard.newest.end()) return std::nullopt;
    const Version* const version = visible(found->second, step);
    if (version == nullptr) return std::nullopt;
    if (version->spent()) return Found{};
    ByteReader reader(ByteSpan(version->bytes(), version->size));
    return Found{decode_coin(reader)};
}

std::vector<CoinMemtable::Row> CoinMemtable::sorted_shard(std::size_t number, StepNumber step) const {
    std::vector<Row> rows;
    {
        const Shard& shard = shards_[number];
        const MutexLock lock(shard.mutex);
        rows.reserve(shard.newest.size());
        for (const auto& [outpoint, newest] : shard.newest) {
            const Version* const version = visible(newest, step);
            if (version == nullptr) continue;
            rows.push_back({.key = coin_key(outpoint),
                            .encoded = {version->bytes(), version->bytes() + version->size},
                            .fresh = version->fresh});
        }
    }
    std::ranges::sort(rows, std::ranges::less{}, &Row::key);
    return rows;
}

}  // namespace blockpub
