// SPDX-License-Identifier: MIT
#include "source/p2p_network.hpp"

#include "base/thread.hpp"
#include "source/p2p_lookup.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <optional>
#include <thread>
#include <utility>  // before Asio, which relies on it

namespace blockpub {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr std::size_t kReadBuffer = std::size_t{256} << 10;
constexpr std::size_t kMostUnsent = std::size_t{8} << 20;
/// Bytes that nobody acknowledges for so long end a connection: the network was cut.
constexpr int kCutAfterMs = 60'000;
constexpr const char* kKeptOut = "its address is banned here: listbanned shows the ban, setban removes it";

SocketAddress socket_address(const tcp::endpoint& endpoint) {
    return SocketAddress::of(endpoint.data(), endpoint.size());
}

std::vector<tcp::endpoint> endpoints_of(const FoundHost& found, std::uint16_t port) {
    std::vector<tcp::endpoint> endpoints;
    for (const FoundAddress& at : found.addresses) {
        tcp::endpoint endpoint;
        if (at.size > endpoint.capacity()) continue;
        std::memcpy(endpoint.data(), &at.address, at.size);
        endpoint.resize(at.size);
        endpoint.port(port);
        endpoints.push_back(endpoint);
    }
    return endpoints;
}

/// One connection. Handlers of Asio hold it, its owner holds a Handle.
class Link : public std::enable_shared_from_this<Link> {
 public:
    Link(asio::io_context& context, PeerAddress address, PeerConnection::Handlers handlers)
        : address_(std::move(address)),
          handlers_(std::move(handlers)),
          socket_(context),
          timer_(context),
          buffer_(kReadBuffer) {}

    void open(std::chrono::milliseconds timeout, const PeerNetwork::Poster& post);
    void send(std::vector<std::uint8_t> bytes);
    [[nodiscard]] std::size_t unsent() const { return unsent_bytes_; }
    void pause(bool paused);
    [[nodiscard]] bool paused() const { return paused_; }
    /// Ends it; nobody is told.
    void abandon();

 private:
    void find(const PeerNetwork::Poster& post);
    void connect(const std::vector<tcp::endpoint>& found);
    void connected();
    void read();
    void write();
    void fail(std::string reason, bool faulty = false);

    const PeerAddress address_;
    PeerConnection::Handlers handlers_;
    tcp::socket socket_;
    asio::steady_timer timer_;
    std::vector<std::uint8_t> buffer_;
    std::deque<std::vector<std::uint8_t>> unsent_;
    std::size_t unsent_bytes_ = 0;  // beyond the bound: it is about to end
    bool ended_ = false;
    bool open_ = false;
    bool kept_out_ = false;  // the address tried last is not allowed
    bool paused_ = false;
    bool reading_ = false;
    bool writing_ = false;
};

void Link::open(std::chrono::milliseconds timeout, const PeerNetwork::Poster& post) {
    timer_.expires_after(timeout);
    timer_.async_wait([self = shared_from_this(), timeout](const error_code& error) {
        if (error || self->open_) return;
        self->fail(
            fmt::format("no answer within {} s: is the address right, and does a firewall stand between?",
                        std::chrono::duration<double>(timeout).count()));
    });
    find(post);
}

void Link::find(const PeerNetwork::Poster& post) {
    error_code no_address;
    const auto address = asio::ip::make_address(address_.host, no_address);
    if (!no_address) {
        // Not from within the owner's call.
        asio::post(socket_.get_executor(), [self = shared_from_this(), address] {
            if (!self->ended_) self->connect({tcp::endpoint(address, self->address_.port)});
        });
        return;
    }
    // It may outlast the network, and must not hold what belongs to that.
    find_host_aside(address_.host, [link = weak_from_this(), post](FoundHost found) {
        post([link, found = std::move(found)] {
            const auto self = link.lock();
            if (!self || self->ended_) return;
            if (!found.error.empty()) return self->fail("the host is not found: " + found.error);
            self->connect(endpoints_of(found, self->address_.port));
        });
    });
}

void Link::connect(const std::vector<tcp::endpoint>& found) {
    const auto allowed = [self = shared_from_this()](const error_code&, const tcp::endpoint& next) {
        if (self->ended_) return false;
        self->kept_out_ = !self->handlers_.allowed(socket_address(next).address);
        return !self->kept_out_;
    };
    const auto made = [self = shared_from_this()](const error_code& error, const auto&) {
        if (self->ended_) return;
        if (!error) return self->connected();
        if (error == asio::error::not_found && self->kept_out_) return self->fail(kKeptOut);
        if (error == asio::error::connection_refused) {
            return self->fail(
                "connection refused: no node listens there; is it running, and with -listen=1? (One that was "
                "itself given -connect does not listen.)");
        }
        self->fail(error.message());
    };
    asio::async_connect(socket_, found, allowed, made);
}

void Link::connected() {
    open_ = true;
    timer_.cancel();
    error_code error;
    socket_.set_option(tcp::no_delay(true), error);
    socket_.set_option(asio::socket_base::keep_alive(true), error);
    const int cut_after = kCutAfterMs;
    static_cast<void>(
        ::setsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_USER_TIMEOUT, &cut_after, sizeof cut_after));
    const tcp::endpoint local = socket_.local_endpoint(error);
    const tcp::endpoint remote = socket_.remote_endpoint(error);
    if (error) return fail(error.message());
    // It may have been banned while it was called.
    if (!handlers_.allowed(socket_address(remote).address)) return fail(kKeptOut);
    handlers_.connected(socket_address(local), socket_address(remote));
    read();
    write();
}

void Link::read() {
    if (ended_ || !open_ || paused_ || reading_) return;
    reading_ = true;
    socket_.async_read_some(asio::buffer(buffer_),
                            [self = shared_from_this()](const error_code& error, std::size_t size) {
                                self->reading_ = false;
                                if (self->ended_) return;
                                if (error == asio::error::eof) return self->fail("it closed the connection");
                                if (error) return self->fail(error.message());
                                self->handlers_.received(ByteSpan(self->buffer_).first(size));
                                self->read();
                            });
}

void Link::send(std::vector<std::uint8_t> bytes) {
    if (ended_ || unsent_bytes_ > kMostUnsent) return;
    unsent_bytes_ += bytes.size();
    unsent_.push_back(std::move(bytes));
    if (unsent_bytes_ > kMostUnsent) {
        // Not from within the owner's call.
        asio::post(socket_.get_executor(), [self = shared_from_this()] {
            self->fail(fmt::format("it does not read what it is sent: {} bytes wait", self->unsent_bytes_),
                       true);
        });
        return;
    }
    write();
}

void Link::write() {
    if (ended_ || !open_ || writing_ || unsent_.empty()) return;
    writing_ = true;
    asio::async_write(socket_, asio::buffer(unsent_.front()),
                      [self = shared_from_this()](const error_code& error, std::size_t) {
                          self->writing_ = false;
                          if (self->ended_) return;
                          if (error) return self->fail(error.message());
                          self->unsent_bytes_ -= self->unsent_.front().size();
                          self->unsent_.pop_front();
                          if (self->unsent_.empty()) return self->handlers_.drained();
                          self->write();
                      });
}

void Link::pause(bool paused) {
    paused_ = paused;
    read();
}

void Link::fail(std::string reason, bool faulty) {
    if (ended_) return;
    const auto closed = std::move(handlers_.closed);
    abandon();
    closed(std::move(reason), faulty);
}

void Link::abandon() {
    ended_ = true;
    error_code ignored;
    timer_.cancel();
    socket_.close(ignored);
}

class Handle final : public PeerConnection {
 public:
    explicit Handle(std::shared_ptr<Link> link) : link_(std::move(link)) {}
    ~Handle() override { link_->abandon(); }
    void send(std::vector<std::uint8_t> bytes) override { link_->send(std::move(bytes)); }
    std::size_t unsent() const override { return link_->unsent(); }
    void pause(bool paused) override { link_->pause(paused); }
    bool paused() const override { return link_->paused(); }

 private:
    std::shared_ptr<Link> link_;
};

}  // namespace

struct PeerNetwork::Impl {
    Impl(std::chrono::milliseconds every, std::function<void()> tick_function)
        : work(asio::make_work_guard(context)),
          timer(context),
          tick(every),
          on_tick(std::move(tick_function)) {}

    void wait_for_tick() {
        timer.expires_after(tick);
        timer.async_wait([this](const error_code& error) {
            if (error) return;
            on_tick();
            wait_for_tick();
        });
    }

    asio::io_context context{1};
    asio::executor_work_guard<asio::io_context::executor_type> work;
    asio::steady_timer timer;
    const std::chrono::milliseconds tick;
    const std::function<void()> on_tick;
    std::atomic<bool> stopped{false};
    std::jthread thread;
};

PeerNetwork::PeerNetwork(std::chrono::milliseconds tick, std::function<void()> on_tick)
    : impl_(std::make_shared<Impl>(tick, std::move(on_tick))) {}

PeerNetwork::~PeerNetwork() {
    stop([] {});
}

void PeerNetwork::start() {
    impl_->thread =
        start_thread("p2p", [impl = impl_.get()](const std::stop_token&) { impl->context.run(); });
}

void PeerNetwork::start_ticking() {
    asio::post(impl_->context, [impl = impl_.get()] { impl->wait_for_tick(); });
}

void PeerNetwork::stop(std::function<void()> last) {
    if (impl_->stopped.exchange(true)) return;
    asio::post(impl_->context, [impl = impl_.get(), last = std::move(last)] {
        last();
        impl->context.stop();
    });
    if (impl_->thread.joinable()) impl_->thread.join();
}

PeerNetwork::Poster PeerNetwork::poster() const {
    return [weak = std::weak_ptr<Impl>(impl_)](std::function<void()> function) {
        const auto impl = weak.lock();
        if (impl && !impl->stopped) asio::post(impl->context, std::move(function));
    };
}

std::unique_ptr<PeerConnection> PeerNetwork::connect(const PeerAddress& address,
                                                     std::chrono::milliseconds timeout,
                                                     PeerConnection::Handlers handlers) {
    auto link = std::make_shared<Link>(impl_->context, address, std::move(handlers));
    link->open(timeout, poster());
    return std::make_unique<Handle>(std::move(link));
}

}  // namespace blockpub
