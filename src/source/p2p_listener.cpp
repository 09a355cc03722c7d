// SPDX-License-Identifier: MIT
#include "source/p2p_listener.hpp"

#include "base/log.hpp"
#include "base/thread.hpp"
#include "source/p2p_network.hpp"
#include "source/p2p_outbox.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>  // before Asio, which relies on it

namespace blockpub {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr int kPeerBacklog = 128;
constexpr std::chrono::milliseconds kAcceptAgain{100};  // out of descriptors
constexpr std::size_t kInboundBuffer = std::size_t{16} << 10;
constexpr std::size_t kStretches = 16;

IpAddress address_of(const asio::ip::address& address) {
    return address.is_v4() ? IpAddress::from_v4(address.to_v4().to_bytes())
                           : IpAddress::from_v6(address.to_v6().to_bytes());
}

std::string text_of(const tcp::endpoint& endpoint) {
    error_code ignored;
    return PeerAddress{endpoint.address().to_string(ignored), endpoint.port()}.text();
}

/// Handlers of Asio hold it, its owner holds an OwnedLink.
class InboundLink : public std::enable_shared_from_this<InboundLink> {
 public:
    using Time = InboundConnection::Time;
    InboundLink(tcp::socket socket, const tcp::endpoint& local, const tcp::endpoint& remote)
        : address(address_of(remote.address())),
          remote_name(text_of(remote)),
          local_name(text_of(local)),
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

/// The connection on an accepted socket; null when the peer is gone already.
std::unique_ptr<InboundConnection> make_inbound_connection(tcp::socket socket, std::uint32_t permissions) {
    error_code error;
    socket.set_option(tcp::no_delay(true), error);
    if (!error) socket.set_option(asio::socket_base::keep_alive(true), error);
    if (error) return nullptr;
    const tcp::endpoint local = socket.local_endpoint(error);
    if (error) return nullptr;
    const tcp::endpoint remote = socket.remote_endpoint(error);
    if (error) return nullptr;
    return std::make_unique<OwnedLink>(std::make_shared<InboundLink>(std::move(socket), local, remote),
                                       permissions);
}

}  // namespace

struct PeerListener::Impl {
    struct Door {
        Door(asio::io_context& context, std::uint32_t given)
            : acceptor(context), retry(context), permissions(given) {}
        tcp::acceptor acceptor;
        asio::steady_timer retry;
        const std::uint32_t permissions;
    };

    explicit Impl(Logger& logger)
        : log(&logger, LogCategory::net), work(asio::make_work_guard(context)), timer(context) {}

    Result<void> bind(const PeerEndpoint& endpoint);
    Result<void> bind_address(const PeerEndpoint& endpoint, const asio::ip::address& address, bool optional);
    void accept(Door& door);
    void accepted(Door& door, const error_code& error, tcp::socket socket);
    void wait_for_tick();

    const Log log;
    asio::io_context context{1};
    asio::executor_work_guard<asio::io_context::executor_type> work;
    asio::steady_timer timer;
    std::vector<std::unique_ptr<Door>> doors;
    std::vector<Bound> bound;
    std::chrono::milliseconds tick{};
    Handlers handlers;
    std::atomic<bool> stopped{false};
    std::jthread thread;
};

Result<void> PeerListener::Impl::bind_address(const PeerEndpoint& endpoint, const asio::ip::address& address,
                                              bool optional) {
    const tcp::endpoint where(address, endpoint.port);
    auto door = std::make_unique<Door>(context, endpoint.permissions);
    error_code error;
    door->acceptor.open(where.protocol(), error);
    if (!error) door->acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error && address.is_v6()) door->acceptor.set_option(asio::ip::v6_only(true), error);
    if (!error) door->acceptor.bind(where, error);
    if (!error) door->acceptor.listen(kPeerBacklog, error);
    const bool lacking = error == asio::error::address_family_not_supported ||
                         error == asio::error::no_protocol_option || error.value() == EADDRNOTAVAIL;
    if (error && lacking && optional) return {};
    const std::string name = PeerAddress{address.to_string(), endpoint.port}.text();
    if (error == asio::error::address_in_use) {
        return fail(Errc::busy, fmt::format("Unable to bind to {} on this computer: the port is taken; is "
                                            "bitcoind using it? give -port=<another port>",
                                            name));
    }
    if (error) {
        return fail(Errc::io,
                    fmt::format("Unable to bind to {} on this computer ({})", name, error.message()));
    }
    const tcp::endpoint local = door->acceptor.local_endpoint(error);
    bound.push_back(
        {.host = address.to_string(), .port = local.port(), .every_address = address.is_unspecified()});
    doors.push_back(std::move(door));
    return {};
}

Result<void> PeerListener::Impl::bind(const PeerEndpoint& endpoint) {
    if (endpoint.host.empty()) {
        if (auto v6 = bind_address(endpoint, asio::ip::address_v6::any(), true); !v6) return v6;
        return bind_address(endpoint, asio::ip::address_v4::any(), false);
    }
    error_code error;
    const auto address = asio::ip::make_address(endpoint.host, error);
    if (error) {
        return fail(Errc::invalid_argument, fmt::format("Cannot resolve -bind address: '{}'", endpoint.host));
    }
    return bind_address(endpoint, address, false);
}

void PeerListener::Impl::accept(Door& door) {
    door.acceptor.async_accept([this, &door](const error_code& error, tcp::socket socket) {
        if (error != asio::error::operation_aborted) accepted(door, error, std::move(socket));
    });
}

void PeerListener::Impl::accepted(Door& door, const error_code& error, tcp::socket socket) {
    const bool exhausted = error == asio::error::no_descriptors || error.value() == ENFILE ||
                           error == asio::error::no_memory || error == asio::error::no_buffer_space;
    if (exhausted) {
        log.warning("no descriptor left for another peer; trying again");
        door.retry.expires_after(kAcceptAgain);
        door.retry.async_wait([this, &door](const error_code& cancelled) {
            if (!cancelled) accept(door);
        });
        return;
    }
    if (!error) {
        if (auto connection = make_inbound_connection(std::move(socket), door.permissions))
            handlers.accepted(std::move(connection));
    }
    accept(door);
}

void PeerListener::Impl::wait_for_tick() {
    timer.expires_after(tick);
    timer.async_wait([this](const error_code& error) {
        if (error) return;
        handlers.tick();
        wait_for_tick();
    });
}

PeerListener::PeerListener(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

PeerListener::~PeerListener() {
    stop([] {});
}

Result<std::unique_ptr<PeerListener>> PeerListener::listen(const std::vector<PeerEndpoint>& endpoints,
                                                           Logger& logger) {
    auto impl = std::make_shared<Impl>(logger);
    for (const PeerEndpoint& endpoint : endpoints) {
        if (auto bound = impl->bind(endpoint); !bound) return forward_error(bound);
    }
    return std::unique_ptr<PeerListener>(new PeerListener(std::move(impl)));
}

void PeerListener::start(std::chrono::milliseconds tick, Handlers handlers) {
    impl_->tick = tick;
    impl_->handlers = std::move(handlers);
    impl_->wait_for_tick();
    for (const auto& door : impl_->doors) impl_->accept(*door);
    impl_->thread =
        start_thread("p2p-serve", [impl = impl_.get()](const std::stop_token&) { impl->context.run(); });
}

void PeerListener::stop(std::function<void()> last) {
    if (impl_->stopped.exchange(true)) return;
    if (!impl_->thread.joinable()) return last();
    asio::post(impl_->context, [impl = impl_.get(), last = std::move(last)] {
        error_code ignored;
        for (const auto& door : impl->doors) door->acceptor.close(ignored);
        last();
        impl->context.stop();
    });
    impl_->thread.join();
}

PeerListener::Poster PeerListener::poster() const {
    return [weak = std::weak_ptr<Impl>(impl_)](std::function<void()> function) {
        const auto impl = weak.lock();
        if (impl && !impl->stopped) asio::post(impl->context, std::move(function));
    };
}

std::string PeerListener::Bound::text() const {
    return PeerAddress{host, port}.text();
}

std::vector<PeerListener::Bound> PeerListener::addresses() const {
    return impl_->bound;
}

}  // namespace blockpub
