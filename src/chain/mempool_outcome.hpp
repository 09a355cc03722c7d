// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/fee_rate.hpp"

#include <blockpub/hash.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace blockpub {

/// Why the mempool does not take a transaction, in bitcoind's words.
struct TransactionRefusal {
    /// As far as the next step differs. Source: Bitcoin Core v28.1 src/consensus/validation.h.
    enum class Kind : std::uint8_t {
        final,           ///< against a policy, or at this tip
        invalid,         ///< against a rule of the chain: no node takes it, ever
        missing_inputs,  ///< an output that it spends is unknown, or spent
        reconsiderable,  ///< pays too little by itself; a child may pay for it
    };
    Kind kind = Kind::final;
    std::string reason;
    std::string details;
    /// `reason, details`.
    [[nodiscard]] std::string text() const { return details.empty() ? reason : reason + ", " + details; }
};

[[nodiscard]] inline TransactionRefusal refuse(
    std::string reason, std::string details = {},
    TransactionRefusal::Kind kind = TransactionRefusal::Kind::final) {
    return {.kind = kind, .reason = std::move(reason), .details = std::move(details)};
}

/// What became of one transaction. Units: virtual bytes, satoshi.
struct TransactionOutcome {
    enum class Kind : std::uint8_t {
        accepted,  ///< or would be
        refused,
        already_there,      ///< these very bytes are in the mempool
        different_witness,  ///< the same transaction with another witness is
    };
    Kind kind = Kind::accepted;
    TransactionRefusal refusal;
    std::int64_t vsize = 0;
    Amount fee = 0;
    FeeRate effective_rate;          ///< by which it was judged
    std::vector<Wtxid> judged_with;  ///< whose fees and sizes that rate is made of
    std::vector<Txid> replaced;      ///< what had to leave for it
    Wtxid other_wtxid;               ///< of different_witness

    [[nodiscard]] bool accepted() const { return kind == Kind::accepted; }
    [[nodiscard]] static TransactionOutcome of(TransactionRefusal refusal) {
        TransactionOutcome outcome;
        outcome.kind = Kind::refused;
        outcome.refusal = std::move(refusal);
        return outcome;
    }
};

/// What became of several transactions that were handed in together.
struct PackageOutcome {
    enum class State : std::uint8_t {
        ok,
        policy,       ///< the package as such is refused
        transaction,  ///< at least one of its transactions is
    };
    State state = State::ok;
    std::string reason;
    std::string details;
    std::map<Wtxid, TransactionOutcome> outcomes;  ///< of those that were looked at to the end
    [[nodiscard]] std::string text() const { return details.empty() ? reason : reason + ", " + details; }
    void refuse(State why, std::string with_reason, std::string with_details = {}) {
        state = why;
        reason = std::move(with_reason);
        details = std::move(with_details);
    }
};

}  // namespace blockpub
