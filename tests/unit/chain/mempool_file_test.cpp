// SPDX-License-Identifier: MIT
#include "chain/mempool_file.hpp"

#include "base/hex.hpp"
#include "support/block_builder.hpp"
#include "support/regtest_chain.hpp"

#include <doctest/doctest.h>

using namespace blockpub;
using namespace blockpub::test;

namespace {

TransactionRef transaction(std::uint32_t lock_time) {
    TransactionSpec spec = spend({.txid = {}, .position = 3}, 1000);
    spec.lock_time = lock_time;
    return must(MempoolTransaction::decode(SharedBytes::copy_of(spec.build())));
}

MempoolFileContents contents() {
    MempoolFileContents contents;
    contents.items = {{.transaction = transaction(1), .time = 1'700'000'000, .fee_delta = -5},
                      {.transaction = transaction(2), .time = 1'700'000'001, .fee_delta = 0}};
    contents.fee_deltas.emplace(transaction(3)->txid(), 77);
    contents.unbroadcast.insert(transaction(1)->txid());
    return contents;
}

constexpr MempoolFile::Key kKey{0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe};

}  // namespace

TEST_SUITE_BEGIN("chain.mempool_file");

TEST_CASE("what is encoded is decoded again") {
    const auto decoded = must(MempoolFile::decode(MempoolFile::encode(contents(), kKey)));
    REQUIRE(decoded.items.size() == 2);
    CHECK(decoded.items[0].transaction->txid() == transaction(1)->txid());
    CHECK(decoded.items[0].time == 1'700'000'000);
    CHECK(decoded.items[0].fee_delta == -5);
    CHECK(decoded.fee_deltas == contents().fee_deltas);
    CHECK(decoded.unbroadcast == contents().unbroadcast);
}

TEST_CASE("the head is that of bitcoind's second version, and the key counts from the file's first byte") {
    MempoolFileContents empty;
    const auto file = MempoolFile::encode(empty, kKey);
    // Version, size of the key, key; then a count of 0 from byte 17 on, and two empty lists.
    CHECK(encode_hex(file) ==
          "0200000000000000"
          "08"
          "1032547698badcfe"
          "32547698badcfe10"
          "3254");
}

TEST_CASE("the first version, which is plain, is read too") {
    auto file = MempoolFile::encode(contents(), MempoolFile::Key{});
    file.erase(file.begin() + 8, file.begin() + 17);
    file[0] = 1;
    CHECK(must(MempoolFile::decode(file)).items.size() == 2);
}

TEST_CASE("a file that ends early, or of another version, is an error") {
    const auto file = MempoolFile::encode(contents(), kKey);
    for (std::size_t size = 0; size < file.size(); ++size)
        CHECK_FALSE(MempoolFile::decode(ByteSpan(file).first(size)));
    auto later = file;
    later[0] = 3;
    const auto decoded = MempoolFile::decode(later);
    REQUIRE_FALSE(decoded);
    CHECK(decoded.error().code == Errc::unsupported);
}
