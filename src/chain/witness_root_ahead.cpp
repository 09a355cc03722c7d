// SPDX-License-Identifier: MIT
#include "chain/witness_root_ahead.hpp"

#include "base/thread.hpp"
#include "primitives/merkle.hpp"

#include <system_error>
#include <utility>

namespace blockpub {
namespace {

/// Hashing so many bytes takes several times as long as starting a thread.
constexpr std::size_t kWorthHashingAhead = 200'000;

}  // namespace

WitnessRootAhead::WitnessRootAhead(SharedBytes raw) {
    if (raw.size() < kWorthHashingAhead) return;
    try {
        thread_ = start_thread("block-hash", [this, raw = std::move(raw)](const std::stop_token&) {
            if (const auto root = witness_merkle_root(raw.bytes())) root_ = *root;
        });
    } catch (const std::system_error&) {
        // No thread is to be had: the checks hash for themselves.
    }
}

std::optional<Digest256> WitnessRootAhead::root() {
    if (thread_.joinable()) thread_.join();
    return root_;
}

}  // namespace blockpub
