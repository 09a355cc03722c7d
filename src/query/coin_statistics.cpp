// SPDX-License-Identifier: MIT
#include "query/coin_statistics.hpp"

#include "primitives/muhash.hpp"
#include "primitives/sha256_stream.hpp"
#include "primitives/wire_writer.hpp"

#include <array>
#include <vector>

namespace blockpub {
namespace {

constexpr std::array<std::string_view, 3> kHashNames{"none", "hash_serialized_3", "muhash"};
/// Bytes of an outpoint, height, amount and length of script, as the measure counts them.
constexpr std::uint64_t kBogoSizeBesideScript = 32 + 4 + 4 + 8 + 2;
constexpr std::uint64_t kCoinsBetweenQuestions = 4096;

void encode_for_hash(const Outpoint& outpoint, const Coin& coin, std::vector<std::uint8_t>& bytes) {
    bytes.clear();
    WireWriter out(bytes);
    out.bytes(outpoint.txid.wire_bytes());
    out.le<std::uint32_t>(outpoint.position);
    out.le<std::uint32_t>(coin.height.value * 2 + (coin.coinbase ? 1U : 0U));
    out.output(coin.amount, coin.script);
}

class Accumulator {
 public:
    explicit Accumulator(CoinHash hash) : kind_(hash) {
        if (kind_ == CoinHash::hash_serialized_3) serialized_.emplace();
        if (kind_ == CoinHash::muhash) set_.emplace();
    }
    void add(const Outpoint& outpoint, const Coin& coin) {
        ++sums.coins;
        sums.bogosize += kBogoSizeBesideScript + coin.script.size();
        sums.total += coin.amount;
        if (!last_ || *last_ != outpoint.txid) ++sums.transactions;
        last_ = outpoint.txid;
        if (kind_ == CoinHash::none) return;
        encode_for_hash(outpoint, coin, encoded_);
        if (serialized_) serialized_->update(encoded_);
        if (set_) set_->insert(encoded_);
    }
    [[nodiscard]] CoinStatistics finish() {
        if (kind_ != CoinHash::none) sums.hash_name = coin_hash_name(kind_);
        if (serialized_) sums.hash = BlockHash(sha256(serialized_->finish()));
        if (set_) sums.hash = BlockHash(set_->digest());
        return sums;
    }

    CoinStatistics sums;

 private:
    const CoinHash kind_;
    std::optional<Txid> last_;
    std::optional<Sha256Stream> serialized_;
    std::optional<MuHash3072> set_;
    std::vector<std::uint8_t> encoded_;
};

}  // namespace

std::optional<CoinHash> coin_hash_from_name(std::string_view name) {
    for (std::size_t i = 0; i < kHashNames.size(); ++i) {
        if (kHashNames[i] == name) return static_cast<CoinHash>(i);
    }
    return std::nullopt;
}

std::string_view coin_hash_name(CoinHash hash) {
    return kHashNames[static_cast<std::size_t>(hash)];
}

Result<CoinStatistics> coin_statistics(const CoinSnapshot& snapshot, CoinHash hash,
                                       const std::function<bool()>& given_up) {
    Accumulator all(hash);
    auto scanned = snapshot.scan([&](const Outpoint& outpoint, const Coin& coin) -> Result<void> {
        if (all.sums.coins % kCoinsBetweenQuestions == 0 && given_up())
            return fail(Errc::stopped, "nobody waits for the answer");
        all.add(outpoint, coin);
        return {};
    });
    if (!scanned) return forward_error(scanned);
    CoinStatistics statistics = all.finish();
    statistics.tip = snapshot.tip();
    return statistics;
}

}  // namespace blockpub
