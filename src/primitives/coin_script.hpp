// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/bytes.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace blockpub {

/// The bytes of a coin's script, within the object where they are as few as in nearly all coins: a block
/// makes and spends thousands, and memory for each from the heap cost more than all else that is done to it.
///
/// Thread safety: as a container of the standard library.
class CoinScript {
 public:
    /// Scripts up to this size take no memory of their own: all usual forms but bare multisig.
    static constexpr std::size_t kInline = 36;

    CoinScript() = default;
    CoinScript(ByteSpan bytes) {
        std::uint8_t* const at = resize_for_overwrite(bytes.size());
        if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
    }
    CoinScript(const std::vector<std::uint8_t>& bytes) : CoinScript(ByteSpan(bytes)) {}
    CoinScript(std::initializer_list<std::uint8_t> bytes)
        : CoinScript(ByteSpan(bytes.begin(), bytes.size())) {}
    CoinScript(const CoinScript& other) : CoinScript(ByteSpan(other)) {}
    CoinScript(CoinScript&& other) noexcept : size_(std::exchange(other.size_, 0)), bytes_(other.bytes_) {}
    CoinScript& operator=(CoinScript other) noexcept {
        swap(other);
        return *this;
    }
    ~CoinScript() { release(); }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] const std::uint8_t* data() const noexcept { return is_inline() ? bytes_.data() : heap(); }
    [[nodiscard]] const std::uint8_t* begin() const noexcept { return data(); }
    [[nodiscard]] const std::uint8_t* end() const noexcept { return data() + size_; }

    /// Gives it `size` bytes, which the caller writes. Result: the first of them.
    std::uint8_t* resize_for_overwrite(std::size_t size) {
        std::uint8_t* const heap = size > kInline ? new std::uint8_t[size] : nullptr;
        release();
        size_ = static_cast<std::uint32_t>(size);
        if (heap == nullptr) return bytes_.data();
        std::memcpy(bytes_.data(), &heap, sizeof heap);
        return heap;
    }

    friend bool operator==(const CoinScript& a, const CoinScript& b) { return std::ranges::equal(a, b); }

 private:
    [[nodiscard]] bool is_inline() const noexcept { return size_ <= kInline; }
    [[nodiscard]] std::uint8_t* heap() const noexcept {
        std::uint8_t* pointer;
        std::memcpy(&pointer, bytes_.data(), sizeof pointer);
        return pointer;
    }
    void release() noexcept {
        if (!is_inline()) delete[] heap();
    }
    void swap(CoinScript& other) noexcept {
        // As a whole: std::swap of an array goes byte by byte.
        const auto bytes = bytes_;
        bytes_ = other.bytes_;
        other.bytes_ = bytes;
        std::swap(size_, other.size_);
    }

    std::uint32_t size_ = 0;
    std::array<std::uint8_t, kInline> bytes_{};  // the script, or where it is on the heap
};

}  // namespace blockpub
