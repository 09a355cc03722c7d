// SPDX-License-Identifier: MIT
#include "query/block_json.hpp"

#include "base/text_appender.hpp"
#include "chain/block_checks.hpp"
#include "primitives/block.hpp"
#include "primitives/header.hpp"
#include "primitives/work.hpp"
#include "query/transaction_json.hpp"
#include "store/block_lookup.hpp"

#include <fmt/compile.h>
#include <fmt/format.h>

namespace blockpub {

namespace {

/// Where a block's transactions lie and what they are called: from its facts, or else from a parse.
class TransactionsOfBlock {
 public:
    [[nodiscard]] static Result<TransactionsOfBlock> open(const BlockMaterial& material) {
        TransactionsOfBlock index;
        if (material.facts) {
            index.facts_ = material.facts->view();
        } else {
            auto block = ParsedBlock::parse(material.raw);
            if (!block) return forward_error(block);
            if (!body_matches_header(*block)) return fail(Errc::corrupt, "the stored block is damaged");
            index.parsed_ = *std::move(block);
        }
        return index;
    }

    [[nodiscard]] std::size_t count() const {
        return facts_ ? facts_->count() : parsed_->transactions().size();
    }
    [[nodiscard]] std::size_t stripped_size() const {
        return facts_ ? facts_->stripped_size() : parsed_->stripped_size();
    }
    [[nodiscard]] ByteSpan txid(std::size_t position) const {
        if (facts_) return facts_->txid(position);
        return parsed_->transactions()[position].txid.wire_bytes();
    }
    [[nodiscard]] Result<TransactionView> transaction(ByteSpan raw, std::size_t position) const {
        if (!facts_) return parsed_->transaction(position);
        const std::size_t offset = facts_->offset(position);
        const std::size_t size = facts_->size(position);
        if (offset > raw.size() || size > raw.size() - offset)
            return fail(Errc::corrupt, "facts of another block");
        return TransactionView::parse_whole(raw.subspan(offset, size));
    }

 private:
    std::optional<FactsView> facts_;
    std::optional<ParsedBlock> parsed_;
};

/// Eight digits.
void append_word(TextAppender& out, std::uint32_t word) {
    char* const room = out.room(8);
    out.advance(fmt::format_to(room, FMT_COMPILE("{:08x}"), word));
}

void append_real(TextAppender& out, double number) {
    char* const room = out.room(32);
    out.advance(fmt::format_to(room, FMT_COMPILE("{:.16g}"), number));
}

/// All members of a header's object.
void append_header(TextAppender& out, const HeaderView& view) {
    const BlockHeader header = BlockHeader::decode(view.record.header);
    out.text(R"("hash":")");
    out.reversed_hex(view.hash.wire_bytes());
    out.text(R"(","confirmations":)");
    out.integer(view.place.confirmations);
    out.text(R"(,"height":)");
    out.unsigned_integer(view.record.height.value);
    out.text(R"(,"version":)");
    out.integer(header.version);
    out.text(R"(,"versionHex":")");
    append_word(out, static_cast<std::uint32_t>(header.version));
    out.text(R"(","merkleroot":")");
    out.reversed_hex(header.merkle_root.wire_bytes());
    out.text(R"(","time":)");
    out.unsigned_integer(header.time);
    out.text(R"(,"mediantime":)");
    out.integer(view.median_time);
    out.text(R"(,"nonce":)");
    out.unsigned_integer(header.nonce);
    out.text(R"(,"bits":")");
    append_word(out, header.bits);
    out.text(R"(","difficulty":)");
    append_real(out, difficulty(header.bits));
    out.text(R"(,"chainwork":")");
    out.hex(view.record.chainwork);
    out.text(R"(","nTx":)");
    out.unsigned_integer(view.record.tx_count);
    if (view.record.height.value > 0) {
        out.text(R"(,"previousblockhash":")");
        out.reversed_hex(header.previous.wire_bytes());
        out.character('"');
    }
    if (view.place.next) {
        out.text(R"(,"nextblockhash":")");
        out.reversed_hex(view.place.next->wire_bytes());
        out.character('"');
    }
}

void append_txids(TextAppender& out, const TransactionsOfBlock& index) {
    for (std::size_t i = 0; i < index.count(); ++i) {
        out.text(i == 0 ? "\"" : "\",\"");
        out.reversed_hex(index.txid(i));
    }
    out.character('"');
}

Result<void> append_transactions(TextAppender& out, const BlockMaterial& material,
                                 const TransactionsOfBlock& index, BlockDetail detail,
                                 const ChainParams& params) {
    std::optional<UndoReader> undo;
    if (material.undo) {
        undo = material.undo->reader();
        if (undo->transaction_count() + 1 != index.count())
            return fail(Errc::corrupt, "undo data of another block");
    }
    TransactionWriter writer(out, params);
    for (std::size_t i = 0; i < index.count(); ++i) {
        auto transaction = index.transaction(material.raw.bytes(), i);
        if (!transaction) return forward_error(transaction);
        out.text(i == 0 ? "{" : ",{");
        const auto written =
            writer.append_members(*transaction, {.txid = index.txid(i),
                                                 .spent = undo && i > 0 ? &*undo : nullptr,
                                                 .prevouts = detail == BlockDetail::prevouts});
        if (!written) return written;
        out.character('}');
    }
    return {};
}

/// About what the text will take: to grow by doubling would copy megabytes, and touch as many new pages.
std::size_t likely_size(const BlockMaterial& material, BlockDetail detail) {
    constexpr std::size_t kTxid = 67;
    constexpr std::size_t kHead = 1024;
    switch (detail) {
        case BlockDetail::txids:
            return kHead + (material.facts ? material.facts->view().count() * kTxid : 0);
        case BlockDetail::transactions:
            return kHead + material.raw.size() * 10;
        case BlockDetail::prevouts:
            return kHead + material.raw.size() * 12;
    }
    return kHead;
}

Result<void> append_block(TextAppender& out, const HeaderView& header, const BlockMaterial& material,
                          BlockDetail detail, const ChainParams& params) {
    auto index = TransactionsOfBlock::open(material);
    if (!index) return forward_error(index);
    const std::size_t size = header.record.block ? header.record.block->size : material.raw.size();
    out.character('{');
    append_header(out, header);
    out.text(R"(,"strippedsize":)");
    out.unsigned_integer(index->stripped_size());
    out.text(R"(,"size":)");
    out.unsigned_integer(size);
    out.text(R"(,"weight":)");
    out.unsigned_integer(index->stripped_size() * 3 + size);
    out.text(R"(,"tx":[)");
    if (detail == BlockDetail::txids) {
        append_txids(out, *index);
    } else {
        auto written = append_transactions(out, material, *index, detail, params);
        if (!written) return written;
    }
    out.text("]}");
    return {};
}

}  // namespace

void write_header_json(JsonWriter& out, const HeaderView& header) {
    out.raw([&](std::string& text) {
        TextAppender appender(text);
        appender.character('{');
        append_header(appender, header);
        appender.character('}');
    });
}

Result<BlockMaterial> read_block_material(const BlockMaterialReader& reader, const HeaderView& header,
                                          BlockDetail detail) {
    if (auto missing = missing_block(header.record)) return std::unexpected(*std::move(missing));
    BlockMaterial material;
    auto batch = reader.batch();
    auto facts = reader.facts(header.record, batch);
    if (!facts) return forward_error(facts);
    material.facts = *std::move(facts);
    if (material.facts && detail == BlockDetail::txids) return material;
    auto raw = reader.raw(header.hash, header.record, batch);
    if (!raw) return forward_error(raw);
    material.raw = *std::move(raw);
    if (detail == BlockDetail::txids) return material;
    auto undo = reader.undo(header.record, batch);
    if (!undo) return forward_error(undo);
    material.undo = *std::move(undo);
    return material;
}

Result<void> write_block_json(JsonWriter& out, const HeaderView& header, const BlockMaterial& material,
                              BlockDetail detail, const ChainParams& params) {
    Result<void> written;
    out.raw([&](std::string& text) {
        text.reserve(text.size() + likely_size(material, detail));
        TextAppender appender(text);
        written = append_block(appender, header, material, detail, params);
    });
    return written;
}

}  // namespace blockpub
