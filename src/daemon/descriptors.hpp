// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/result.hpp>

#include <cstddef>
#include <string>

namespace blockpub {

/// How the process' file descriptors are shared out.
/// Units: descriptors.
struct DescriptorBudget {
    std::size_t limit = 0;     ///< what the system allows this process
    std::size_t base = 0;      ///< logs, chain tables, sockets that listen, threads' own, an import
    std::size_t segments = 0;  ///< sealed block segments kept open
    std::size_t http = 0;      ///< JSON-RPC connections at a time
    std::size_t peers = 0;     ///< peers that are served
    std::size_t zmq = 0;       ///< subscribers of all endpoints together
    /// One line for the log.
    [[nodiscard]] std::string text() const;
};

/// Raises the limit on open files as far as allowed and sensible. Result: the limit that holds.
[[nodiscard]] std::size_t raise_descriptor_limit();

/// Shares `limit` out. `peers`: how many are to be served. Errors: limit, with the remedy, when not even a
/// few connections would be left.
[[nodiscard]] Result<DescriptorBudget> share_descriptors(std::size_t limit, std::size_t segments,
                                                         std::size_t peers = 0);

}  // namespace blockpub
