// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/reader.hpp"

#include <blockpub/bytes.hpp>
#include <blockpub/hash.hpp>
#include <blockpub/result.hpp>

#include <array>
#include <cstdint>
#include <optional>

namespace blockpub {

/// Amounts in satoshi.
using Amount = std::int64_t;
inline constexpr Amount kCoin = 100'000'000;
inline constexpr Amount kMaxMoney = 21'000'000 * kCoin;
[[nodiscard]] constexpr bool is_in_money_range(Amount amount) {
    return amount >= 0 && amount <= kMaxMoney;
}

struct Outpoint {
    Txid txid;
    std::uint32_t position = 0;
    [[nodiscard]] bool is_null() const { return position == 0xffffffff && txid.is_null(); }
    friend auto operator<=>(const Outpoint&, const Outpoint&) = default;
};

struct TxInput {
    Outpoint prevout;
    ByteSpan script;
    std::uint32_t sequence = 0;
};

struct TxOutput {
    Amount amount = 0;
    ByteSpan script;
};

/// One transaction in borrowed bytes, legacy or with witness (BIP 144), known to be well-formed. Allocates
/// nothing.
///
/// Parsing takes Core's form exactly: canonical compact sizes, no superfluous witness, no unknown flag.
/// It does not judge amounts, counts or scripts.
/// Thread safety: a value; valid as long as the bytes.
class TransactionView {
 public:
    /// Parses at the reader's position and moves it behind the transaction. Errors: corrupt.
    [[nodiscard]] static Result<TransactionView> parse(ByteReader& reader);
    /// Parses bytes that must be one whole transaction. Errors: corrupt (also for trailing bytes).
    [[nodiscard]] static Result<TransactionView> parse_whole(ByteSpan bytes);
    /// What a parse finds out, small enough to be kept for each transaction of a block.
    struct Shape {
        std::uint32_t input_count = 0;
        std::uint32_t output_count = 0;
        std::uint32_t outputs_at = 0;    ///< where the outputs begin, behind their count
        std::uint32_t witness_size = 0;  ///< of the witness stacks; 0: none
    };
    [[nodiscard]] Shape shape() const;
    /// The view that gave `shape`, without parsing again. Requires: the same bytes.
    [[nodiscard]] static TransactionView of_shape(ByteSpan bytes, const Shape& shape);

    /// As parse_whole, for the form of before BIP 144: two zero bytes behind the version are two empty lists.
    [[nodiscard]] static Result<TransactionView> parse_whole_legacy(ByteSpan bytes);

    [[nodiscard]] ByteSpan bytes() const { return bytes_; }
    [[nodiscard]] std::int32_t version() const;
    [[nodiscard]] std::uint32_t lock_time() const;
    [[nodiscard]] bool has_witness() const { return witness_size_ != 0; }
    [[nodiscard]] std::size_t input_count() const { return input_count_; }
    [[nodiscard]] std::size_t output_count() const { return output_count_; }
    /// Serialized size with witness.
    [[nodiscard]] std::size_t total_size() const { return bytes_.size(); }
    /// Serialized size without marker, flag and witness.
    [[nodiscard]] std::size_t stripped_size() const;
    [[nodiscard]] std::size_t weight() const { return stripped_size() * 3 + total_size(); }
    [[nodiscard]] std::size_t vsize() const { return (weight() + 3) / 4; }
    /// The bytes that the txid is the hash of: all but marker, flag and witness. Some may be empty.
    [[nodiscard]] std::array<ByteSpan, 3> stripped_parts() const;
    [[nodiscard]] Txid txid() const;
    [[nodiscard]] Wtxid wtxid() const;
    /// One input whose outpoint is null.
    [[nodiscard]] bool is_coinbase() const;

    /// Calls `visit(std::size_t position, const TxInput&)` for each input; stops when it returns false.
    template <class Visit>
    void for_each_input(Visit&& visit) const {
        ByteReader reader(inputs_);
        for (std::size_t i = 0; i < input_count_; ++i) {
            TxInput input;
            input.prevout.txid = Txid::from_wire(reader.take(32));
            input.prevout.position = reader.le<std::uint32_t>();
            input.script = reader.take(reader.compact_size());
            input.sequence = reader.le<std::uint32_t>();
            if (!visit(i, input)) return;
        }
    }
    /// Calls `visit(std::size_t position, const TxOutput&)` for each output; stops when it returns false.
    template <class Visit>
    void for_each_output(Visit&& visit) const {
        ByteReader reader(outputs_);
        for (std::size_t i = 0; i < output_count_; ++i) {
            TxOutput output;
            output.amount = reader.le<std::int64_t>();
            output.script = reader.take(reader.compact_size());
            if (!visit(i, output)) return;
        }
    }
    /// Calls `visit(std::size_t input, std::size_t item, ByteSpan)` for each witness item, and for an input
    /// without items not at all; stops when it returns false.
    template <class Visit>
    void for_each_witness_item(Visit&& visit) const {
        if (!has_witness()) return;
        ByteReader reader(witness());
        for (std::size_t i = 0; i < input_count_; ++i) {
            const std::uint64_t items = reader.compact_size();
            for (std::uint64_t k = 0; k < items; ++k) {
                if (!visit(i, static_cast<std::size_t>(k), reader.take(reader.compact_size()))) return;
            }
        }
    }

    /// The inputs' witness stacks, one after the other: each a count of items, and each item its size and
    /// bytes. Nothing where has_witness is false.
    [[nodiscard]] ByteSpan witness() const;

 private:
    [[nodiscard]] static Result<TransactionView> parse_form(ByteReader& reader, bool extended);

    ByteSpan bytes_;
    // Each without its count; no further than to the end of the last.
    ByteSpan inputs_;
    ByteSpan outputs_;
    std::size_t input_count_ = 0;
    std::size_t output_count_ = 0;
    std::size_t witness_size_ = 0;  // of the witness stacks, without marker and flag
};

}  // namespace blockpub
