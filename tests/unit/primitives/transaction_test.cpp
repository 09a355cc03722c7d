// SPDX-License-Identifier: MIT
#include "primitives/transaction.hpp"

#include "base/hex.hpp"
#include "support/block_builder.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace blockpub;

TEST_SUITE_BEGIN("primitives.transaction");

namespace {

// BIP 143's example of a native P2WPKH spend: two inputs, the second with a witness.
constexpr const char* kSegwit =
    "01000000000102fff7f7881a8099afa6940d42d1e7f6362bec38171ea3edf433541db4e4ad969f00000000494830450221008b9d"
    "1dc26ba6a9cb"
    "62127b02742fa9d754cd3bebf337f7a55d114c8e5cdd30be022040529b194ba3f9281a99f2b1c0a19c0489bc22ede944ccf4ecba"
    "b4cc618ef3ed01"
    "eeffffffef51e1b804cc89d182d279655c3aa89e815b1b309fe287d9b2b55d57b90ec68a0100000000ffffffff02202cb2060000"
    "00001976a9148280"
    "b37df378db99f66f85c95a783a76ac7a6d5988ac9093510d000000001976a9143bde42dbee7e4dbe6a21b2d50ce2f0167faa8159"
    "88ac000247304402"
    "203609e17b84f6a7d30c80bfa610b5b4542f32a8a0d5447a12fb1366d7f01cc44a0220573a954c4518331561406f90300e8f3358"
    "f51928d43c212a8c"
    "aed02de67eebee0121025476c2e83188368da1ff3e292e7acafcdb3566bb0ad253f62fc70f07aeee635711000000";

std::vector<std::uint8_t> from_hex(std::string_view hex) {
    const auto bytes = decode_hex(hex);
    REQUIRE(bytes);
    return *bytes;
}

}  // namespace

TEST_CASE("a transaction with witness has its ids, sizes and fields") {
    const auto bytes = from_hex(kSegwit);
    const auto view = TransactionView::parse_whole(bytes);
    REQUIRE(view);
    CHECK(view->txid().display_hex() == "e8151a2af31c368a35053ddd4bdb285a8595c769a3ad83e0fa02314a602d4609");
    CHECK(Digest256(view->wtxid().wire_bytes()) == sha256d(bytes));
    CHECK(view->version() == 1);
    CHECK(view->lock_time() == 17);
    CHECK(view->has_witness());
    CHECK(view->input_count() == 2);
    CHECK(view->output_count() == 2);
    CHECK(view->total_size() == bytes.size());
    CHECK(view->total_size() == 343);
    CHECK(view->stripped_size() == 233);
    CHECK(view->weight() == 233 * 4 + 110);
    CHECK(view->vsize() == 261);
    CHECK_FALSE(view->is_coinbase());
}

TEST_CASE("a view made of bytes and shape is the one that parsing gives") {
    const auto same = [](ByteSpan bytes, const TransactionView& parsed) {
        const TransactionView view = TransactionView::of_shape(bytes, parsed.shape());
        CHECK(view.txid() == parsed.txid());
        CHECK(view.wtxid() == parsed.wtxid());
        CHECK(view.weight() == parsed.weight());
        CHECK(view.is_coinbase() == parsed.is_coinbase());
        const auto walk = [](const TransactionView& of) {
            std::vector<std::uint8_t> seen;
            const auto see = [&](ByteSpan part) { seen.insert(seen.end(), part.begin(), part.end()); };
            of.for_each_input([&](std::size_t position, const TxInput& input) {
                seen.push_back(static_cast<std::uint8_t>(position));
                see(input.prevout.txid.wire_bytes());
                see(input.script);
                return true;
            });
            of.for_each_output([&](std::size_t position, const TxOutput& output) {
                seen.push_back(static_cast<std::uint8_t>(position));
                see(output.script);
                return true;
            });
            of.for_each_witness_item([&](std::size_t, std::size_t, ByteSpan item) {
                see(item);
                return true;
            });
            return seen;
        };
        CHECK(walk(view) == walk(parsed));
    };
    const auto segwit = from_hex(kSegwit);
    same(segwit, *TransactionView::parse_whole(segwit));
    // No inputs, no outputs; and so many outputs that their count takes three bytes.
    const auto empty = from_hex("01000000000000000000");
    same(empty, *TransactionView::parse_whole(empty));
    test::TransactionSpec many;
    many.inputs.resize(300);
    many.outputs.resize(300);
    const auto large = many.build();
    const auto parsed = TransactionView::parse_whole(large);
    REQUIRE(parsed);
    same(large, *parsed);
}

TEST_CASE("visitors see every part in order and stop when told to") {
    const auto bytes = from_hex(kSegwit);
    const auto view = TransactionView::parse_whole(bytes);
    REQUIRE(view);
    std::vector<std::uint32_t> sequences;
    view->for_each_input([&](std::size_t position, const TxInput& input) {
        CHECK(position == sequences.size());
        sequences.push_back(input.sequence);
        return true;
    });
    CHECK(sequences == std::vector<std::uint32_t>{0xffffffee, 0xffffffff});
    std::vector<Amount> amounts;
    view->for_each_output([&](std::size_t, const TxOutput& output) {
        amounts.push_back(output.amount);
        CHECK(output.script.size() == 25);
        return true;
    });
    CHECK(amounts == std::vector<Amount>{112340000, 223450000});
    std::vector<std::size_t> witness_sizes;
    view->for_each_witness_item([&](std::size_t input, std::size_t item, ByteSpan bytes_of_item) {
        CHECK(input == 1);
        CHECK(item == witness_sizes.size());
        witness_sizes.push_back(bytes_of_item.size());
        return true;
    });
    CHECK(witness_sizes == std::vector<std::size_t>{71, 33});

    int visits = 0;
    const auto once = [&](auto&&...) {
        ++visits;
        return false;
    };
    view->for_each_input(once);
    view->for_each_output(once);
    view->for_each_witness_item(once);
    CHECK(visits == 3);
}

TEST_CASE("only one input without an outpoint makes a coinbase") {
    test::TransactionSpec spec = test::spend({.txid = {}, .position = 0xffffffff}, 1);
    const auto is_coinbase = [&] {
        const test::Bytes bytes = spec.build();
        const auto view = TransactionView::parse_whole(bytes);
        REQUIRE(view);
        return view->is_coinbase();
    };
    CHECK(is_coinbase());
    spec.inputs[0].prevout.position = 0xfffffffe;
    CHECK_FALSE(is_coinbase());
    spec.inputs[0].prevout = {.txid = Txid(sha256({})), .position = 0xffffffff};
    CHECK_FALSE(is_coinbase());
    spec.inputs = {{}, {}};
    for (auto& input : spec.inputs) input.prevout.position = 0xffffffff;
    CHECK_FALSE(is_coinbase());
}

TEST_CASE("the serialization is taken exactly as Core takes it") {
    struct Case {
        const char* name;
        const char* hex;
        const char* error;  // null: taken
    };
    static constexpr const char* kCutOrNotCanonical =
        "transaction ends within a field, or has a size that is not canonical";
#define PREVOUT                                                        \
    "0000000000000000000000000000000000000000000000000000000000000000" \
    "01000000"
#define INPUT \
    PREVOUT   \
    "00"      \
    "ffffffff"
#define OUTPUT         \
    "0100000000000000" \
    "00"
    static constexpr Case kCases[] = {
        {"legacy",
         "01000000"
         "01" INPUT "01" OUTPUT "00000000",
         nullptr},
        {"legacy without outputs",
         "01000000"
         "01" INPUT "00"
         "00000000",
         nullptr},
        {"with witness",
         "01000000"
         "0001"
         "01" INPUT "01" OUTPUT "0100"
         "00000000",
         nullptr},
        {"with witness, without outputs",
         "01000000"
         "0001"
         "01" INPUT "00"
         "0100"
         "00000000",
         nullptr},
        {"neither inputs nor outputs",
         "01000000"
         "00"
         "00"
         "00000000",
         nullptr},
        {"negative version",
         "ffffffff"
         "01" INPUT "01" OUTPUT "00000000",
         nullptr},
        {"no inputs, one output: read as a flag",
         "01000000"
         "00"
         "01" OUTPUT "00000000",
         kCutOrNotCanonical},
        {"extended form without inputs",
         "01000000"
         "0001"
         "00"
         "01" OUTPUT "00000000",
         "Superfluous witness record"},
        {"extended form with nothing",
         "01000000"
         "0001"
         "00"
         "00"
         "00000000",
         "Superfluous witness record"},
        {"witness of empty stacks",
         "01000000"
         "0001"
         "01" INPUT "01" OUTPUT "00"
         "00000000",
         "Superfluous witness record"},
        {"flag 2",
         "01000000"
         "0002"
         "01" INPUT "01" OUTPUT "00000000",
         "Unknown transaction optional data"},
        {"flag 3",
         "01000000"
         "0003"
         "01" INPUT "01" OUTPUT "0100"
         "00000000",
         "Unknown transaction optional data"},
        {"flag 255",
         "01000000"
         "00ff"
         "01" INPUT "01" OUTPUT "0100"
         "00000000",
         "Unknown transaction optional data"},
        {"nothing", "", kCutOrNotCanonical},
        {"version alone", "01000000", kCutOrNotCanonical},
        {"cut in the lock time",
         "01000000"
         "01" INPUT "01" OUTPUT "000000",
         kCutOrNotCanonical},
        {"more outputs claimed than there are",
         "01000000"
         "01" INPUT "02" OUTPUT "00000000",
         kCutOrNotCanonical},
        {"input count in three bytes",
         "01000000"
         "fd0100" INPUT "01" OUTPUT "00000000",
         kCutOrNotCanonical},
        {"script size in five bytes",
         "01000000"
         "01" PREVOUT "fe00000000"
         "ffffffff"
         "01" OUTPUT "00000000",
         kCutOrNotCanonical},
        {"input count of 32 million",
         "01000000"
         "fe00000002" INPUT "01" OUTPUT "00000000",
         kCutOrNotCanonical},
        {"input count beyond what Core reads",
         "01000000"
         "fe01000002" INPUT "01" OUTPUT "00000000",
         kCutOrNotCanonical},
        {"script size of 2^64 - 1",
         "01000000"
         "01" PREVOUT "ffffffffffffffffff"
         "00",
         kCutOrNotCanonical},
        {"a byte behind it",
         "01000000"
         "01" INPUT "01" OUTPUT "00000000"
         "00",
         "bytes behind the transaction"},
    };
#undef PREVOUT
#undef INPUT
#undef OUTPUT
    for (const Case& c : kCases) {
        SUBCASE(c.name) {
            const auto bytes = from_hex(c.hex);
            const auto view = TransactionView::parse_whole(bytes);
            REQUIRE(view.has_value() == (c.error == nullptr));
            if (!view) {
                CHECK(view.error().code == Errc::corrupt);
                CHECK(view.error().context == c.error);
            }
        }
    }
}

TEST_CASE("no prefix of a transaction is one, and a failed parse does not move the reader") {
    const auto bytes = from_hex(kSegwit);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        CAPTURE(size);
        const std::vector<std::uint8_t> prefix(bytes.begin(),
                                               bytes.begin() + static_cast<std::ptrdiff_t>(size));
        ByteReader reader{ByteSpan(prefix)};
        CHECK_FALSE(TransactionView::parse(reader));
        CHECK(reader.position() == 0);
    }
}

TEST_CASE("transactions one behind the other are parsed one by one") {
    std::vector<std::uint8_t> both = from_hex(kSegwit);
    const std::size_t first_size = both.size();
    const test::Bytes second = test::spend({.txid = {}, .position = 3}, 5).build();
    both.insert(both.end(), second.begin(), second.end());
    ByteReader reader{ByteSpan(both)};
    const auto first_view = TransactionView::parse(reader);
    REQUIRE(first_view);
    CHECK(reader.position() == first_size);
    const auto second_view = TransactionView::parse(reader);
    REQUIRE(second_view);
    CHECK(reader.remaining() == 0);
    CHECK(second_view->wtxid() == Wtxid(sha256d(second)));
}
