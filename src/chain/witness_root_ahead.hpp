// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/sha256.hpp"

#include <blockpub/bytes.hpp>

#include <optional>
#include <thread>

namespace blockpub {

/// The witness merkle root of a large block, worked out on a thread of its own from the bytes alone, while
/// the thread that has them decodes and checks the block: half of what that costs is hashing of its own kind.
///
/// Thread safety: one thread.
/// Ownership: keeps the bytes alive.
/// Blocking: `root` and the destructor wait for the hashing.
class WitnessRootAhead {
 public:
    /// Begins at once, if the block is large enough for a thread to pay.
    explicit WitnessRootAhead(SharedBytes raw);
    WitnessRootAhead(const WitnessRootAhead&) = delete;
    WitnessRootAhead& operator=(const WitnessRootAhead&) = delete;

    /// Nothing when the block is small, or does not decode.
    [[nodiscard]] std::optional<Digest256> root();

 private:
    std::optional<Digest256> root_;  // the thread's, until it has ended
    std::jthread thread_;
};

}  // namespace blockpub
