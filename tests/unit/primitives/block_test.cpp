// SPDX-License-Identifier: MIT
#include "primitives/block.hpp"

#include "base/hex.hpp"
#include "primitives/chain_params.hpp"
#include "primitives/merkle.hpp"
#include "primitives/work.hpp"
#include "support/block_builder.hpp"
#include "unit/primitives/vectors.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <map>
#include <sstream>

using namespace blockpub;

TEST_SUITE_BEGIN("primitives.block");

namespace {

// The value of a key whose value is a plain string, in one line of JSON; empty where it is not there.
std::string json_string(const std::string& line, const std::string& key) {
    const std::string start = "\"" + key + "\":\"";
    const std::size_t begin = line.find(start);
    if (begin == std::string::npos) return {};
    const std::size_t value = begin + start.size();
    return line.substr(value, line.find('"', value) - value);
}

// The raw blocks that were submitted to a node, by the hash that it gave them.
std::map<std::string, SharedBytes> read_submitted_blocks() {
    std::map<std::string, SharedBytes> blocks;
    std::istringstream lines(vectors::read_file(vectors::directory() / "chain-a.jsonl"));
    for (std::string line; std::getline(lines, line);) {
        const auto bytes = decode_hex(json_string(line, "hex"));
        if (bytes && !bytes->empty()) blocks[json_string(line, "hash")] = SharedBytes::copy_of(*bytes);
    }
    return blocks;
}

void check_block_line(std::istringstream& fields, const ParsedBlock& block) {
    std::uint32_t height = 0;
    std::size_t size = 0;
    std::size_t stripped_size = 0;
    std::size_t weight = 0;
    std::string merkle_root;
    fields >> height >> size >> stripped_size >> weight >> merkle_root;
    CHECK(block.raw().size() == size);
    CHECK(block.stripped_size() == stripped_size);
    CHECK(block.weight() == weight);
    CHECK(block.header().merkle_root.display_hex() == merkle_root);
    CHECK(MerkleRoot(block_merkle_root(block).root) == block.header().merkle_root);
    CHECK_FALSE(block_merkle_root(block).mutated);
}

void check_transaction_line(std::istringstream& fields, const ParsedBlock& block, std::size_t position) {
    std::string txid;
    std::string wtxid;
    std::size_t size = 0;
    std::size_t vsize = 0;
    std::size_t weight = 0;
    fields >> txid >> wtxid >> size >> vsize >> weight;
    REQUIRE(position < block.transactions().size());
    const TransactionView view = block.transaction(position);
    CHECK(view.txid().display_hex() == txid);
    CHECK(block.transactions()[position].txid == view.txid());
    CHECK(view.wtxid().display_hex() == wtxid);
    CHECK(view.total_size() == size);
    CHECK(view.vsize() == vsize);
    CHECK(view.weight() == weight);
    CHECK(block.transactions()[position].has_witness == (txid != wtxid));
    CHECK(view.is_coinbase() == (position == 0));
    const SharedBytes raw = block.raw_transaction(position);
    CHECK(raw.size() == size);
    CHECK(std::ranges::equal(raw.bytes(), view.bytes()));
}

}  // namespace

TEST_CASE("block 170 has its hash, txids, merkle root and sizes") {
    const auto block = ParsedBlock::parse(vectors::block170());
    REQUIRE(block);
    CHECK(block->hash().display_hex() == "00000000d1145790a8694403d4063f323d499e655c83426834d4ce2f8dd4a2ee");
    REQUIRE(block->transactions().size() == 2);
    CHECK(block->transactions()[0].txid.display_hex() ==
          "b1fea52486ce0c62bb442b530a3f0132b826c74e473d1f2c220bfa78111c5082");
    CHECK(block->transactions()[1].txid.display_hex() ==
          "f4184fc596403b9d638783cf57adfe4c75c605f6356fbc91338530e9831e9e16");
    CHECK(block->header().merkle_root.display_hex() ==
          "7dac2c5666815c17a3b36427de37bb9d2e2c5ccec3f8633eb91a4205cb4c10ff");
    CHECK(block_merkle_root(*block).root == block->header().merkle_root.wire_bytes());
    CHECK_FALSE(block_merkle_root(*block).mutated);
    CHECK(block->raw().size() == 490);
    CHECK(block->stripped_size() == 490);
    CHECK(block->weight() == 1960);
}

TEST_CASE("a header keeps its fields through decoding and encoding") {
    const SharedBytes raw = vectors::block170();
    const BlockHeader header = BlockHeader::decode(raw.bytes());
    CHECK(header.version == 1);
    CHECK(header.previous.display_hex() ==
          "000000002a22cfee1f2c846adbd12b3e183d4f97683f85dad08a79780a84bd55");
    CHECK(header.time == 1231731025);
    CHECK(header.bits == 0x1d00ffff);
    CHECK(header.nonce == 1889418792);
    CHECK(std::ranges::equal(header.encode(), raw.bytes().first(80)));
    CHECK(header.hash() == hash_header(raw.bytes()));
    BlockHeader other = header;
    other.version = -1;
    CHECK(BlockHeader::decode(other.encode()) == other);
    CHECK(other.hash() != header.hash());
}

TEST_CASE("every block and transaction of a node's chain has the ids and sizes that the node gives") {
    auto blocks = read_submitted_blocks();
    const ChainParams& regtest = chain_params(ChainKind::regtest);
    blocks[regtest.genesis_hash.display_hex()] = SharedBytes::copy_of(regtest.genesis);
    std::istringstream lines(vectors::read_file(vectors::directory() / "chain-a-blocks.txt"));
    std::optional<ParsedBlock> block;
    std::size_t position = 0;
    std::size_t seen = 0;
    for (std::string line; std::getline(lines, line);) {
        std::istringstream fields(line);
        std::string kind;
        fields >> kind;
        if (kind == "block") {
            std::string hash;
            fields >> hash;
            REQUIRE(blocks.contains(hash));
            auto parsed = ParsedBlock::parse(blocks[hash]);
            REQUIRE(parsed);
            CHECK(parsed->hash().display_hex() == hash);
            block = *std::move(parsed);
            position = 0;
            ++seen;
            check_block_line(fields, *block);
        } else {
            REQUIRE(block);
            check_transaction_line(fields, *block, position++);
            CHECK(position <= block->transactions().size());
        }
    }
    CHECK(seen == 171);
}

TEST_CASE("chainwork adds up along a node's chain as the node says") {
    auto blocks = read_submitted_blocks();
    std::istringstream lines(vectors::read_file(vectors::directory() / "chain-a-blocks.txt"));
    std::map<BlockHash, Uint256> chainwork;
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with("block ")) continue;
        std::istringstream fields(line);
        std::string kind, hash, height, size, stripped_size, weight, merkle_root, expected;
        fields >> kind >> hash >> height >> size >> stripped_size >> weight >> merkle_root >> expected;
        const SharedBytes raw =
            height == "0" ? SharedBytes::copy_of(chain_params(ChainKind::regtest).genesis) : blocks[hash];
        const BlockHeader header = BlockHeader::decode(raw.bytes());
        // A side branch whose first block nobody asked about.
        if (height != "0" && !chainwork.contains(header.previous)) continue;
        const Uint256 total = chainwork[header.previous] + block_work(header.bits);
        chainwork[*BlockHash::from_display_hex(hash)] = total;
        CHECK(total.hex() == expected);
    }
    CHECK(chainwork.size() >= 170);
}

TEST_CASE("what a node cannot decode is refused, and what it can is not") {
    std::istringstream lines(vectors::read_file(vectors::directory() / "reject.jsonl"));
    int refused = 0;
    int taken = 0;
    for (std::string line; std::getline(lines, line);) {
        CAPTURE(json_string(line, "name"));
        const bool decoded = line.find("Block decode failed") == std::string::npos;
        const auto bytes = decode_hex(json_string(line, "hex"));
        CHECK(decoded == (bytes && ParsedBlock::parse(SharedBytes::copy_of(*bytes))));
        (decoded ? taken : refused) += 1;
    }
    CHECK(refused == 4);
    CHECK(taken > 100);
}

TEST_CASE("no prefix of a block is a block") {
    const SharedBytes raw = vectors::block170();
    for (std::size_t size = 0; size < raw.size(); ++size) {
        CAPTURE(size);
        const auto block = ParsedBlock::parse(SharedBytes::copy_of(raw.bytes().first(size)));
        REQUIRE_FALSE(block);
        CHECK(block.error().code == Errc::corrupt);
    }
}

TEST_CASE("bytes behind a block are refused, or dropped where that is asked for") {
    const SharedBytes raw = vectors::block170();
    std::vector<std::uint8_t> longer(raw.bytes().begin(), raw.bytes().end());
    longer.insert(longer.end(), {0, 1, 2});
    const SharedBytes shared = SharedBytes::copy_of(longer);
    CHECK_FALSE(ParsedBlock::parse(shared));
    CHECK_FALSE(for_each_transaction(shared.bytes(), [](std::size_t, const TransactionView&) {}));
    const auto block = ParsedBlock::parse_front(shared);
    REQUIRE(block);
    CHECK(block->raw().size() == raw.size());
    CHECK(block->weight() == 4 * raw.size());
    CHECK(block->raw().data() == shared.data());
    const auto whole = ParsedBlock::parse_front(raw);
    REQUIRE(whole);
    CHECK(whole->raw().size() == raw.size());
}

TEST_CASE("a count of transactions that the bytes cannot hold is refused without room being made for it") {
    const SharedBytes raw = vectors::block170();
    std::vector<std::uint8_t> bytes(raw.bytes().begin(), raw.bytes().begin() + 80);
    SUBCASE("none of them there") {
        bytes.insert(bytes.end(), {0xfe, 0, 0, 0, 2});
    }
    SUBCASE("two of them there") {
        bytes.insert(bytes.end(), {0xfe, 0, 0, 0, 2});
        bytes.insert(bytes.end(), raw.bytes().begin() + 81, raw.bytes().end());
    }
    SUBCASE("more than Core reads") {
        bytes.insert(bytes.end(), {0xfe, 1, 0, 0, 2});
    }
    SUBCASE("not in its shortest form") {
        bytes.insert(bytes.end(), {0xfd, 2, 0});
        bytes.insert(bytes.end(), raw.bytes().begin() + 81, raw.bytes().end());
    }
    CHECK_FALSE(ParsedBlock::parse(SharedBytes::copy_of(bytes)));
}

TEST_CASE("a block without transactions decodes") {
    std::vector<std::uint8_t> bytes(81);
    const auto block = ParsedBlock::parse(SharedBytes::copy_of(bytes));
    REQUIRE(block);
    CHECK(block->transactions().empty());
    CHECK(block->stripped_size() == 81);
    CHECK(Digest256{} == block_merkle_root(*block).root);
    CHECK(Digest256{} == block_witness_merkle_root(*block));
}

TEST_CASE("sizes are right across the counts whose own size grows") {
    for (const std::size_t count : {252u, 253u, 300u}) {
        CAPTURE(count);
        test::BlockSpec spec;
        for (std::size_t i = 1; i < count; ++i) {
            spec.transactions.push_back(
                test::spend({.txid = {}, .position = static_cast<std::uint32_t>(i)}, 1));
        }
        spec.transactions.front().inputs[0].witness = {{1, 2, 3}};
        const auto block = ParsedBlock::parse(test::build_block(spec).raw);
        REQUIRE(block);
        CHECK(block->transactions().size() == count);
        std::size_t witness_bytes = 0;
        for (std::size_t i = 0; i < count; ++i) {
            const TransactionView view = block->transaction(i);
            witness_bytes += view.total_size() - view.stripped_size();
        }
        CHECK(block->stripped_size() == block->raw().size() - witness_bytes);
    }
}

TEST_CASE("a real block of a megabyte has its hash and merkle root" *
          doctest::skip(!vectors::shared("mainnet/block413567.raw"))) {
    const std::string raw = vectors::read_file(*vectors::shared("mainnet/block413567.raw"));
    const auto block = ParsedBlock::parse(
        SharedBytes::copy_of({reinterpret_cast<const std::uint8_t*>(raw.data()), raw.size()}));
    REQUIRE(block);
    CHECK(block->raw().size() == 999'887);
    CHECK(block->hash().display_hex() == "0000000000000000025aff8be8a55df8f89c77296db6198f272d6577325d4069");
    CHECK(MerkleRoot(block_merkle_root(*block).root) == block->header().merkle_root);
    CHECK(block->weight() == 4 * 999'887);
    CHECK(meets_proof_of_work(block->hash(), block->header().bits, chain_params(ChainKind::main).pow_limit));
    CHECK(block->transaction(0).is_coinbase());
}
