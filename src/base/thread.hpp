// SPDX-License-Identifier: MIT
#pragma once

#include <pthread.h>

#include <string>
#include <thread>
#include <utility>

namespace blockpub {

/// Starts a thread whose name (15 characters at most) debuggers and `top -H` show. The function gets a
/// std::stop_token and must not throw.
template <class Function>
[[nodiscard]] std::jthread start_thread(std::string name, Function&& function) {
    return std::jthread([name = std::move(name), function = std::forward<Function>(function)](std::stop_token stop) mutable {
        pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
        function(std::move(stop));
    });
}

}  // namespace blockpub
