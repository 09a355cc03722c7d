// SPDX-License-Identifier: MIT
#include "source/p2p_lookup.hpp"

#include "base/thread.hpp"

#include <netdb.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace blockpub {
namespace {

FoundHost find_host(const std::string& host) {
    ::addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_ADDRCONFIG;
    ::addrinfo* list = nullptr;
    if (const int code = ::getaddrinfo(host.c_str(), nullptr, &hints, &list); code != 0) {
        const std::string why =
            code == EAI_SYSTEM ? std::generic_category().message(errno) : ::gai_strerror(code);
        return {.error = why, .addresses = {}};
    }
    FoundHost found;
    for (const ::addrinfo* at = list; at != nullptr; at = at->ai_next) {
        FoundAddress address;
        if (at->ai_addrlen > sizeof address.address) continue;
        std::memcpy(&address.address, at->ai_addr, at->ai_addrlen);
        address.size = at->ai_addrlen;
        found.addresses.push_back(address);
    }
    ::freeaddrinfo(list);
    return found;
}

}  // namespace

void find_host_aside(const std::string& host, std::function<void(FoundHost)> done) {
    start_thread("p2p-lookup", [host, done = std::move(done)](const std::stop_token&) {
        done(find_host(host));
    }).detach();
}

}  // namespace blockpub
