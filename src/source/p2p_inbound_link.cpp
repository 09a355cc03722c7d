// SPDX-License-Identifier: MIT
#include "source/p2p_inbound_link.hpp"

#include "base/socket_address.hpp"
#include "source/p2p_outbox.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace blockpub {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr std::size_t kInboundBuffer = std::size_t{16} << 10;
constexpr std::size_t kStretches = 16;

/// Handlers of Asio hold it, its owner holds an OwnedLink.
class InboundLink : public std::enable_shared_from_this<InboundLink> {
 public:
    using Time = InboundConnection::Time;
    InboundLink(tcp::socket socket, const SocketAddress& local, const SocketAddress& remote)
        : address(remote.address),
          remote_name(remote.text()),
          local_name(local.text()),
          socket_(std::move(socket)) {}

    void begin(InboundConnection::Handlers handlers) { handlers_ = std::move(handlers); }
    void read();
    template <class Bytes>
    void send(Bytes bytes) {
        if (ended_) return;
        if (outbox_.empty()) progress_ = std::chrono::steady_clock::now();
        outbox_.add(std::move(bytes));
        if (!waiting_) write();
    }
    [[nodiscard]] std::size_t unsent() const { return outbox_.size(); }
    [[nodiscard]] Time last_progress() const { return progress_; }
    /// Ends it; nobody is told.
    void abandon();

    const IpAddress address;
    const std::string remote_name;
    const std::string local_name;

 private:
    void write();
    void wait_for_room();
    void fail(std::string reason);
    void fail_soon(std::string reason);

    tcp::socket socket_;
    InboundConnection::Handlers handlers_;
    std::vector<std::uint8_t> buffer_;
    PeerOutbox outbox_;
    Time progress_{};
    bool ended_ = false;
    bool reading_ = false;
    bool waiting_ = false;  // for room in the socket
};

void InboundLink::read() {
    if (ended_ || std::exchange(reading_, true)) return;
    buffer_.resize(kInboundBuffer);
    socket_.async_read_some(asio::buffer(buffer_),
                            [self = shared_from_this()](const error_code& error, std::size_t size) {
                                self->reading_ = false;
                                if (self->ended_) return;
                                if (error == asio::error::eof) return self->fail("it closed the connection");
                                if (error) return self->fail(error.message());
                                self->handlers_.received(ByteSpan(self->buffer_).first(size));
                            });
}

void InboundLink::write() {
    while (!ended_ && !outbox_.empty()) {
        std::array<::iovec, kStretches> parts;
        ::msghdr message{};
        message.msg_iov = parts.data();
        message.msg_iovlen = outbox_.stretches(parts);
        const ssize_t size = ::sendmsg(socket_.native_handle(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (size >= 0) {
            outbox_.sent(static_cast<std::size_t>(size));
            progress_ = std::chrono::steady_clock::now();
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return wait_for_room();
        } else if (errno != EINTR) {
            // EFAULT: the disk refused a page of a block. The message stays incomplete.
            return fail_soon(errno == EFAULT ? "a block could not be read while it was sent"
                                             : std::strerror(errno));
        }
    }
}

void InboundLink::wait_for_room() {
    waiting_ = true;
    socket_.async_wait(tcp::socket::wait_write, [self = shared_from_this()](const error_code& error) {
        self->waiting_ = false;
        if (self->ended_) return;
        if (error) return self->fail(error.message());
        self->write();
        if (!self->ended_) self->handlers_.sent();
    });
}

/// Not from within the owner's call.
void InboundLink::fail_soon(std::string reason) {
    asio::post(socket_.get_executor(), [self = shared_from_this(), reason = std::move(reason)]() mutable {
        self->fail(std::move(reason));
    });
}

void InboundLink::fail(std::string reason) {
    if (ended_) return;
    const auto closed = std::move(handlers_.closed);
    abandon();
    if (closed) closed(std::move(reason));
}

void InboundLink::abandon() {
    ended_ = true;
    error_code ignored;
    socket_.close(ignored);
    outbox_ = PeerOutbox();
}

class OwnedLink final : public InboundConnection {
 public:
    OwnedLink(std::shared_ptr<InboundLink> link, std::uint32_t permissions)
        : link_(std::move(link)), permissions_(permissions) {}
    ~OwnedLink() override { link_->abandon(); }
    void begin(Handlers handlers) override { link_->begin(std::move(handlers)); }
    void read() override { link_->read(); }
    void send(std::vector<std::uint8_t> bytes) override { link_->send(std::move(bytes)); }
    void send(MappedBytes bytes) override { link_->send(std::move(bytes)); }
    std::size_t unsent() const override { return link_->unsent(); }
    Time last_progress() const override { return link_->last_progress(); }
    const IpAddress& address() const override { return link_->address; }
    const std::string& remote() const override { return link_->remote_name; }
    const std::string& local() const override { return link_->local_name; }
    std::uint32_t permissions() const override { return permissions_; }

 private:
    const std::shared_ptr<InboundLink> link_;
    const std::uint32_t permissions_;
};

}  // namespace

std::unique_ptr<InboundConnection> make_inbound_connection(tcp::socket socket, std::uint32_t permissions) {
    error_code error;
    socket.set_option(tcp::no_delay(true), error);
    if (!error) socket.set_option(asio::socket_base::keep_alive(true), error);
    if (error) return nullptr;
    const tcp::endpoint local = socket.local_endpoint(error);
    if (error) return nullptr;
    const tcp::endpoint remote = socket.remote_endpoint(error);
    if (error) return nullptr;
    auto link =
        std::make_shared<InboundLink>(std::move(socket), SocketAddress::of(local.data(), local.size()),
                                      SocketAddress::of(remote.data(), remote.size()));
    return std::make_unique<OwnedLink>(std::move(link), permissions);
}

}  // namespace blockpub
