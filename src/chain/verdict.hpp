// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace blockpub {

/// A rule that a header or block breaks.
/// Source: Bitcoin Core v28.1 src/consensus/validation.h, BlockValidationResult.
struct Rejection {
    enum class Kind : std::uint8_t {
        consensus,         ///< the block can never be valid
        mutated,           ///< these bytes are wrong; the block of that hash may still be valid
        missing_previous,  ///< the parent is unknown
        invalid_previous,  ///< an ancestor is invalid
        cached_invalid,    ///< known to be invalid already
        time_future,       ///< may become valid as time passes
    };
    Kind kind = Kind::consensus;
    std::string reason;   ///< Core's reject reason
    std::string message;  ///< Core's debug message, for people; may be empty
    /// Both, as Core's texts and log have them.
    [[nodiscard]] std::string text() const { return message.empty() ? reason : reason + ", " + message; }
};

/// Nothing when all rules are kept.
using Verdict = std::optional<Rejection>;

[[nodiscard]] inline Verdict reject(std::string reason, std::string message = {},
                                    Rejection::Kind kind = Rejection::Kind::consensus) {
    return Rejection{kind, std::move(reason), std::move(message)};
}

}  // namespace blockpub
