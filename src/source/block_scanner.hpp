// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/chain_params.hpp"
#include "source/xor_key.hpp"

#include <blockpub/bytes.hpp>
#include <blockpub/hash.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace blockpub {

// A block file is a row of records: the network's magic (4 bytes), the block's length (little-endian u32),
// the block.
inline constexpr std::size_t kRecordPrefix = 8;
/// Bytes of a file that a scanner may ask to see at once: the longest record, and the magic behind it.
inline constexpr std::size_t kMaxWanted = kRecordPrefix + 4'000'000 + 4;

/// Why bytes of a block file are passed over.
enum class BadSpotKind : std::uint8_t {
    junk,           ///< no record begins here
    empty,          ///< zeros with something behind them
    torn,           ///< a record that the end of the file cuts short
    bad_length,     ///< the magic, then a length that no block can have
    no_work,        ///< a record whose header does not meet proof of work
    undecodable,    ///< a record that does not hold a block as long as it says: cut short, or overwritten
    other_network,  ///< a record of another network
};
[[nodiscard]] std::string_view describe(BadSpotKind kind);

/// What a scanner found.
struct ScanStep {
    enum class Kind : std::uint8_t { block, bad_spot, need_more, end };
    Kind kind = Kind::end;
    BadSpotKind spot = BadSpotKind::junk;  ///< of a bad_spot
    std::uint64_t begin =
        0;  ///< file offset: of the block itself (behind its prefix), or of the bad spot; at the
            ///< end, where the content ends and nothing but preallocated zeros follows
    std::uint64_t size = 0;  ///< of the block or the bad spot; at the end, the number of preallocated zeros
    BlockHash hash;          ///< of a block
};

/// Finds the blocks in the bytes of one block file, whatever else these hold.
///
/// A record counts when its length is possible, its header meets its own proof of work, and its transactions
/// end within it; it is judged in this order. Otherwise the search goes on right behind the magic that
/// promised it, so that a record which was cut short does not swallow the one written over it.
///
/// Pure: it sees the file through windows of decoded bytes that the caller moves over it, and allocates
/// nothing. Thread safety: distinct objects safe. Source: Bitcoin Core v28 src/validation.cpp,
/// LoadExternalBlockFile. Differs: says what it passed over.
class BlockScanner {
 public:
    /// `key` tells preallocated zeros, which are not obfuscated, from content.
    BlockScanner(const ChainParams& params, XorKey key, std::uint64_t start_offset = 0)
        : params_(params), key_(key), position_(start_offset) {}

    /// The next block, bad spot or end in `window`: the file's bytes from `window_offset` on, with the key
    /// applied. After need_more the caller shows a window that begins at position() or before and ends at
    /// wanted_end() or beyond, or at the end of the file. `reaches_end`: nothing follows the window.
    /// Requires: window_offset <= position() <= window_offset + window.size().
    [[nodiscard]] ScanStep next(ByteSpan window, std::uint64_t window_offset, bool reaches_end);

    /// First byte that has not been judged.
    [[nodiscard]] std::uint64_t position() const { return position_; }
    /// After need_more: where the window must end at least. At most position() + kMaxWanted.
    [[nodiscard]] std::uint64_t wanted_end() const { return wanted_end_; }
    /// Passes over a hole of the file, which need not be read. Requires: in_bad_spot(), and the file holds
    /// nothing but raw zeros from where the last window ended to `offset`.
    void skip_zeros(std::uint64_t offset) { position_ = offset; }
    /// Whether need_more only asks for what follows a bad spot.
    [[nodiscard]] bool in_bad_spot() const { return spot_.has_value(); }

 private:
    struct Window {
        ByteSpan bytes;
        std::uint64_t offset;
        bool reaches_end;
        [[nodiscard]] ByteSpan from(std::uint64_t position) const {
            return bytes.subspan(static_cast<std::size_t>(position - offset));
        }
        [[nodiscard]] std::uint64_t end() const { return offset + bytes.size(); }
    };
    struct Verdict {
        enum class Kind : std::uint8_t { block, bad, other_network, need_more, end } kind = Kind::bad;
        BadSpotKind bad = BadSpotKind::junk;
        std::size_t size = 0;  ///< of the block, ours or another network's
        BlockHash hash;
    };
    /// What stands at position_.
    [[nodiscard]] Verdict judge(const Window& window);
    [[nodiscard]] Verdict judge_record(const Window& window, const ChainParams& params);
    [[nodiscard]] Verdict short_of(const Window& window, std::uint64_t wanted_end, BadSpotKind if_last);
    /// Moves position_ to where the bad spot ends. Result: false when the window ends first.
    [[nodiscard]] bool pass_zeros(const Window& window);
    [[nodiscard]] bool find_magic(const Window& window);
    [[nodiscard]] std::size_t count_raw_zeros(ByteSpan bytes, std::uint64_t offset) const;

    const ChainParams& params_;
    const XorKey key_;
    std::uint64_t position_;
    std::uint64_t wanted_end_ = 0;
    std::optional<BadSpotKind> spot_;  // being passed over, from spot_begin_ on
    std::uint64_t spot_begin_ = 0;
};

}  // namespace blockpub
