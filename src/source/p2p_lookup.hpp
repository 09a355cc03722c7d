// SPDX-License-Identifier: MIT
#pragma once

#include <sys/socket.h>

#include <functional>
#include <string>
#include <vector>

namespace blockpub {

struct FoundAddress {
    ::sockaddr_storage address{};  ///< without a port
    ::socklen_t size = 0;
};

struct FoundHost {
    std::string error;  ///< why nothing was found; empty otherwise
    std::vector<FoundAddress> addresses;
};

/// Looks a name up on a thread of its own (`p2p-lookup`), which nobody waits for: a name server that does not
/// answer holds up neither other lookups nor the end of the daemon.
///
/// Thread safety: any thread. Blocking: never.
/// Ownership: `done` may be called when all that it was made beside is gone. Errors: in what is found.
void find_host_aside(const std::string& host, std::function<void(FoundHost)> done);

}  // namespace blockpub
