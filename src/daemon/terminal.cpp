// SPDX-License-Identifier: MIT
#include "daemon/terminal.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>

namespace blockpub {
namespace {

constexpr std::string_view kEraseLine = "\r\x1b[K";
constexpr std::size_t kUsualWidth = 80;

}  // namespace

Terminal::~Terminal() {
    show("");
}

void Terminal::write(std::string_view text) noexcept {
    try {
        const MutexLock lock(mutex_);
        std::string all;
        if (!shown_.empty()) all += kEraseLine;
        all += text;
        all += shown_;
        put(all);
    } catch (...) {  // no memory: the line is lost
    }
}

void Terminal::show(std::string_view line) noexcept {
    try {
        const MutexLock lock(mutex_);
        if (line.empty() && shown_.empty()) return;
        pollfd ready{.fd = descriptor_, .events = POLLOUT, .revents = 0};
        if (poll(&ready, 1, 0) != 1 || (ready.revents & POLLOUT) == 0) return;
        // The last column stays empty: some terminals go on to the next line when it is filled.
        shown_ = line.substr(0, width() - 1);
        put(std::string(kEraseLine) + shown_);
    } catch (...) {
    }
}

void Terminal::put(std::string_view text) const noexcept {
    while (!text.empty()) {
        const ssize_t written = ::write(descriptor_, text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return;
        text.remove_prefix(static_cast<std::size_t>(written));
    }
}

std::size_t Terminal::width() const noexcept {
    winsize size{};
    if (ioctl(descriptor_, TIOCGWINSZ, &size) != 0 || size.ws_col < 2) return kUsualWidth;
    return size.ws_col;
}

}  // namespace blockpub
