// SPDX-License-Identifier: MIT
#include "base/check.hpp"
#include "base/endian.hpp"
#include "notify/ipc_lock.hpp"
#include "notify/pub_socket.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <zmq.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <optional>
#include <unordered_set>
#include <utility>

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#define BLOCKPUB_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#define BLOCKPUB_TSAN 1
#endif
#endif

namespace blockpub {
namespace {

constexpr char kMonitorAddress[] = "inproc://monitor";

/// libzmq takes a negative time for "for ever".
int as_milliseconds(std::chrono::milliseconds time) {
    return static_cast<int>(std::clamp<std::chrono::milliseconds::rep>(time.count(), 0, 1'000'000'000));
}

// libzmq hands a message from our thread to its own by means that ThreadSanitizer does not see.

void before_hand_over([[maybe_unused]] void* hint) {
#ifdef BLOCKPUB_TSAN
    __tsan_release(hint);
#endif
}

/// Called by libzmq, on whichever thread drops a message last.
void release_bytes(void*, void* hint) {
#ifdef BLOCKPUB_TSAN
    __tsan_acquire(hint);
#endif
    delete static_cast<SharedBytes*>(hint);
}

/// What cppzmq throws becomes an Error here and nowhere else.
template <class Function>
Result<void> guarded(const std::string& subject, Function&& function) {
    try {
        function();
        return {};
    } catch (const zmq::error_t& error) {
        const Errc code = error.num() == EADDRINUSE ? Errc::busy
                          : error.num() == EADDRNOTAVAIL || error.num() == ENODEV || error.num() == EINVAL ||
                                  error.num() == ENAMETOOLONG
                              ? Errc::invalid_argument
                              : Errc::io;
        return fail(code, fmt::format("{}: {}", subject, error.what()));
    } catch (const std::exception& error) {
        return fail(Errc::io, fmt::format("{}: {}", subject, error.what()));
    }
}

class ZmqPubSocket final : public PubSocket {
 public:
    ZmqPubSocket(PubSocketOptions options, int wake_descriptor)
        : options_(std::move(options)),
          wake_descriptor_(wake_descriptor),
          address_(options_.endpoint.canonical()) {}
    ~ZmqPubSocket() override {
        close(std::chrono::milliseconds(0));
        ::close(wake_descriptor_);
    }

    [[nodiscard]] Result<void> open() override;
    void close(std::chrono::milliseconds linger) noexcept override;
    [[nodiscard]] bool is_open() const noexcept override { return socket_.has_value(); }
    [[nodiscard]] std::string bound_endpoint() const override { return bound_; }
    [[nodiscard]] Result<void> send_frame(ByteSpan frame, bool more) override;
    [[nodiscard]] Result<void> send_frame(const SharedBytes& frame, bool more) override;
    [[nodiscard]] std::uint64_t connections() const noexcept override { return connections_.size(); }
    void wait(std::chrono::milliseconds longest) override;
    void wake() noexcept override;

 private:
    void set_options();
    void start_monitor();
    void read_monitor();
    [[nodiscard]] Result<void> send_message(zmq::message_t message, bool more);

    // Constant after construction.
    const PubSocketOptions options_;
    const int wake_descriptor_;
    // Only on the publisher's thread.
    std::optional<IpcLock> ipc_lock_;
    std::string address_;  // to bind
    std::string bound_;
    // Destroyed in the reverse order; the context last, since its end waits for the sockets'.
    zmq::context_t context_;
    std::optional<zmq::socket_t> socket_;
    std::optional<zmq::socket_t> monitor_;
    std::unordered_set<std::uint32_t> connections_;  // descriptors, as the monitor names them
};

Result<void> ZmqPubSocket::open() {
    BLOCKPUB_CHECK(!socket_);
    if (options_.endpoint.is_file() && !ipc_lock_) {
        auto lock = IpcLock::take(options_.endpoint.path);
        if (!lock) return fail(lock.error().code, fmt::format("{}: {}", address_, lock.error().context));
        ipc_lock_.emplace(std::move(*lock));
    }
    auto opened = guarded(address_, [&] {
        socket_.emplace(context_, zmq::socket_type::pub);
        set_options();
        start_monitor();
        socket_->bind(address_);
        if (ipc_lock_) ipc_lock_->claim_socket();
        bound_ = socket_->get(zmq::sockopt::last_endpoint);
        // A temporary path goes with its socket; everything else is bound again as it was.
        if (options_.endpoint.path != "*") address_ = bound_;
    });
    if (!opened) close(std::chrono::milliseconds(0));
    return opened;
}

void ZmqPubSocket::set_options() {
    socket_->set(zmq::sockopt::sndhwm, options_.high_water_mark);
    socket_->set(zmq::sockopt::linger, 0);
    // Half-open connections end after two minutes; the system's default would be over two hours. Heartbeats
    // of ZMTP would cut hand-written clients that never answer them.
    socket_->set(zmq::sockopt::tcp_keepalive, 1);
    socket_->set(zmq::sockopt::tcp_keepalive_idle, 60);
    socket_->set(zmq::sockopt::tcp_keepalive_intvl, 15);
    socket_->set(zmq::sockopt::tcp_keepalive_cnt, 4);
    socket_->set(zmq::sockopt::handshake_ivl, as_milliseconds(kHandshakeInterval));
    socket_->set(zmq::sockopt::maxmsgsize, kLargestPeerMessage);
    // Some systems refuse to bind an IPv4 address on a socket that may do IPv6.
    socket_->set(zmq::sockopt::ipv6, options_.endpoint.ipv6);
}

void ZmqPubSocket::start_monitor() {
    constexpr int kEvents = ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CLOSED;
    if (zmq_socket_monitor(socket_->handle(), kMonitorAddress, kEvents) != 0) throw zmq::error_t();
    monitor_.emplace(context_, zmq::socket_type::pair);
    // libzmq's own thread writes here and would stop serving subscribers if it ever had to wait.
    monitor_->set(zmq::sockopt::rcvhwm, 0);
    monitor_->set(zmq::sockopt::linger, 0);
    monitor_->connect(kMonitorAddress);
}

void ZmqPubSocket::close(std::chrono::milliseconds linger) noexcept {
    if (socket_) {
        // The order counts: the monitor ends before its socket, and both before the lock on the path.
        static_cast<void>(guarded(address_, [&] {
            socket_->set(zmq::sockopt::linger, as_milliseconds(linger));
            zmq_socket_monitor(socket_->handle(), nullptr, 0);
        }));
    }
    monitor_.reset();
    socket_.reset();
    connections_.clear();
}

Result<void> ZmqPubSocket::send_frame(ByteSpan frame, bool more) {
    std::optional<zmq::message_t> message;
    if (auto made = guarded(bound_, [&] { message.emplace(frame.data(), frame.size()); }); !made) return made;
    return send_message(std::move(*message), more);
}

Result<void> ZmqPubSocket::send_frame(const SharedBytes& frame, bool more) {
    std::optional<zmq::message_t> message;
    auto made = guarded(bound_, [&] {
        auto reference = std::make_unique<SharedBytes>(frame);
        // libzmq takes the bytes as writable and does not write.
        message.emplace(const_cast<std::uint8_t*>(frame.data()), frame.size(), &release_bytes,
                        reference.get());
        before_hand_over(reference.release());
    });
    if (!made) return made;
    return send_message(std::move(*message), more);
}

Result<void> ZmqPubSocket::send_message(zmq::message_t message, bool more) {
    if (!socket_) return fail(Errc::io, fmt::format("{}: not open", address_));
    const auto flags =
        more ? zmq::send_flags::sndmore | zmq::send_flags::dontwait : zmq::send_flags::dontwait;
    bool taken = false;
    auto sent = guarded(bound_, [&] {
        while (!taken) {
            try {
                if (!socket_->send(message, flags)) throw zmq::error_t();
                taken = true;
            } catch (const zmq::error_t& error) {
                if (error.num() != EINTR) throw;
            }
        }
    });
    return sent;
}

void ZmqPubSocket::wait(std::chrono::milliseconds longest) {
    std::array<zmq::pollitem_t, 3> items{};
    items[0] = {nullptr, wake_descriptor_, ZMQ_POLLIN, 0};
    std::size_t count = 1;
    if (socket_) {
        // A PUB socket has nothing to receive; polled, it serves subscriptions and ended connections while
        // idle.
        items[1] = {socket_->handle(), 0, ZMQ_POLLIN, 0};
        items[2] = {monitor_->handle(), 0, ZMQ_POLLIN, 0};
        count = items.size();
    }
    static_cast<void>(guarded(bound_, [&] {
        zmq::poll(items.data(), count, std::chrono::milliseconds(as_milliseconds(longest)));
        if (monitor_) read_monitor();
    }));
    std::uint64_t ignored = 0;
    static_cast<void>(!read(wake_descriptor_, &ignored, sizeof ignored));
}

void ZmqPubSocket::read_monitor() {
    zmq::message_t event;
    zmq::message_t address;
    while (monitor_->recv(event, zmq::recv_flags::dontwait)) {
        static_cast<void>(monitor_->recv(address));
        if (event.size() < 6) continue;
        const auto* bytes = static_cast<const std::uint8_t*>(event.data());
        const auto kind = read_le<std::uint16_t>(bytes);
        const auto descriptor = read_le<std::uint32_t>(bytes + 2);
        if (kind == ZMQ_EVENT_ACCEPTED) {
            connections_.insert(descriptor);
        } else {
            connections_.erase(descriptor);
        }
    }
}

void ZmqPubSocket::wake() noexcept {
    const std::uint64_t one = 1;
    // Fails only when the counter is full, and then the wait ends anyway.
    static_cast<void>(!write(wake_descriptor_, &one, sizeof one));
}

}  // namespace

Result<std::unique_ptr<PubSocket>> make_pub_socket(PubSocketOptions options) {
    const int descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (descriptor < 0) {
        return fail(Errc::io,
                    fmt::format("{}: eventfd: {}", options.endpoint.canonical(), std::strerror(errno)));
    }
    std::unique_ptr<PubSocket> socket;
    auto made = guarded(options.endpoint.canonical(),
                        [&] { socket = std::make_unique<ZmqPubSocket>(std::move(options), descriptor); });
    if (made) return socket;
    ::close(descriptor);
    return forward_error(made);
}

}  // namespace blockpub
