// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

#include <blockpub/export.hpp>

namespace blockpub {

enum class LogLevel : std::uint8_t { debug, info, warning, error };

/// Subject of a debug line; `-debug=<name>` turns one on. Lines above debug are always written.
enum class LogCategory : std::uint8_t { general, zmq, http, rpc, chain, store, import, bus, net };

/// Where components that own a thread tell what nobody is there to be told by a return value.
///
/// The library calls it; the host program implements it. Functions that can return an Error do not log it too.
/// Thread safety: called from any thread, concurrently.
/// Blocking: implementations must not wait for anything but the log's own output.
/// Errors: must not throw.
class BLOCKPUB_API Logger {
   public:
    virtual ~Logger() = default;
    virtual void write(LogLevel level, LogCategory category, std::string_view line) noexcept = 0;
    /// Whether a debug line of that category would be written at all; ask before formatting one.
    [[nodiscard]] virtual bool debug_enabled(LogCategory category) const noexcept = 0;
};

/// Drops every line.
class BLOCKPUB_API NullLogger final : public Logger {
   public:
    void write(LogLevel, LogCategory, std::string_view) noexcept override {}
    [[nodiscard]] bool debug_enabled(LogCategory) const noexcept override { return false; }
};

}  // namespace blockpub
