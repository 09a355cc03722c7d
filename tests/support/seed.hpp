// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>
#include <random>

namespace blockpub::test {

/// The seed of a random test: BLOCKPUB_SEED where it is set, to do a run again, else another each time. Print
/// it.
[[nodiscard]] inline unsigned seed_of_run() {
    if (const char* given = std::getenv("BLOCKPUB_SEED")) return static_cast<unsigned>(std::atoi(given));
    return std::random_device{}();
}

}  // namespace blockpub::test
