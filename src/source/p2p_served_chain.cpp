// SPDX-License-Identifier: MIT
#include "source/p2p_served_chain.hpp"

#include "base/endian.hpp"
#include "base/mapped_read.hpp"
#include "primitives/block.hpp"
#include "primitives/sha256_stream.hpp"
#include "primitives/wire_writer.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

namespace blockpub {
namespace {

constexpr std::size_t kHashedAtATime = std::size_t{64} << 10;

Result<bool> is_in_chain(const Snapshot& snapshot, const BlockHash& hash, Height height) {
    const auto active = snapshot.active(height);
    if (active) return *active == hash;
    if (active.error().code == Errc::not_found) return false;
    return std::unexpected(active.error());
}

struct ActiveHeader {
    BlockHash hash;
    HeaderRecord record;
    BlockHeader header;
};
Result<ActiveHeader> header_at(const Snapshot& snapshot, Height height) {
    const auto hash = snapshot.active(height);
    if (!hash) return std::unexpected(hash.error());
    auto record = snapshot.header(*hash);
    if (!record) return forward_error(record);
    const BlockHeader header = BlockHeader::decode(record->header);
    return ActiveHeader{.hash = *hash, .record = std::move(*record), .header = header};
}

/// Whether a block may be told of: it is valid as far as is known, and was connected once.
bool is_shown(const HeaderRecord& record) {
    constexpr std::uint32_t kBad = HeaderRecord::kFailed | HeaderRecord::kFailedChild;
    return (record.status & kBad) == 0 && (record.status & HeaderRecord::kConnected) != 0;
}

/// The checksum of a message with this payload. The bytes come by the kernel: a disk that cannot be read is
/// an error here.
Result<std::uint32_t> checksum_of_mapped(const MappedBytes& payload) {
    Sha256Stream stream;
    std::vector<std::uint8_t> part(std::min(kHashedAtATime, payload.size()));
    for (std::size_t at = 0; at < payload.size(); at += part.size()) {
        const std::span<std::uint8_t> out(part.data(), std::min(part.size(), payload.size() - at));
        if (auto read = read_mapped(payload, at, out); !read) return forward_error(read);
        stream.update(out);
    }
    const Digest256 once = stream.finish();
    return read_le<std::uint32_t>(sha256(once).data());
}

/// The block in the form of before BIP 144.
Result<MappedBytes> without_witness(const SharedBytes& raw) {
    std::vector<std::uint8_t> out;
    out.reserve(raw.size());
    WireWriter writer(out);
    bool first = true;
    const auto walked =
        for_each_transaction(raw.bytes(), [&](std::size_t, const TransactionView& transaction) {
            if (std::exchange(first, false)) {
                const auto head = static_cast<std::size_t>(transaction.bytes().data() - raw.data());
                writer.bytes(raw.bytes().first(head));
            }
            for (const ByteSpan part : transaction.stripped_parts()) writer.bytes(part);
        });
    if (!walked) return std::unexpected(walked.error());
    const auto owner = std::make_shared<const std::vector<std::uint8_t>>(std::move(out));
    return MappedBytes(*owner, owner, MappedBytes::Place::heap);
}

}  // namespace

Result<Tip> ServedChain::tip() const {
    const auto snapshot = store_.snapshot();
    if (!snapshot) return std::unexpected(snapshot.error());
    return snapshot->tip();
}

/// The first hash of the locator that is in the active chain says where; genesis where none is.
Result<Height> ServedChain::fork_height(const Snapshot& snapshot, const GetHeaders& request) const {
    for (const BlockHash& hash : request.locator) {
        const auto record = snapshot.header(hash);
        if (!record) {
            if (record.error().code == Errc::not_found) continue;
            return std::unexpected(record.error());
        }
        const auto active = is_in_chain(snapshot, hash, record->height);
        if (!active) return std::unexpected(active.error());
        if (*active) return record->height;
    }
    return Height{0};
}

Result<ServedChain::Headers> ServedChain::header_alone(const Snapshot& snapshot,
                                                       const BlockHash& hash) const {
    Headers answer;
    const auto record = snapshot.header(hash);
    if (!record) {
        if (record.error().code == Errc::not_found) return answer;
        return std::unexpected(record.error());
    }
    if (!is_shown(*record)) return answer;
    answer.headers.push_back(BlockHeader::decode(record->header));
    answer.last = {hash, record->height};
    return answer;
}

Result<ServedChain::Headers> ServedChain::headers_after(const GetHeaders& request, std::size_t limit) const {
    const auto snapshot = store_.snapshot();
    if (!snapshot) return std::unexpected(snapshot.error());
    if (request.locator.empty()) return header_alone(*snapshot, request.stop);
    const auto tip = snapshot->tip();
    if (!tip) return std::unexpected(tip.error());
    const auto fork = fork_height(*snapshot, request);
    if (!fork) return std::unexpected(fork.error());
    Headers answer{.headers = {}, .last = *tip};
    for (std::uint32_t height = fork->value + 1; height <= tip->height.value; ++height) {
        const auto next = header_at(*snapshot, {height});
        if (!next) return std::unexpected(next.error());
        answer.headers.push_back(next->header);
        answer.last = {next->hash, {height}};
        if (answer.headers.size() == limit || next->hash == request.stop) break;
    }
    return answer;
}

Result<ServedChain::Hashes> ServedChain::hashes_after(const GetHeaders& request, std::size_t limit) const {
    const auto snapshot = store_.snapshot();
    if (!snapshot) return std::unexpected(snapshot.error());
    const auto tip = snapshot->tip();
    if (!tip) return std::unexpected(tip.error());
    const auto fork = fork_height(*snapshot, request);
    if (!fork) return std::unexpected(fork.error());
    Hashes answer;
    for (std::uint32_t height = fork->value + 1; height <= tip->height.value; ++height) {
        const auto next = header_at(*snapshot, {height});
        if (!next) return std::unexpected(next.error());
        if (next->hash == request.stop) break;
        if (!next->record.block) break;  // given up: the peer has to go elsewhere for it
        answer.hashes.push_back(next->hash);
        if (answer.hashes.size() < limit) continue;
        answer.more = true;
        break;
    }
    return answer;
}

/// Height of the last block that the active chain shares with the branch of `point`.
Result<Height> ServedChain::common_height(const Snapshot& snapshot, const Tip& point) const {
    Tip at = point;
    while (true) {
        const auto active = is_in_chain(snapshot, at.hash, at.height);
        if (!active) return std::unexpected(active.error());
        if (*active || at.height.value == 0) return at.height;
        const auto record = snapshot.header(at.hash);
        if (!record) return std::unexpected(record.error());
        at = {BlockHeader::decode(record->header).previous, {at.height.value - 1}};
    }
}

Result<ServedChain::News> ServedChain::news(const std::optional<Tip>& peers, Height fork,
                                            std::size_t most) const {
    const auto snapshot = store_.snapshot();
    if (!snapshot) return std::unexpected(snapshot.error());
    const auto tip = snapshot->tip();
    if (!tip) return std::unexpected(tip.error());
    News news{.tip = *tip, .known = false, .headers = {}};
    if (!peers) return news;
    const auto common = common_height(*snapshot, *peers);
    if (!common) return std::unexpected(common.error());
    news.known = *common >= tip->height;
    const bool connects = *common >= fork && tip->height.value - std::min(fork, tip->height).value <= most;
    if (news.known || !connects) return news;
    for (std::uint32_t height = common->value + 1; height <= tip->height.value; ++height) {
        auto header = header_at(*snapshot, {height});
        if (!header) return forward_error(header);
        news.headers.push_back(header->header);
    }
    return news;
}

Result<MappedBytes> ServedChain::payload(const BlockHash& hash, bool stripped) {
    if (!stripped) return blocks_.map_block(hash);
    const auto raw = blocks_.read_block(hash);
    if (!raw) return std::unexpected(raw.error());
    return without_witness(*raw);
}

Result<ServedChain::Block> ServedChain::block(const BlockHash& hash, bool with_witness) {
    HeaderRecord record;
    {
        const auto snapshot = store_.snapshot();
        if (!snapshot) return std::unexpected(snapshot.error());
        auto found = snapshot->header(hash);
        if (!found) return forward_error(found);
        record = std::move(*found);
    }
    if (!is_shown(record)) return fail(Errc::not_found, "Block not found");
    // Before segwit there are no witnesses that could be left out.
    const bool stripped = !with_witness && record.height >= params_.segwit_height;
    auto bytes = payload(hash, stripped);
    if (!bytes) return forward_error(bytes);
    if (!last_ || last_->hash != hash || last_->with_witness == stripped) {
        const auto checksum = checksum_of_mapped(*bytes);
        if (!checksum) return std::unexpected(checksum.error());
        last_ = Checked{hash, !stripped, *checksum};
    }
    return Block{.payload = std::move(*bytes),
                 .checksum = last_->checksum,
                 .time = BlockHeader::decode(record.header).time};
}

}  // namespace blockpub
