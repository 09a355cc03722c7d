// SPDX-License-Identifier: MIT
#include "primitives/muhash.hpp"

#include "base/hex.hpp"
#include "primitives/sha256_stream.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

using namespace blockpub;

namespace {

using Element = std::array<std::uint8_t, 32>;

Element numbered(std::uint8_t number) {
    Element element{};
    element[0] = number;
    return element;
}

std::string display(Digest256 digest) {
    std::ranges::reverse(digest);
    return encode_hex(digest);
}

}  // namespace

TEST_SUITE_BEGIN("primitives.muhash");

TEST_CASE("the known set has its known digest") {
    // Of Bitcoin Core's src/test/crypto_tests.cpp: {0, 1} without 2.
    MuHash3072 set;
    set.insert(numbered(0));
    set.insert(numbered(1));
    set.remove(numbered(2));
    CHECK(display(set.digest()) == "10d312b100cbd32ada024a6646e40d3482fcff103668d2625f10002a607d5863");
}

TEST_CASE("the order of elements does not matter, and what was taken out was never there") {
    const auto seed = std::random_device{}();
    CAPTURE(seed);
    std::mt19937 random(seed);
    std::vector<Element> elements(20);
    for (Element& element : elements)
        std::ranges::generate(element, [&] { return static_cast<std::uint8_t>(random()); });
    MuHash3072 set;
    for (const Element& element : elements) set.insert(element);
    std::ranges::shuffle(elements, random);
    MuHash3072 other;
    other.remove(numbered(9));
    for (const Element& element : elements) other.insert(element);
    CHECK(other.digest() != set.digest());
    other.insert(numbered(9));
    CHECK(other.digest() == set.digest());
    CHECK(MuHash3072().digest() != set.digest());
}

TEST_CASE("bytes that come in pieces have the digest of the whole") {
    std::vector<std::uint8_t> bytes(1000);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i);
    Sha256Stream stream;
    for (std::size_t at = 0; at < bytes.size(); at += 7)
        stream.update(ByteSpan(bytes).subspan(at, std::min<std::size_t>(7, bytes.size() - at)));
    CHECK(stream.finish() == sha256(bytes));
}

TEST_SUITE_END();
