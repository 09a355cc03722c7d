// SPDX-License-Identifier: MIT
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace blockpub::test {

struct RawReply {
    std::string status_line;
    std::string head;  // all of it, the empty line included
    std::string body;
    [[nodiscard]] int status() const { return std::atoi(status_line.substr(9).c_str()); }
    [[nodiscard]] std::string field(const std::string& name) const {
        const std::size_t at = head.find("\r\n" + name + ": ");
        if (at == std::string::npos) return "";
        const std::size_t begin = at + name.size() + 4;
        return head.substr(begin, head.find("\r\n", begin) - begin);
    }
    [[nodiscard]] bool has_field(const std::string& name) const {
        return head.find("\r\n" + name + ":") != std::string::npos;
    }
};

/// A socket and nothing else: it sends the bytes that a test gives it.
class RawClient {
 public:
    explicit RawClient(std::uint16_t port, int receive_buffer = 0)
        : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
        if (receive_buffer > 0)
            ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
        const ::timeval patience{20, 0};
        ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        ::sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (::connect(socket_, reinterpret_cast<const ::sockaddr*>(&address), sizeof address) != 0)
            throw std::runtime_error("connect");
    }
    ~RawClient() { close(); }
    RawClient(const RawClient&) = delete;
    RawClient& operator=(const RawClient&) = delete;

    void close() {
        if (socket_ >= 0) ::close(std::exchange(socket_, -1));
    }
    void end_of_stream() { ::shutdown(socket_, SHUT_WR); }
    /// Result: false when the server would not take all.
    bool send(std::string_view bytes) {
        while (!bytes.empty()) {
            const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent <= 0) return false;
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        }
        return true;
    }
    /// One more piece of what the server sends. Result: false at its end (or after 20 s).
    bool receive(std::size_t most = 65536) {
        std::string piece(most, '\0');
        const ssize_t size = ::recv(socket_, piece.data(), piece.size(), 0);
        if (size <= 0) return false;
        buffered_.append(piece, 0, static_cast<std::size_t>(size));
        return true;
    }
    /// Whether something can be read (or the end of the stream) within that time.
    bool readable(int milliseconds) {
        ::pollfd entry{socket_, POLLIN, 0};
        return !buffered_.empty() || ::poll(&entry, 1, milliseconds) == 1;
    }
    /// The next reply, by its Content-Length. Nothing when the stream ends first.
    std::optional<RawReply> reply(bool has_body = true) {
        std::size_t end;
        while ((end = buffered_.find("\r\n\r\n")) == std::string::npos) {
            if (!receive()) return std::nullopt;
        }
        RawReply reply;
        reply.head = buffered_.substr(0, end + 4);
        reply.status_line = reply.head.substr(0, reply.head.find("\r\n"));
        buffered_.erase(0, end + 4);
        const std::size_t length =
            has_body ? std::strtoull(reply.field("Content-Length").c_str(), nullptr, 10) : 0;
        while (buffered_.size() < length) {
            if (!receive()) return std::nullopt;
        }
        reply.body = buffered_.substr(0, length);
        buffered_.erase(0, length);
        return reply;
    }
    /// Everything until the server closes.
    std::string rest() {
        while (receive()) {
        }
        return std::exchange(buffered_, {});
    }
    bool ended() { return buffered_.empty() && !receive(); }
    [[nodiscard]] int socket() const { return socket_; }

 private:
    int socket_;
    std::string buffered_;
};

}  // namespace blockpub::test
