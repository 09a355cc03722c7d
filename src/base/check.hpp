// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

namespace blockpub {
[[noreturn]] inline void check_failed(const char* file, int line, const char* what, const std::string& values) {
    std::fprintf(stderr, "%s:%d: broken invariant: %s %s\n", file, line, what, values.c_str());
    std::abort();
}
}  // namespace blockpub

/// Ends the process when an invariant of our own is broken; always on. Further arguments are a fmt format and its
/// values. Never for what a peer, a disk or a client can cause.
#define BLOCKPUB_CHECK(condition, ...)                                                              \
    do {                                                                                            \
        if (!(condition)) [[unlikely]]                                                              \
            ::blockpub::check_failed(__FILE__, __LINE__, #condition, ::fmt::format("" __VA_ARGS__)); \
    } while (false)
