// SPDX-License-Identifier: MIT
#include "chain/facts.hpp"

#include "base/endian.hpp"
#include "chain/input_checks.hpp"
#include "primitives/compact_size.hpp"
#include "primitives/sha256.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace blockpub {
namespace {

/// What a coin costs beside its output: outpoint, height and coinbase flag. (Core's PER_UTXO_OVERHEAD)
constexpr std::int64_t kCoinOverhead = 36 + 4 + 1;

/// An output as it is serialized, and what Core counts for the coin.
std::int64_t coin_size(ByteSpan script) {
    const std::size_t output = 8 + compact_size_length(script.size()) + script.size();
    return static_cast<std::int64_t>(output) + kCoinOverhead;
}

std::int64_t median(std::vector<std::int64_t> values) {
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    if (values.size() % 2 != 0) return *middle;
    return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

struct RateAndWeight {
    std::int64_t rate;
    std::int64_t weight;
    friend auto operator<=>(const RateAndWeight&, const RateAndWeight&) = default;
};

std::array<std::int64_t, 5> percentiles(std::vector<RateAndWeight> rates, std::int64_t total_weight) {
    std::array<std::int64_t, 5> result{};
    if (rates.empty()) return result;
    std::ranges::sort(rates);
    const auto total = static_cast<double>(total_weight);
    const std::array<double, 5> bounds = {total / 10.0, total / 4.0, total / 2.0, (total * 3.0) / 4.0,
                                          (total * 9.0) / 10.0};
    std::size_t next = 0;
    std::int64_t weight = 0;
    for (const RateAndWeight& entry : rates) {
        weight += entry.weight;
        while (next < bounds.size() && static_cast<double>(weight) >= bounds[next])
            result[next++] = entry.rate;
    }
    std::fill(result.begin() + static_cast<std::ptrdiff_t>(next), result.end(), rates.back().rate);
    return result;
}

/// Adds up one block's transactions.
class StatsBuilder {
 public:
    StatsBuilder(Height height, bool repeats_coinbase)
        : genesis_(height.value == 0), repeats_coinbase_(repeats_coinbase) {}

    void add_outputs(const TransactionView& transaction, bool coinbase) {
        transaction.for_each_output([&](std::size_t, const TxOutput& output) {
            const std::int64_t size = coin_size(output.script);
            ++stats_.outputs;
            stats_.utxo_size_increase += size;
            if (genesis_ || (coinbase && repeats_coinbase_) || is_unspendable(output.script)) return true;
            ++coins_made_;
            stats_.utxo_size_increase_actual += size;
            return true;
        });
    }
    void add_spending(const TransactionView& transaction, std::span<const Coin> spent);
    [[nodiscard]] BlockStats finish(std::size_t transactions);

 private:
    const bool genesis_;
    const bool repeats_coinbase_;
    BlockStats stats_;
    std::int64_t coins_made_ = 0;
    std::vector<std::int64_t> fees_;
    std::vector<std::int64_t> sizes_;
    std::vector<RateAndWeight> rates_;
};

void StatsBuilder::add_spending(const TransactionView& transaction, std::span<const Coin> spent) {
    const auto size = static_cast<std::int64_t>(transaction.total_size());
    const auto weight = static_cast<std::int64_t>(transaction.weight());
    const Amount out = value_out(transaction);
    Amount in = 0;
    for (const Coin& coin : spent) {
        in += coin.amount;
        stats_.utxo_size_increase -= coin_size(coin.script);
        stats_.utxo_size_increase_actual -= coin_size(coin.script);
    }
    stats_.inputs += static_cast<std::int64_t>(transaction.input_count());
    stats_.total_out += out;
    stats_.total_size += size;
    stats_.total_weight += weight;
    stats_.total_fee += in - out;
    if (transaction.has_witness()) {
        ++stats_.segwit_txs;
        stats_.segwit_total_size += size;
        stats_.segwit_total_weight += weight;
    }
    sizes_.push_back(size);
    fees_.push_back(in - out);
    rates_.push_back(
        {.rate = weight != 0 ? (in - out) * static_cast<std::int64_t>(kWitnessScale) / weight : 0,
         .weight = weight});
}

BlockStats StatsBuilder::finish(std::size_t transactions) {
    stats_.utxo_increase = stats_.outputs - stats_.inputs;
    stats_.utxo_increase_actual = coins_made_ - stats_.inputs;
    if (fees_.empty()) return stats_;
    const auto count = static_cast<std::int64_t>(transactions - 1);
    stats_.average_fee = stats_.total_fee / count;
    stats_.average_tx_size = stats_.total_size / count;
    stats_.average_fee_rate =
        stats_.total_fee * static_cast<std::int64_t>(kWitnessScale) / stats_.total_weight;
    std::tie(stats_.min_fee, stats_.max_fee) = std::pair(std::ranges::min(fees_), std::ranges::max(fees_));
    std::tie(stats_.min_tx_size, stats_.max_tx_size) =
        std::pair(std::ranges::min(sizes_), std::ranges::max(sizes_));
    stats_.min_fee_rate = std::ranges::min(rates_, {}, &RateAndWeight::rate).rate;
    stats_.max_fee_rate = std::ranges::max(rates_, {}, &RateAndWeight::rate).rate;
    stats_.median_fee = median(std::move(fees_));
    stats_.median_tx_size = median(std::move(sizes_));
    stats_.fee_rate_percentiles = percentiles(std::move(rates_), stats_.total_weight);
    return stats_;
}

/// The figures in the order of the stored form.
template <class Stats, class Visit>
void for_each_figure(Stats& s, Visit&& visit) {
    for (auto* figure : {&s.average_fee,
                         &s.average_fee_rate,
                         &s.average_tx_size,
                         &s.inputs,
                         &s.max_fee,
                         &s.max_fee_rate,
                         &s.max_tx_size,
                         &s.median_fee,
                         &s.median_tx_size,
                         &s.min_fee,
                         &s.min_fee_rate,
                         &s.min_tx_size,
                         &s.outputs,
                         &s.segwit_total_size,
                         &s.segwit_total_weight,
                         &s.segwit_txs,
                         &s.total_out,
                         &s.total_size,
                         &s.total_weight,
                         &s.total_fee,
                         &s.utxo_increase,
                         &s.utxo_size_increase,
                         &s.utxo_increase_actual,
                         &s.utxo_size_increase_actual}) {
        visit(*figure);
    }
    for (auto& figure : s.fee_rate_percentiles) visit(figure);
}

constexpr std::size_t kFigures = 29;
constexpr std::size_t kHeadSize = 4 + 4 + kFigures * 8;
constexpr std::size_t kTransactionSize = 4 + 4 + 32;
constexpr std::size_t kChecksumSize = 4;

}  // namespace

BlockFacts compute_facts(const ParsedBlock& block, Height height, bool repeats_coinbase,
                         const BlockUndo& undo) {
    BlockFacts facts;
    facts.transactions.reserve(block.transactions().size());
    facts.stripped_size = static_cast<std::uint32_t>(block.stripped_size());
    StatsBuilder stats(height, repeats_coinbase);
    for (std::size_t i = 0; i < block.transactions().size(); ++i) {
        const ParsedBlock::Entry& entry = block.transactions()[i];
        facts.transactions.push_back({.offset = entry.offset, .size = entry.size, .txid = entry.txid});
        const TransactionView transaction = block.transaction(i);
        stats.add_outputs(transaction, i == 0);
        if (i > 0) stats.add_spending(transaction, undo[i - 1]);
    }
    facts.stats = stats.finish(block.transactions().size());
    return facts;
}

SharedBytes encode_facts(const BlockFacts& facts) {
    const std::size_t body = kHeadSize + facts.transactions.size() * kTransactionSize;
    return SharedBytes::build(body + kChecksumSize, [&](std::span<std::uint8_t> out) {
        std::uint8_t* p = out.data();
        write_le<std::uint32_t>(p, facts.stripped_size);
        write_le<std::uint32_t>(p + 4, static_cast<std::uint32_t>(facts.transactions.size()));
        p += 8;
        for_each_figure(facts.stats, [&](std::int64_t figure) {
            write_le(p, figure);
            p += 8;
        });
        for (const BlockFacts::Transaction& transaction : facts.transactions) {
            write_le(p, transaction.offset);
            write_le(p + 4, transaction.size);
            std::ranges::copy(transaction.txid.wire_bytes(), p + 8);
            p += kTransactionSize;
        }
        const Digest256 digest = sha256d(ByteSpan(out).first(body));
        std::copy_n(digest.begin(), kChecksumSize, p);
    });
}

Result<FactsView> FactsView::open(ByteSpan bytes) {
    if (bytes.size() < kHeadSize + kChecksumSize) return fail(Errc::corrupt, "facts are cut off");
    const ByteSpan body = bytes.first(bytes.size() - kChecksumSize);
    const Digest256 digest = sha256d(body);
    if (!std::equal(bytes.end() - kChecksumSize, bytes.end(), digest.begin())) {
        return fail(Errc::corrupt, "facts do not match their checksum");
    }
    const auto count = read_le<std::uint32_t>(body.data() + 4);
    if (body.size() - kHeadSize != std::size_t{count} * kTransactionSize)
        return fail(Errc::corrupt, "facts do not decode");
    return FactsView(body, count);
}

FactsView FactsView::of_encoded(ByteSpan bytes) {
    return {bytes.first(bytes.size() - kChecksumSize), read_le<std::uint32_t>(bytes.data() + 4)};
}

BlockStats FactsView::stats() const {
    BlockStats stats;
    ByteReader reader(bytes_.subspan(8));
    for_each_figure(stats, [&](std::int64_t& figure) { figure = reader.le<std::int64_t>(); });
    return stats;
}

std::uint32_t FactsView::offset(std::size_t position) const {
    return read_le<std::uint32_t>(bytes_.data() + kHeadSize + position * kTransactionSize);
}

std::uint32_t FactsView::size(std::size_t position) const {
    return read_le<std::uint32_t>(bytes_.data() + kHeadSize + position * kTransactionSize + 4);
}

ByteSpan FactsView::txid(std::size_t position) const {
    return bytes_.subspan(kHeadSize + position * kTransactionSize + 8, 32);
}

Result<BlockFacts> decode_facts(ByteSpan bytes) {
    auto view = FactsView::open(bytes);
    if (!view) return forward_error(view);
    BlockFacts facts;
    facts.stripped_size = view->stripped_size();
    facts.stats = view->stats();
    facts.transactions.reserve(view->count());
    for (std::size_t i = 0; i < view->count(); ++i) {
        facts.transactions.push_back(
            {.offset = view->offset(i), .size = view->size(i), .txid = Txid::from_wire(view->txid(i))});
    }
    return facts;
}

}  // namespace blockpub
