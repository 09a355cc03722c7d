// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

namespace blockpub {

/// Borrowed bytes. Valid as long as what they were taken from.
using ByteSpan = std::span<const std::uint8_t>;

/// Immutable bytes on the heap with shared ownership: a raw block as it arrived, or a part of one.
///
/// This, and never a mapped page, is what sockets of libzmq are given: a fault in its threads would end the
/// process.
///
/// Thread safety: copies may be used and destroyed on any thread; the bytes never change.
/// Ownership: every copy and every slice keeps the whole buffer alive.
class SharedBytes {
   public:
    SharedBytes() = default;

    /// Copies `source` into a new buffer.
    [[nodiscard]] static SharedBytes copy_of(ByteSpan source) {
        return build(source.size(), [&](std::span<std::uint8_t> out) {
            if (!source.empty()) std::memcpy(out.data(), source.data(), source.size());
        });
    }

    /// Makes a buffer of `size` uninitialised bytes, has `fill(std::span<std::uint8_t>)` write all of it, and
    /// freezes it.
    template <class Fill>
    [[nodiscard]] static SharedBytes build(std::size_t size, Fill&& fill) {
        auto buffer = std::make_shared_for_overwrite<std::uint8_t[]>(size);
        std::forward<Fill>(fill)(std::span<std::uint8_t>(buffer.get(), size));
        SharedBytes result;
        result.size_ = size;
        result.data_ = std::shared_ptr<const std::uint8_t>(buffer, buffer.get());
        return result;
    }

    /// Bytes that `owner` keeps, without a copy. Requires: on the heap, and never changed.
    [[nodiscard]] static SharedBytes kept_by(const std::shared_ptr<const void>& owner, ByteSpan bytes) {
        SharedBytes result;
        result.size_ = bytes.size();
        result.data_ = std::shared_ptr<const std::uint8_t>(owner, bytes.data());
        return result;
    }

    /// Bytes [offset, offset + size) of the same buffer, without a copy.
    /// Requires: offset + size <= this->size().
    [[nodiscard]] SharedBytes slice(std::size_t offset, std::size_t size) const {
        SharedBytes result;
        result.size_ = size;
        result.data_ = std::shared_ptr<const std::uint8_t>(data_, data_.get() + offset);
        return result;
    }

    [[nodiscard]] ByteSpan bytes() const& noexcept { return {data_.get(), size_}; }
    ByteSpan bytes() && = delete;
    [[nodiscard]] const std::uint8_t* data() const noexcept { return data_.get(); }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

    /// Number of owners, this one included. For tests of release; racy by nature.
    [[nodiscard]] long use_count() const noexcept { return data_.use_count(); }

   private:
    std::shared_ptr<const std::uint8_t> data_;
    std::size_t size_ = 0;
};

/// Immutable bytes in a store segment's memory map, together with what keeps the mapping alive.
///
/// A read of the map may fault (the disk may fail): give these bytes to system calls that copy in the kernel
/// (write, sendmsg: they answer EFAULT), not to code that cannot survive a SIGBUS. See docs/storage.md.
///
/// Thread safety: copies may be used and destroyed on any thread.
/// Blocking: destroying the last reference hands the unmapping to another thread.
class MappedBytes {
   public:
    /// Where the bytes are: some are not in a map, being small or not yet written.
    enum class Place : std::uint8_t { map, heap };

    MappedBytes() = default;
    MappedBytes(ByteSpan bytes, std::shared_ptr<const void> keep_alive, Place place = Place::map)
        : bytes_(bytes), keep_alive_(std::move(keep_alive)), place_(place) {}

    [[nodiscard]] ByteSpan bytes() const& noexcept { return bytes_; }
    ByteSpan bytes() && = delete;
    [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }
    [[nodiscard]] const std::shared_ptr<const void>& keep_alive() const noexcept { return keep_alive_; }
    [[nodiscard]] Place place() const noexcept { return place_; }

   private:
    ByteSpan bytes_;
    std::shared_ptr<const void> keep_alive_;
    Place place_ = Place::heap;
};

}  // namespace blockpub
