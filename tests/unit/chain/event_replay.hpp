// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/events.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

namespace blockpub::test {

/// The chain that the durable log says is active; fails the test where records contradict each other.
inline std::vector<BlockHash> replay(const std::vector<EventRecord>& log) {
    std::vector<BlockHash> chain;
    std::size_t step_begin = 0;
    std::vector<BlockHash> at_step_begin;
    for (std::size_t i = 0; i < log.size(); ++i) {
        const EventRecord& record = log[i];
        REQUIRE(record.index == i);
        if (record.kind == BlockEventKind::connected) {
            REQUIRE(record.previous_hash == (chain.empty() ? BlockHash() : chain.back()));
            REQUIRE(record.height.value == chain.size());
            chain.push_back(record.hash);
        } else {
            REQUIRE_FALSE(chain.empty());
            REQUIRE(chain.back() == record.hash);
            chain.pop_back();
            REQUIRE(record.height.value == chain.size());
        }
        if (record.step_end) {
            const auto& fork = *record.step_end;
            // The fork point is the last block of both the chain before the step and the one after it.
            const auto differ = std::ranges::mismatch(at_step_begin, chain).in1 - at_step_begin.begin();
            if (differ == 0) {
                REQUIRE(fork.fork_hash.is_null());
            } else {
                REQUIRE(fork.fork_hash == at_step_begin[static_cast<std::size_t>(differ) - 1]);
                REQUIRE(fork.fork_height.value == differ - 1);
            }
            step_begin = i + 1;
            at_step_begin = chain;
        } else if (chain == at_step_begin) {
            step_begin = i + 1;  // A step that ended where it began.
        }
    }
    REQUIRE(step_begin == log.size());
    return chain;
}

}  // namespace blockpub::test
