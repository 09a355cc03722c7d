// SPDX-License-Identifier: MIT
#include "primitives/header.hpp"
#include "primitives/partial_merkle_tree.hpp"
#include "query/rpc_lookup.hpp"
#include "query/transaction_lookup.hpp"
#include "store/block_lookup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace blockpub {

namespace {

std::expected<std::vector<Txid>, RpcError> txids_argument(JsonValue list) {
    std::vector<Txid> txids;
    for (JsonValue::Cursor c(list); !c.done(); c.next()) {
        const auto txid = hash_argument<Txid>(c.value(), "txid");
        if (!txid) return std::unexpected(txid.error());
        txids.push_back(*txid);
    }
    if (txids.empty()) return rpc_fail(RpcCode::invalid_parameter, "Parameter 'txids' cannot be empty");
    std::ranges::sort(txids);
    if (const auto twice = std::ranges::adjacent_find(txids); twice != txids.end()) {
        return rpc_fail(RpcCode::invalid_parameter,
                        fmt::format("Invalid parameter, duplicated txid: {}", twice->display_hex()));
    }
    return txids;
}

/// The block of the first transaction that still has a coin, or else is in the index.
std::expected<HeaderView, RpcError> find_block_of(const RpcContext& context, const RpcCall& call,
                                                  const std::vector<Txid>& txids) {
    auto found = block_of_any(context, txids, given_up(context, call));
    if (!found && found.error().code == Errc::stopped) return given_up_error(context);
    if (!found) return rpc_fail(found.error());
    if (!*found) return rpc_fail(RpcCode::invalid_address_or_key, "Transaction not yet in block");
    return find_header(context, **found);
}

std::expected<HeaderView, RpcError> block_argument(const RpcContext& context, const RpcCall& call,
                                                   const std::vector<Txid>& txids) {
    if (!call.arguments.has(1)) return find_block_of(context, call, txids);
    const auto hash = hash_argument<BlockHash>(call.arguments[1], "blockhash");
    if (!hash) return std::unexpected(hash.error());
    return find_header(context, *hash);
}

/// The tree over a block's txids: from its facts, or else from a parse. The former is shared.
struct TreeHolder {
    std::shared_ptr<const StoredFacts> facts;
    MerkleTree parsed;
    [[nodiscard]] const MerkleTree& tree() const { return facts ? facts->tree() : parsed; }
};

Result<TreeHolder> tree_of(const BlockMaterialReader& reader, const HeaderView& header) {
    if (auto missing = missing_block(header.record)) return std::unexpected(*std::move(missing));
    auto facts = reader.facts(header.record);
    if (!facts) return forward_error(facts);
    if (*facts) return TreeHolder{.facts = *std::move(facts), .parsed = {}};
    auto raw = reader.raw(header.hash, header.record);
    if (!raw) return forward_error(raw);
    const auto block = ParsedBlock::parse(*std::move(raw));
    if (!block) return std::unexpected(block.error());
    std::vector<Digest256> leaves;
    for (const ParsedBlock::Entry& entry : block->transactions()) leaves.push_back(entry.txid.wire_bytes());
    return TreeHolder{.facts = nullptr, .parsed = MerkleTree(std::move(leaves))};
}

RpcOutcome get_tx_out_proof(const RpcContext& context, const RpcCall& call) {
    const auto txids = txids_argument(call.arguments[0]);
    if (!txids) return std::unexpected(txids.error());
    const auto header = block_argument(context, call, *txids);
    if (!header) return std::unexpected(header.error());
    const auto holder = tree_of(*context.material, *header);
    if (!holder) return unreadable_block(context, header->hash, holder.error());
    const MerkleTree& tree = holder->tree();
    std::vector<bool> wanted(tree.leaf_count());
    std::size_t found = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (!std::ranges::binary_search(*txids, Txid(tree.node(0, i)))) continue;
        wanted[i] = true;
        ++found;
    }
    if (found != txids->size()) {
        return rpc_fail(RpcCode::invalid_address_or_key,
                        "Not all transactions found in specified or retrieved block");
    }
    std::vector<std::uint8_t> proof(header->record.header.begin(), header->record.header.end());
    encode_partial_merkle_tree(prove_leaves(tree, wanted), proof);
    call.result.hex(proof);
    return {};
}

RpcOutcome verify_tx_out_proof(const RpcContext& context, const RpcCall& call) {
    const auto bytes = hex_argument(call.arguments[0], "proof");
    if (!bytes) return std::unexpected(bytes.error());
    ByteReader reader(*bytes);
    const ByteSpan header_bytes = reader.take(BlockHeader::kSize);
    const PartialMerkleTree proof = decode_partial_merkle_tree(reader);
    if (!reader.ok()) return rpc_fail(RpcCode::misc_error, "DataStream::read(): end of data: iostream error");
    const ProvenLeaves proven = check_proof(proof);
    call.result.begin_array();
    if (Digest256(BlockHeader::decode(header_bytes.first<BlockHeader::kSize>()).merkle_root.wire_bytes()) ==
        proven.root) {
        const auto header = find_header(context, hash_header(header_bytes));
        if (!header || header->place.confirmations < 0 || header->record.tx_count == 0)
            return rpc_fail(RpcCode::invalid_address_or_key, "Block not found in chain");
        // A number that is not the block's makes a node of the tree pass for a transaction (CVE-2017-12842).
        if (header->record.tx_count == proof.leaf_count) {
            for (const Digest256& leaf : proven.leaves) call.result.string(Txid(leaf).display_hex());
        }
    }
    call.result.end_array();
    return {};
}

}  // namespace

void add_proof_methods(std::vector<RpcMethod>& methods, const RpcContext& context) {
    methods.push_back({
        .category = "blockchain",
        .name = "gettxoutproof",
        .lane = Lane::wait,  // without a block it looks up a hundred thousand coins
        .arguments = {{.names = "txids",
                       .type = ArgumentType::array,
                       .text = "transactions of one block",
                       .element = "\"txid\"",
                       .details = "[\n  \"txid\",    (string) hash of a transaction\n  ...\n]\n"},
                      {.names = "blockhash",
                       .type = ArgumentType::hex,
                       .required = false,
                       .text = "hash of the block that they are in"}},
        .description =
            "A proof that transactions are in a block.\n"
            "Without blockhash the block is found by an unspent output of one of them, or by -txindex.",
        .result = "Result:\n\"hex\"    (string) the proof: a block header and a part of its merkle tree\n",
        .example = "'[\"mytxid\",...]' \"blockhash\"",
        .json_example = "[\"mytxid\",...], \"blockhash\"",
        .handler = [&context](const RpcCall& call) { return get_tx_out_proof(context, call); },
    });
    methods.push_back({
        .category = "blockchain",
        .name = "verifytxoutproof",
        .arguments = {{.names = "proof", .type = ArgumentType::hex, .text = "what gettxoutproof answered"}},
        .description = "The transactions that a proof proves to be in a block of the active chain.",
        .result = "Result:\n[           (json array) empty for a proof that proves nothing\n"
                  "  \"hex\",    (string) a transaction\n  ...\n]\n",
        .example = "\"proof\"",
        .json_example = "\"proof\"",
        .handler = [&context](const RpcCall& call) { return verify_tx_out_proof(context, call); },
    });
}

}  // namespace blockpub
