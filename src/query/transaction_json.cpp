// SPDX-License-Identifier: MIT
#include "query/transaction_json.hpp"

namespace blockpub {

namespace {

/// Amounts that no rule has checked may add up to anything.
Amount add_wrapping(Amount a, Amount b) {
    return static_cast<Amount>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

}  // namespace

Result<void> TransactionWriter::append_members(const TransactionView& transaction,
                                               const TransactionDetail& detail) {
    append_head(transaction, detail);
    auto in = append_inputs(transaction, detail);
    if (!in) return forward_error(in);
    const Amount out = append_outputs(transaction);
    if (detail.spent != nullptr) {
        out_.text(R"(,"fee":)");
        out_.amount(*in - out);
    }
    if (detail.hex) {
        out_.text(R"(,"hex":")");
        out_.hex(transaction.bytes());
        out_.character('"');
    }
    return {};
}

void TransactionWriter::append_head(const TransactionView& transaction, const TransactionDetail& detail) {
    Txid own;
    ByteSpan txid = detail.txid;
    if (txid.empty()) {
        own = transaction.txid();
        txid = own.wire_bytes();
    }
    out_.text(R"("txid":")");
    out_.reversed_hex(txid);
    out_.text(R"(","hash":")");
    if (transaction.has_witness()) {
        out_.reversed_hex(transaction.wtxid().wire_bytes());
    } else {
        out_.reversed_hex(txid);
    }
    const std::size_t weight = transaction.weight();
    out_.text(R"(","version":)");
    out_.unsigned_integer(static_cast<std::uint32_t>(transaction.version()));
    out_.text(R"(,"size":)");
    out_.unsigned_integer(transaction.total_size());
    out_.text(R"(,"vsize":)");
    out_.unsigned_integer((weight + 3) / 4);
    out_.text(R"(,"weight":)");
    out_.unsigned_integer(weight);
    out_.text(R"(,"locktime":)");
    out_.unsigned_integer(transaction.lock_time());
}

Result<Amount> TransactionWriter::append_inputs(const TransactionView& transaction,
                                                const TransactionDetail& detail) {
    const bool coinbase = transaction.is_coinbase();
    if (detail.spent != nullptr && detail.spent->next_transaction() != transaction.input_count()) {
        return fail(Errc::corrupt, "undo data of another block");
    }
    Amount in = 0;
    ByteReader witness(transaction.witness());
    out_.text(R"(,"vin":[)");
    transaction.for_each_input([&](std::size_t position, const TxInput& input) {
        const Coin* const spent = detail.spent != nullptr ? &detail.spent->next_coin() : nullptr;
        if (spent != nullptr) in = add_wrapping(in, spent->amount);
        if (position != 0) out_.character(',');
        append_input(input, coinbase, witness, spent, detail.prevouts);
        return true;
    });
    out_.character(']');
    if (detail.spent != nullptr && !detail.spent->ok()) return fail(Errc::corrupt, "undo data is cut off");
    return in;
}

void TransactionWriter::append_input(const TxInput& input, bool coinbase, ByteReader& witness,
                                     const Coin* spent, bool prevout) {
    if (coinbase) {
        out_.text(R"({"coinbase":")");
        out_.hex(input.script);
        out_.character('"');
    } else {
        out_.text(R"({"txid":")");
        out_.reversed_hex(input.prevout.txid.wire_bytes());
        out_.text(R"(","vout":)");
        out_.unsigned_integer(input.prevout.position);
        out_.text(R"(,"scriptSig":{"asm":")");
        append_script_asm(out_, input.script, true);
        out_.text(R"(","hex":")");
        out_.hex(input.script);
        out_.text("\"}");
    }
    append_witness(witness);
    if (prevout && spent != nullptr) {
        out_.text(R"(,"prevout":{"generated":)");
        out_.text(spent->coinbase ? "true" : "false");
        out_.text(R"(,"height":)");
        out_.unsigned_integer(spent->height.value);
        out_.text(R"(,"value":)");
        out_.amount(spent->amount);
        out_.text(R"(,"scriptPubKey":)");
        scripts_.append(spent->script);
        out_.character('}');
    }
    out_.text(R"(,"sequence":)");
    out_.unsigned_integer(input.sequence);
    out_.character('}');
}

void TransactionWriter::append_witness(ByteReader& witness) {
    const std::uint64_t items = witness.remaining() == 0 ? 0 : witness.compact_size();
    if (items == 0) return;
    out_.text(R"(,"txinwitness":[)");
    for (std::uint64_t i = 0; i < items; ++i) {
        out_.text(i == 0 ? "\"" : "\",\"");
        out_.hex(witness.take(witness.compact_size()));
    }
    out_.text("\"]");
}

Amount TransactionWriter::append_outputs(const TransactionView& transaction) {
    Amount out = 0;
    out_.text(R"(,"vout":[)");
    transaction.for_each_output([&](std::size_t position, const TxOutput& output) {
        out = add_wrapping(out, output.amount);
        out_.text(position == 0 ? R"({"value":)" : R"(,{"value":)");
        out_.amount(output.amount);
        out_.text(R"(,"n":)");
        out_.unsigned_integer(position);
        out_.text(R"(,"scriptPubKey":)");
        scripts_.append(output.script);
        out_.character('}');
        return true;
    });
    out_.character(']');
    return out;
}

Result<void> write_transaction_members(JsonWriter& out, const TransactionView& transaction,
                                       const TransactionDetail& detail, const ChainParams& params) {
    Result<void> written;
    out.raw([&](std::string& text) {
        TextAppender appender(text);
        written = TransactionWriter(appender, params).append_members(transaction, detail);
    });
    return written;
}

}  // namespace blockpub
