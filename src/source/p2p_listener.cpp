// SPDX-License-Identifier: MIT
#include "source/p2p_listener.hpp"

#include "base/log.hpp"
#include "base/thread.hpp"
#include "source/p2p_address.hpp"
#include "source/p2p_inbound_link.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>  // before Asio, which relies on it

namespace blockpub {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

// As many as the kernel allows: in a storm of connections whoever finds it full waits for a second.
constexpr int kPeerBacklog = asio::socket_base::max_listen_connections;
constexpr std::chrono::milliseconds kAcceptAgain{100};  // out of descriptors
constexpr std::chrono::minutes kWarnAgain{1};

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
    std::optional<std::chrono::steady_clock::time_point> warned_at;
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
        const auto now = std::chrono::steady_clock::now();
        if (!warned_at || now - *warned_at >= kWarnAgain) {
            log.warning("no descriptor left for another peer; trying again");
            warned_at = now;
        }
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
