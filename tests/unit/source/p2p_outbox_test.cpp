// SPDX-License-Identifier: MIT
#include "source/p2p_outbox.hpp"

#include "support/seed.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <random>
#include <vector>

using namespace blockpub;

TEST_SUITE_BEGIN("source.p2p_outbox");

TEST_CASE("bytes leave in the order in which they came, whatever the socket takes at a time") {
    const unsigned seed = test::seed_of_run();
    std::printf("source.p2p_outbox seed %u\n", seed);
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    PeerOutbox outbox;
    std::vector<std::uint8_t> put;
    std::vector<std::uint8_t> got;
    const auto bytes_of = [&](std::size_t size) {
        std::vector<std::uint8_t> bytes(size);
        std::ranges::generate(bytes, [&] { return static_cast<std::uint8_t>(random()); });
        put.insert(put.end(), bytes.begin(), bytes.end());
        return bytes;
    };
    for (int round = 0; round < 2000; ++round) {
        if (random() % 3 != 0) {
            auto bytes = bytes_of(random() % 50);
            if (random() % 2 == 0) {
                outbox.add(std::move(bytes));
            } else {
                const auto owner = std::make_shared<std::vector<std::uint8_t>>(std::move(bytes));
                outbox.add(MappedBytes(*owner, owner));
            }
        }
        std::array<::iovec, 3> parts;
        const std::size_t count = outbox.stretches(parts);
        std::vector<std::uint8_t> offered;
        for (std::size_t i = 0; i < count; ++i) {
            const auto* const data = static_cast<const std::uint8_t*>(parts[i].iov_base);
            offered.insert(offered.end(), data, data + parts[i].iov_len);
        }
        CHECK(offered.empty() == outbox.empty());
        const std::size_t taken = offered.empty() ? 0 : random() % (offered.size() + 1);
        got.insert(got.end(), offered.begin(), offered.begin() + static_cast<std::ptrdiff_t>(taken));
        outbox.sent(taken);
        REQUIRE(outbox.size() == put.size() - got.size());
    }
    REQUIRE(std::equal(got.begin(), got.end(), put.begin()));
}

TEST_CASE("a block is held no longer than until it is sent") {
    PeerOutbox outbox;
    auto owner = std::make_shared<std::vector<std::uint8_t>>(100, std::uint8_t{7});
    const std::weak_ptr<std::vector<std::uint8_t>> watched = owner;
    outbox.add(MappedBytes(*owner, owner));
    owner.reset();
    outbox.sent(99);
    CHECK_FALSE(watched.expired());
    outbox.sent(1);
    CHECK(watched.expired());
    CHECK(outbox.empty());
}

TEST_SUITE_END();
