// SPDX-License-Identifier: MIT
#include "base/hex.hpp"
#include "primitives/header.hpp"
#include "query/rpc_context.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

namespace blockpub {

namespace {

/// Bytes of hexadecimal digits, decoded once, into the buffer that the store and the sockets will share.
std::optional<SharedBytes> shared_from_hex(std::string_view hex) {
    if (hex.empty() || hex.size() % 2 != 0) return std::nullopt;
    bool good = false;
    SharedBytes bytes = SharedBytes::build(
        hex.size() / 2, [&](std::span<std::uint8_t> out) { good = decode_hex_to(hex, out); });
    if (!good) return std::nullopt;
    return bytes;
}

/// An Error of the chain that is none of the block's doing.
std::unexpected<RpcError> chain_failure(const Error& error) {
    return rpc_fail(RpcCode::database_error, error.context);
}

RpcOutcome submit_block(const RpcContext& context, const RpcCall& call) {
    auto raw = shared_from_hex(call.arguments[0].text());
    if (!raw) return rpc_fail(RpcCode::deserialization_error, "Block decode failed");
    const auto outcome = context.chain->submit_block(std::move(*raw));
    if (!outcome) {
        if (outcome.error().code == Errc::corrupt)
            return rpc_fail(RpcCode::deserialization_error, outcome.error().context);
        return chain_failure(outcome.error());
    }
    if (const std::string answer = outcome->bip22(); answer.empty()) {
        call.result.null();
    } else {
        call.result.string(answer);
    }
    return {};
}

RpcOutcome submit_header(const RpcContext& context, const RpcCall& call) {
    const auto header = decode_hex(call.arguments[0].text());
    if (!header || header->size() < BlockHeader::kSize) {
        return rpc_fail(RpcCode::deserialization_error, "Block header decode failed");
    }
    const auto outcome = context.chain->submit_header(ByteSpan(*header).first(BlockHeader::kSize));
    if (outcome) return {};
    if (outcome.error().code == Errc::invalid_argument)
        return rpc_fail(RpcCode::verify_error, outcome.error().context);
    return chain_failure(outcome.error());
}

/// invalidateblock, reconsiderblock, preciousblock: a hash in, nothing out.
using ChainVerb = Result<void> (Chain::*)(const BlockHash&);

RpcOutcome turn_chain(const RpcContext& context, const RpcCall& call, ChainVerb verb) {
    const auto hash = hash_argument<BlockHash>(call.arguments[0], "blockhash");
    if (!hash) return std::unexpected(hash.error());
    const auto outcome = (context.chain->*verb)(*hash);
    if (outcome) return {};
    if (outcome.error().code == Errc::not_found)
        return rpc_fail(RpcCode::invalid_address_or_key, "Block not found");
    return chain_failure(outcome.error());
}

RpcMethod turning_method(const RpcContext& context, std::string_view category, std::string_view name,
                         std::string_view description, ChainVerb verb) {
    return {
        .category = category,
        .name = name,
        .lane = Lane::chain,
        .arguments = {{.names = "blockhash", .type = ArgumentType::hex, .text = "hash of the block"}},
        .description = description,
        .result = "Result:\nnull    (json null)\n",
        .example = "\"00000000d1145790a8694403d4063f323d499e655c83426834d4ce2f8dd4a2ee\"",
        .json_example = "\"00000000d1145790a8694403d4063f323d499e655c83426834d4ce2f8dd4a2ee\"",
        .handler = [&context, verb](const RpcCall& call) { return turn_chain(context, call, verb); },
    };
}

}  // namespace

void add_submitting_methods(std::vector<RpcMethod>& methods, const RpcContext& context) {
    methods.push_back({
        .category = "mining",
        .name = "submitblock",
        .lane = Lane::chain,
        .arguments = {{.names = "hexdata",
                       .type = ArgumentType::hex,
                       .text = "the serialized block in hexadecimal"},
                      {.names = "dummy",
                       .type = ArgumentType::string,
                       .required = false,
                       .fallback = "ignored",
                       .text = "taken for BIP 22's sake, and ignored"}},
        .description =
            "Hands in a block. Answers when it is on the disk and its notifications are on their way.\n"
            "See BIP 22 for the answers.",
        .result = "Result (if the block was taken):\nnull    (json null)\n\n"
                  "Result (otherwise):\n\"str\"    (string) duplicate, duplicate-invalid, "
                  "duplicate-inconclusive, inconclusive, or the rule "
                  "that it breaks\n",
        .example = "\"hexdata\"",
        .json_example = "\"hexdata\"",
        .handler = [&context](const RpcCall& call) { return submit_block(context, call); },
    });
    methods.push_back({
        .category = "mining",
        .name = "submitheader",
        .lane = Lane::chain,
        .arguments = {{.names = "hexdata",
                       .type = ArgumentType::hex,
                       .text = "the 80 bytes of the header in hexadecimal"}},
        .description = "Hands in a header whose parent is known.",
        .result = "Result:\nnull    (json null) it is valid, or was known already\n",
        .example = "\"hexdata\"",
        .json_example = "\"hexdata\"",
        .handler = [&context](const RpcCall& call) { return submit_header(context, call); },
    });
    methods.push_back(
        turning_method(context, "hidden", "invalidateblock",
                       "Marks a block, and all that descend from it, as if it broke a rule, for good.",
                       &Chain::invalidate_block));
    methods.push_back(turning_method(
        context, "hidden", "reconsiderblock",
        "Takes the mark off a block, its ancestors and its descendants, and looks at them afresh.",
        &Chain::reconsider_block));
    methods.push_back(turning_method(context, "blockchain", "preciousblock",
                                     "Prefers a block among those of equal work, as if it had come first. "
                                     "Forgotten at the end of the process.",
                                     &Chain::precious_block));
}

}  // namespace blockpub
