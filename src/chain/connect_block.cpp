// SPDX-License-Identifier: MIT
#include "chain/connect_block.hpp"

#include "chain/input_checks.hpp"
#include "primitives/subsidy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace blockpub {
namespace {

/// From here on a coinbase could again be that of a block before BIP 34. (Core's BIP34_IMPLIES_BIP30_LIMIT)
constexpr std::uint32_t kBip34ImpliesBip30Limit = 1'983'702;

/// How many outpoints a block names or makes, at most.
std::size_t count_outpoints(const ParsedBlock& block) {
    std::size_t count = 0;
    for (const ParsedBlock::Entry& entry : block.transactions())
        count += entry.shape.input_count + entry.shape.output_count;
    return count;
}

struct HeightAndHash {
    std::uint32_t height;
    const char* hash;
};
/// The two blocks of main whose coinbases repeat earlier ones, unspent at that time (BIP 30).
constexpr HeightAndHash kRepeats[] = {
    {91842, "00000000000a4d0a398161ffc163c503763b1f4360639393e0e4c8e300e0caec"},
    {91880, "00000000000743f190a18c5577a3c2d2a1f610ae9601ac046a38084ccb7cd721"},
};
/// The two whose coinbases they overwrote.
constexpr HeightAndHash kOverwritten[] = {
    {91722, "00000000000271a2dc26e7667f8419f2e15416dc6955e5a6c6cdf3f2574dd08e"},
    {91812, "00000000000af0aed4792b1acee3d966af36cf5def14935db8de83d6f9306f2f"},
};

bool is_one_of(std::span<const HeightAndHash> list, Height height, const BlockHash& hash) {
    return std::ranges::any_of(list, [&](const HeightAndHash& entry) {
        return height.value == entry.height && hash.display_hex() == entry.hash;
    });
}

/// Connects the transactions of one block, one after the other.
class Connector {
 public:
    Connector(BlockInChain& block, const ParsedBlock& parsed, BlockCoins& coins, const ChainParams& params,
              CoinsAhead* ahead)
        : block_(block),
          parsed_(parsed),
          coins_(coins),
          params_(params),
          ahead_(ahead),
          repeats_coinbase_(repeats_earlier_coinbase(block.height(), block.hash())),
          previous_median_time_(block.previous_median_time()) {}

    Result<ConnectedCoins> run();

 private:
    [[nodiscard]] bool must_not_repeat() const;
    Result<bool> repeats_unspent(BlockCoins& coins);
    Result<std::string> connect_transactions();
    Result<std::string> connect_transaction(std::size_t position);
    Result<std::string> spend_inputs(const TransactionView& transaction);
    [[nodiscard]] std::string check_spending(const TransactionView& transaction, std::span<const Coin> spent);
    [[nodiscard]] bool sequence_locked(const TransactionView& transaction, std::span<const Coin> spent);
    void make_coins(const TransactionView& transaction, const Txid& txid, bool coinbase);

    BlockInChain& block_;
    const ParsedBlock& parsed_;
    BlockCoins& coins_;
    const ChainParams& params_;
    CoinsAhead* const ahead_;  // may be null
    const bool repeats_coinbase_;
    const std::int64_t previous_median_time_;
    BlockUndo undo_;
    std::size_t inputs_ = 0;       // looked at so far
    std::vector<Height> heights_;  // of the coins that one transaction spends
    std::string message_;          // with the reason that ends the walk
    Amount fees_ = 0;
    std::int64_t sigops_cost_ = 0;
};

bool Connector::must_not_repeat() const {
    if (repeats_coinbase_) return false;
    // Once BIP 34 is in force on the branch that we know, coinbases differ by their height.
    const bool bip34_branch = block_.height() > params_.bip34_height && !params_.bip34_hash.is_null() &&
                              block_.ancestor_hash(params_.bip34_height) == params_.bip34_hash;
    return !bip34_branch || block_.height().value >= kBip34ImpliesBip30Limit;
}

Result<bool> Connector::repeats_unspent(BlockCoins& coins) {
    for (std::size_t i = 0; i < parsed_.transactions().size(); ++i) {
        const Txid& txid = parsed_.transactions()[i].txid;
        const std::size_t outputs = parsed_.transaction(i).output_count();
        for (std::size_t position = 0; position < outputs; ++position) {
            auto coin = coins.find({.txid = txid, .position = static_cast<std::uint32_t>(position)});
            if (!coin) return forward_error(coin);
            if (*coin != nullptr) return true;
        }
    }
    return false;
}

/// The coins go to the end of undo_.
Result<std::string> Connector::spend_inputs(const TransactionView& transaction) {
    std::string reason;
    std::optional<Error> failure;
    undo_.begin_transaction();
    transaction.for_each_input([&](std::size_t, const TxInput& input) {
        std::optional<Coin> known;
        if (ahead_ != nullptr) known = ahead_->take(inputs_, parsed_.header().previous);
        ++inputs_;
        auto coin = coins_.spend(input.prevout, std::move(known));
        if (!coin) {
            failure = std::move(coin.error());
        } else if (!*coin) {
            reason = "bad-txns-inputs-missingorspent";
            message_ = "CheckTxInputs: inputs missing/spent";
        } else {
            undo_.add(std::move(**coin));
        }
        return !failure && reason.empty();
    });
    if (failure) return std::unexpected(std::move(*failure));
    return reason;
}

bool Connector::sequence_locked(const TransactionView& transaction, std::span<const Coin> spent) {
    if (block_.height() < params_.csv_height) return false;
    heights_.clear();
    for (const Coin& coin : spent) heights_.push_back(coin.height);
    const SequenceLocks locks = sequence_locks(
        transaction, heights_, [&](Height height) { return block_.ancestor_median_time(height); });
    return locks.height >= static_cast<std::int64_t>(block_.height().value) ||
           locks.median_time >= previous_median_time_;
}

std::string Connector::check_spending(const TransactionView& transaction, std::span<const Coin> spent) {
    Amount fee = 0;
    if (std::string reason = check_inputs(transaction, spent, block_.height(), fee); !reason.empty()) {
        message_ = check_inputs_message(reason, transaction, spent, block_.height());
        return reason;
    }
    fees_ += fee;
    if (fees_ > kMaxMoney) return "bad-txns-accumulated-fee-outofrange";
    if (sequence_locked(transaction, spent)) return "bad-txns-nonfinal";
    return {};
}

void Connector::make_coins(const TransactionView& transaction, const Txid& txid, bool coinbase) {
    transaction.for_each_output([&](std::size_t position, const TxOutput& output) {
        if (is_unspendable(output.script)) return true;
        // Only a coinbase may repeat a transaction whose coin is still there, and only in kRepeats.
        coins_.add({.txid = txid, .position = static_cast<std::uint32_t>(position)},
                   Coin{.amount = output.amount,
                        .height = block_.height(),
                        .coinbase = coinbase,
                        .script = output.script},
                   !repeats_coinbase_);
        return true;
    });
}

Result<std::string> Connector::connect_transaction(std::size_t position) {
    const TransactionView transaction = parsed_.transaction(position);
    std::span<const Coin> spent;
    if (position > 0) {
        auto missing = spend_inputs(transaction);
        if (!missing || !missing->empty()) return missing;
        spent = undo_[position - 1];
        if (std::string reason = check_spending(transaction, spent); !reason.empty()) return reason;
    }
    sigops_cost_ += sigops_cost(transaction, spent);
    if (sigops_cost_ > kMaxBlockSigopsCost) return "bad-blk-sigops";
    make_coins(transaction, parsed_.transactions()[position].txid, position == 0);
    return std::string();
}

/// Result: the reject reason; empty when all is well.
Result<std::string> Connector::connect_transactions() {
    for (std::size_t i = 0; i < parsed_.transactions().size(); ++i) {
        auto reason = connect_transaction(i);
        if (!reason || !reason->empty()) return reason;
    }
    if (value_out(parsed_.transaction(0)) > fees_ + block_subsidy(block_.height(), params_))
        return "bad-cb-amount";
    return std::string();
}

Result<ConnectedCoins> Connector::run() {
    const auto rejected = [](std::string reason, std::string message) {
        return ConnectedCoins{
            .reject_reason = std::move(reason), .reject_message = std::move(message), .undo = {}};
    };
    coins_.reserve(count_outpoints(parsed_));
    undo_.reserve(parsed_.transactions().size());
    const bool must_not = must_not_repeat();
    // Where each coinbase from the first block on names its own height, a transaction repeats an earlier one
    // only with inputs that are spent: a block that connects need not be looked at for it.
    const bool can_wait = params_.bip34_height.value <= 1;
    if (must_not && !can_wait) {
        auto repeats = repeats_unspent(coins_);
        if (!repeats) return forward_error(repeats);
        if (*repeats) return rejected("bad-txns-BIP30", {});
    }
    auto reason = connect_transactions();
    if (!reason) return forward_error(reason);
    if (!reason->empty() && must_not && can_wait) {
        BlockCoins before = coins_.unchanged();
        auto repeats = repeats_unspent(before);
        if (!repeats) return forward_error(repeats);
        if (*repeats) return rejected("bad-txns-BIP30", {});
    }
    if (!reason->empty()) return rejected(std::move(*reason), std::move(message_));
    return ConnectedCoins{.reject_reason = {}, .reject_message = {}, .undo = std::move(undo_)};
}

Error does_not_fit(const BlockInChain& block, const char* what) {
    return {Errc::corrupt, fmt::format("undo data of block {} (height {}) does not fit: {}",
                                       block.hash().display_hex(), block.height().value, what)};
}

}  // namespace

bool repeats_earlier_coinbase(Height height, const BlockHash& hash) {
    return is_one_of(kRepeats, height, hash);
}

Result<ConnectedCoins> connect_coins(BlockInChain& block, BlockCoins& coins, const ChainParams& params,
                                     CoinsAhead* ahead) {
    // Genesis makes no coin that could be spent.
    if (block.height().value == 0) return ConnectedCoins{};
    auto parsed = block.parsed();
    if (!parsed) return forward_error(parsed);
    return Connector(block, **parsed, coins, params, ahead).run();
}

Result<void> disconnect_coins(BlockInChain& block, const BlockUndo& undo, BlockCoins& coins) {
    auto found = block.parsed();
    if (!found) return forward_error(found);
    const ParsedBlock& parsed = **found;
    if (undo.size() + 1 != parsed.transactions().size()) {
        return std::unexpected(does_not_fit(block, "another number of transactions"));
    }
    const bool overwritten = is_one_of(kOverwritten, block.height(), block.hash());
    for (std::size_t i = parsed.transactions().size(); i-- > 0;) {
        const TransactionView transaction = parsed.transaction(i);
        std::optional<Error> failure;
        transaction.for_each_output([&](std::size_t position, const TxOutput& output) {
            if (is_unspendable(output.script)) return true;
            const Outpoint outpoint{.txid = parsed.transactions()[i].txid,
                                    .position = static_cast<std::uint32_t>(position)};
            const auto coin = coins.spend(outpoint);
            if (!coin) {
                failure = coin.error();
            } else if (!*coin && !overwritten) {
                failure = does_not_fit(block, "an output is not among the coins");
            }
            return !failure;
        });
        if (failure) return std::unexpected(std::move(*failure));
        if (i == 0) continue;
        const std::span<const Coin> spent = undo[i - 1];
        if (spent.size() != transaction.input_count())
            return std::unexpected(does_not_fit(block, "another number of inputs"));
        transaction.for_each_input([&](std::size_t position, const TxInput& input) {
            coins.add(input.prevout, spent[position], false);
            return true;
        });
    }
    return {};
}

}  // namespace blockpub
