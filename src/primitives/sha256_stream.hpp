// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/sha256.hpp"

#include <blockpub/bytes.hpp>

#include <memory>

namespace blockpub {

/// SHA-256 of bytes that come piece by piece.
/// Thread safety: distinct objects safe.
class Sha256Stream {
 public:
    Sha256Stream();
    Sha256Stream(Sha256Stream&&) noexcept;
    Sha256Stream& operator=(Sha256Stream&&) noexcept;
    ~Sha256Stream();

    void update(ByteSpan bytes);
    /// Requires: nothing is called afterwards.
    [[nodiscard]] Digest256 finish();

 private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace blockpub
