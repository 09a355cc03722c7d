// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace blockpub {

/// Takes the chunked transfer coding off a request body, in whatever pieces it arrives.
///
/// Sizes may be followed by extensions and the last chunk by trailer fields; both are passed over. Lines may
/// end in a bare LF. Thread safety: one thread at a time.
class ChunkDecoder {
 public:
    enum class State : std::uint8_t { more, done, malformed, too_large };

    explicit ChunkDecoder(std::size_t max_body) : max_body_(max_body) {}

    /// Takes what belongs to the body off the front of `input`; with `body`, appends the data to it.
    /// After done, malformed or too_large nothing more is taken.
    State feed(std::string_view& input, std::string* body);
    /// Data bytes passed over or appended so far.
    [[nodiscard]] std::size_t size() const { return size_; }

 private:
    static constexpr std::size_t kMaxLine = 4096;      // a size with its extension
    static constexpr std::size_t kMaxTrailers = 8192;  // all of them
    enum class Part : std::uint8_t { size, extension, data, data_end, trailer, finished };

    State take_size(char c);
    State begin_data();
    State take_trailer(char c);

    const std::size_t max_body_;
    Part part_ = Part::size;
    State state_ = State::more;
    std::size_t size_ = 0;
    std::uint64_t left_ = 0;  // of the chunk
    std::size_t line_ = 0;    // characters of the current line
    std::size_t digits_ = 0;
    std::size_t trailers_ = 0;
    bool carriage_return_ = false;
};

}  // namespace blockpub
