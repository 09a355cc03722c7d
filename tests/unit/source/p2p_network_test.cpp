// SPDX-License-Identifier: MIT
#include "source/p2p_network.hpp"

#include "base/mutex.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace blockpub;
using namespace std::chrono_literals;

TEST_SUITE_BEGIN("source.p2p_network");

namespace {

/// Takes connections, and says nothing.
class SilentDoor {
 public:
    SilentDoor() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        ::sockaddr_in where{};
        where.sin_family = AF_INET;
        where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        ::socklen_t size = sizeof where;
        REQUIRE(::bind(socket_, reinterpret_cast<const ::sockaddr*>(&where), size) == 0);
        REQUIRE(::listen(socket_, 4) == 0);
        REQUIRE(::getsockname(socket_, reinterpret_cast<::sockaddr*>(&where), &size) == 0);
        port_ = ntohs(where.sin_port);
    }
    ~SilentDoor() { ::close(socket_); }
    SilentDoor(const SilentDoor&) = delete;
    SilentDoor& operator=(const SilentDoor&) = delete;
    [[nodiscard]] PeerAddress address() const { return {"127.0.0.1", port_}; }

 private:
    const int socket_;
    std::uint16_t port_ = 0;
};

/// Calls a node once; what comes of it is noted on the network's thread and read by the test's.
class Call {
 public:
    /// `allowed`: the answers, one after another.
    Call(const PeerAddress& address, std::vector<bool> allowed) : allowed_(std::move(allowed)) {
        network_.start();
        network_.poster()([this, address] {
            connection_ =
                network_.connect(address, 20s,
                                 {.allowed =
                                      [this](const IpAddress& asked) {
                                          CHECK(asked.text() == "127.0.0.1");
                                          return allowed_.at(questions_++);
                                      },
                                  .connected =
                                      [this](const SocketAddress& local, const SocketAddress& remote) {
                                          note(local.address.text() + " to " + remote.text());
                                      },
                                  .received = [](ByteSpan) {},
                                  .drained = [] {},
                                  .closed = [this](std::string reason, bool) { note(std::move(reason)); }});
        });
    }
    ~Call() {
        network_.stop([this] { connection_.reset(); });
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    std::string outcome() {
        const MutexLock lock(mutex_);
        while (outcome_.empty()) changed_.wait(mutex_);
        return outcome_;
    }

 private:
    void note(std::string outcome) {
        const MutexLock lock(mutex_);
        outcome_ = std::move(outcome);
        changed_.notify_all();
    }

    PeerNetwork network_{1h, [] {}};
    const std::vector<bool> allowed_;
    std::size_t questions_ = 0;
    std::unique_ptr<PeerConnection> connection_;
    Mutex mutex_;
    CondVar changed_;
    std::string outcome_ BLOCKPUB_GUARDED_BY(mutex_);
};

}  // namespace

TEST_CASE("a connection knows both of its ends") {
    const SilentDoor door;
    CHECK(Call(door.address(), {true, true}).outcome() == "127.0.0.1 to " + door.address().text());
}

TEST_CASE("an address that is banned is not called") {
    const SilentDoor door;
    CHECK(Call(door.address(), {false}).outcome().starts_with("its address is banned here"));
}

TEST_CASE("an address that is banned while it is called is left") {
    const SilentDoor door;
    CHECK(Call(door.address(), {true, false}).outcome().starts_with("its address is banned here"));
}

TEST_SUITE_END();
