// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <utility>

namespace blockpub {

/// What a caller can do about a failure. Kinds are chosen by the caller's next step, not by origin.
enum class Errc : std::uint8_t {
    invalid_argument,  ///< the caller's input is wrong; asking again will not help
    not_found,         ///< nothing is known under that key
    unavailable,       ///< known, but not here (pruned, or never downloaded)
    corrupt,           ///< stored or received bytes contradict themselves
    io,                ///< the system refused a read, a write or a socket call; may pass
    disk_full,         ///< no room: free some and it goes on
    busy,              ///< another holder has it (port, directory, ipc path)
    would_block,       ///< the queue is full just now
    limit,             ///< a named limit would be exceeded
    outcome_unknown,   ///< a sync failed: what is on disk is not known; writing has stopped for good
    unsupported,       ///< not in this build or this version (a newer store, say)
    stopped,           ///< the component is shutting down
};

/// A failure: its kind, and one sentence for a person. The context names the object (path, endpoint, option).
struct Error {
    Errc code = Errc::io;
    std::string context;
};

/// A value or an Error. g++ 12 has no monadic members: write the `if`.
template <class T = void>
using Result = std::expected<T, Error>;

/// `return fail(Errc::io, "...")` from any function that returns a Result.
[[nodiscard]] inline std::unexpected<Error> fail(Errc code, std::string context) {
    return std::unexpected<Error>(Error{code, std::move(context)});
}

/// Passes on the Error of another Result unchanged.
template <class T>
[[nodiscard]] std::unexpected<Error> forward_error(Result<T>& failed) {
    return std::unexpected<Error>(std::move(failed.error()));
}

}  // namespace blockpub
