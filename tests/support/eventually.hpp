// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <thread>

namespace blockpub::test {

/// Whether a condition that nothing announces comes true, within 20 s.
template <class Condition>
bool eventually(Condition&& condition) {
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition()) {
        if (std::chrono::steady_clock::now() > patience) return false;
        std::this_thread::yield();
    }
    return true;
}

}  // namespace blockpub::test
