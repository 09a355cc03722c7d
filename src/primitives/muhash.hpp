// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/sha256.hpp"

#include <blockpub/bytes.hpp>

#include <cstdint>
#include <memory>

namespace blockpub {

/// A hash of a set: of its elements, in whatever order they were put in and taken out.
///
/// Each element is a number of 3072 bits (the ChaCha20 key stream of its SHA-256); the set is their product
/// modulo 2^3072 - 1103717, and its digest the SHA-256 of that number's 384 little-endian bytes.
/// Thread safety: distinct objects safe.
/// Source: Bitcoin Core v28 src/crypto/muhash.h, and the test vector there.
class MuHash3072 {
 public:
    MuHash3072();
    MuHash3072(MuHash3072&&) noexcept;
    MuHash3072& operator=(MuHash3072&&) noexcept;
    ~MuHash3072();

    void insert(ByteSpan element);
    void remove(ByteSpan element);
    [[nodiscard]] Digest256 digest() const;

 private:
    class Product;
    std::unique_ptr<Product> inserted_;
    std::unique_ptr<Product> removed_;
};

}  // namespace blockpub
