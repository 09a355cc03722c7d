// SPDX-License-Identifier: MIT
#include "query/http_connection.hpp"

#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

// The half of a connection that moves bytes; http_connection.cpp has the steps between.

namespace blockpub {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::size_t kFirstBuffer = 2048;
constexpr std::size_t kLargestBuffer = 2 * kMaxHttpHead;
constexpr std::size_t kLeastRead = 1024;
constexpr std::size_t kBodyRead = 256 * 1024;
constexpr std::chrono::milliseconds kLinger{2000};

}  // namespace

void HttpConnection::progress() {
    last_progress_.store(steady_milliseconds(std::chrono::steady_clock::now()), std::memory_order_relaxed);
}

// The socket.

HttpConnection::Sent HttpConnection::send_some() {
    while (!out_.empty()) {
        ::iovec parts[2];
        ::msghdr message{};
        message.msg_iov = parts;
        const auto count = out_.stretches(parts);
        if (!count) {
            core_.log.error("{}: a block could not be read while it was sent: {}", request_.peer_name,
                            count.error().context);
            return Sent::failed;
        }
        message.msg_iovlen = *count;
        const ssize_t size = ::sendmsg(socket_.native_handle(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (size >= 0) {
            out_.sent(static_cast<std::size_t>(size));
            progress();
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return Sent::blocked;
        } else if (errno != EINTR) {
            // EFAULT: a page of the store could not be read. The reply stays short of its Content-Length.
            if (errno == EFAULT)
                core_.log.error("{}: a block could not be read while it was sent", request_.peer_name);
            return Sent::failed;
        }
    }
    if (job_share_ == 0) hold_reply(0);
    return Sent::all;
}

bool HttpConnection::flush() {
    const Sent sent = send_some();
    if (sent == Sent::all) return true;
    if (sent == Sent::failed) return close(), false;
    set_waits(Waits::socket);
    socket_.async_wait(Socket::wait_write, [self = shared_from_this()](const error_code& error) {
        if (error) return self->close();
        if (self->flush()) self->run();
    });
    return false;
}

bool HttpConnection::read_more() {
    if (!out_.empty() && !flush()) return false;
    make_room();
    read_into(in_.data() + end_, in_.size() - end_, end_);
    return false;
}

void HttpConnection::read_into(void* data, std::size_t size, std::size_t& filled) {
    socket_.async_read_some(asio::buffer(data, size),
                            [self = shared_from_this(), &filled](const error_code& error, std::size_t read) {
                                if (error) return self->close();
                                filled += read;
                                self->progress();
                                self->run();
                            });
}

/// Takes what there is of a body, on this thread as long as there is more: a block of 2 MB comes in dozens of
/// pieces.
bool HttpConnection::receive_body(std::size_t whole) {
    std::string& body = request_.body;
    const std::size_t filled = body.size();
    ssize_t read = 0;
    int error = 0;
    const std::size_t room = std::min(whole - filled, kBodyRead);
    // The size that the function is called with is that of the memory in libstdc++ 12, which may be more.
    body.resize_and_overwrite(filled + room, [&](char* data, std::size_t) {
        read = ::recv(socket_.native_handle(), data + filled, room, MSG_DONTWAIT);
        error = errno;
        return filled + static_cast<std::size_t>(std::max<ssize_t>(read, 0));
    });
    if (read > 0) {
        progress();
        return true;
    }
    if (read < 0 && error == EINTR) return true;
    if (read == 0 || (error != EAGAIN && error != EWOULDBLOCK)) return close(), false;
    socket_.async_wait(Socket::wait_read, [self = shared_from_this()](const error_code& failure) {
        if (failure) return self->close();
        self->run();
    });
    return false;
}

void HttpConnection::make_room() {
    if (begin_ == end_) begin_ = end_ = 0;
    if (in_.size() - end_ >= kLeastRead) return;
    if (begin_ > 0) {
        std::memmove(in_.data(), in_.data() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
    }
    // A head that is as large as the limit fits, with room to see that it is larger.
    if (in_.size() - end_ < kLeastRead)
        in_.resize(std::min(kLargestBuffer, std::max(kFirstBuffer, 2 * in_.size())));
}

void HttpConnection::consume(std::size_t size) {
    begin_ += size;
}

bool HttpConnection::linger() {
    if (!out_.empty() && !flush()) return false;
    if (waits_.load(std::memory_order_relaxed) != Waits::close) {
        set_waits(Waits::close);
        progress();
        error_code error;
        socket_.shutdown(Socket::shutdown_send, error);
        if (error) {
            close();
            return false;
        }
    }
    // Closed with bytes unread, the socket would take the reply back from a client that has not read it yet.
    begin_ = end_ = 0;
    make_room();
    socket_.async_read_some(asio::buffer(in_),
                            [self = shared_from_this()](const error_code& error, std::size_t) {
                                if (error) return self->close();
                                self->run();
                            });
    return false;
}

void HttpConnection::close() {
    MutexLock lock(socket_mutex_);
    if (!open_) return;
    open_ = false;
    error_code ignored;
    socket_.close(ignored);
}

// From outside.

void HttpConnection::interrupt() {
    MutexLock lock(socket_mutex_);
    if (open_) ::shutdown(socket_.native_handle(), SHUT_RDWR);
}

bool HttpConnection::departed() {
    MutexLock lock(socket_mutex_);
    if (!open_) return true;
    // Before something is sent, a client that has closed looks like one that has only ended what it sends.
    ::pollfd entry{socket_.native_handle(), POLLRDHUP, 0};
    return ::poll(&entry, 1, 0) == 1;
}

void HttpConnection::finish_soon() {
    if (waits_.load() == Waits::next_request) interrupt();
}

std::optional<HttpConnection::Time> HttpConnection::idle_since() const {
    const Waits waits = waits_.load(std::memory_order_relaxed);
    const bool idle = waits == Waits::next_request || waits == Waits::head || waits == Waits::body;
    if (!idle || trusted_.load(std::memory_order_relaxed)) return std::nullopt;
    return request_since_.load(std::memory_order_relaxed);
}

bool HttpConnection::check_progress(std::chrono::steady_clock::time_point now) {
    const Waits waits = waits_.load(std::memory_order_relaxed);
    if (waits == Waits::service) return false;
    // Who has shown no password cannot keep a place by sending a letter now and then.
    const bool new_here = (waits == Waits::next_request || waits == Waits::head) &&
                          request_since_.load(std::memory_order_relaxed) == first_since_;
    if ((waits == Waits::head || new_here) && !trusted_.load(std::memory_order_relaxed) &&
        now - request_since_.load(std::memory_order_relaxed) >
            std::min(core_.options.head_timeout, core_.options.timeout)) {
        interrupt();
        return !std::exchange(given_up_, true);
    }
    const std::int64_t quiet = steady_milliseconds(now) - last_progress_.load(std::memory_order_relaxed);
    if (waits == Waits::close) {
        if (quiet <= kLinger.count()) return false;
        interrupt();
        return false;
    }
    if (quiet <= core_.options.timeout.count()) return false;
    {
        MutexLock lock(socket_mutex_);
        if (!open_) return false;
        // The system may have taken all of a reply that a slow client is still fetching.
        int queued = 0;
        if (::ioctl(socket_.native_handle(), SIOCOUTQ, &queued) == 0 && queued > 0 &&
            unacknowledged_.exchange(queued, std::memory_order_relaxed) != queued) {
            last_progress_.store(steady_milliseconds(now), std::memory_order_relaxed);
            return false;
        }
    }
    interrupt();
    return !std::exchange(given_up_, true);
}

}  // namespace blockpub
