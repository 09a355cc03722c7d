// SPDX-License-Identifier: MIT
#include "primitives/sha256.hpp"

#include "base/hex.hpp"
#include "primitives/sha256_batch.hpp"
#include "primitives/sha256_stream.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string_view>
#include <vector>

using namespace blockpub;

TEST_SUITE_BEGIN("primitives.sha256");

namespace {

ByteSpan text_bytes(std::string_view text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace

// FIPS 180-4's examples, and what any other implementation gives for the double hash of the same.
TEST_CASE("known texts have their known digests") {
    struct Case {
        const char* name;
        std::string_view text;
        const char* once;
        const char* twice;
    };
    static constexpr Case kCases[] = {
        {"nothing", "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
         "5df6e0e2761359d30a8275058e299fcc0381534545f55cf43e41983f5d4c9456"},
        {"abc", "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
         "4f8b42c22dd3729b519ba6f68d2da7cc5b2d606d05daed5ad5128cc03e6c6358"},
        {"56 letters", "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
         "0cffe17f68954dac3a84fb1458bd5ec99209449749b2b308b7cb55812f9563af"},
    };
    for (const Case& c : kCases) {
        SUBCASE(c.name) {
            CHECK(encode_hex(sha256(text_bytes(c.text))) == c.once);
            CHECK(encode_hex(sha256d(text_bytes(c.text))) == c.twice);
        }
    }
}

TEST_CASE("a million letters have their known digest") {
    const std::vector<std::uint8_t> letters(1'000'000, 'a');
    CHECK(encode_hex(sha256(letters)) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("parts hash as the whole, wherever it is cut") {
    std::mt19937 random(20240131);
    for (std::size_t size = 0; size < 300; ++size) {
        std::vector<std::uint8_t> whole(size);
        for (std::uint8_t& byte : whole) byte = static_cast<std::uint8_t>(random());
        const std::size_t first = random() % (size + 1);
        const std::size_t second = first + random() % (size - first + 1);
        const ByteSpan bytes(whole);
        const std::array<ByteSpan, 3> parts{bytes.first(first), bytes.subspan(first, second - first),
                                            bytes.subspan(second)};
        CAPTURE(size);
        CHECK(sha256d(parts) == sha256d(bytes));
    }
}

TEST_CASE("every size hashes as another implementation has it") {
    std::mt19937 random(7);
    for (std::size_t size = 0; size < 400; ++size) {
        std::vector<std::uint8_t> bytes(size);
        for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
        Sha256Stream stream;
        stream.update(bytes);
        CAPTURE(size);
        CHECK(sha256(bytes) == stream.finish());
    }
}

TEST_CASE("a batch gives each message its own digest, whatever sizes meet") {
    const unsigned seed = std::random_device{}();
    CAPTURE(seed);
    std::mt19937 random(seed);
    using Width = Sha256dBatch::Width;
    for (int round = 0; round < 90; ++round) {
        const Width width =
            std::min(std::array{Width::one, Width::two, Width::sixteen}[round % 3], Sha256dBatch::widest());
        std::vector<std::vector<std::uint8_t>> messages(random() % (round % 2 == 0 ? 12 : 60));
        for (auto& message : messages) {
            // Around every bound: one block, the padding's, the longest that is copied.
            static constexpr std::size_t kSizes[] = {0, 55, 56, 63, 64, 65, 119, 120, 4095, 4096, 4097, 9000};
            message.resize(random() % 3 == 0 ? kSizes[random() % std::size(kSizes)] : random() % 700);
            for (std::uint8_t& byte : message) byte = static_cast<std::uint8_t>(random());
        }
        std::vector<Digest256> digests(messages.size());
        Sha256dBatch batch(width);
        for (std::size_t i = 0; i < messages.size(); ++i) {
            const ByteSpan whole(messages[i]);
            const std::size_t cut = random() % (whole.size() + 1);
            const std::array<ByteSpan, 2> parts{whole.first(cut), whole.subspan(cut)};
            batch.add(parts, digests[i]);
        }
        batch.finish();
        for (std::size_t i = 0; i < messages.size(); ++i) CHECK(digests[i] == sha256d(messages[i]));
    }
}

TEST_CASE("a pair hashes as both digests one after the other") {
    const Digest256 left = sha256(text_bytes("left"));
    const Digest256 right = sha256(text_bytes("right"));
    std::vector<std::uint8_t> joined(left.begin(), left.end());
    joined.insert(joined.end(), right.begin(), right.end());
    CHECK(sha256d_pair(left, right) == sha256d(joined));
    CHECK(sha256d_pair(left, right) != sha256d_pair(right, left));
}

TEST_CASE("hash160 of a public key is what its address holds") {
    const auto key = decode_hex("0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798");
    REQUIRE(key);
    CHECK(encode_hex(hash160(*key)) == "751e76e8199196d454941c45d1b3a323f1433bd6");
}
