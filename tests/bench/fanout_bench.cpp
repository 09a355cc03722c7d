// SPDX-License-Identifier: MIT
// One publisher's 1 MB rawblock to 1, 10 and 100 subscribers, against a bare PUB socket that sends the same
// buffer to the same subscribers. Rounds alternate; the ratio is that of the medians. Goal: 0.9.

#include "base/endian.hpp"
#include "base/thread.hpp"
#include "bench_support.hpp"

#include <blockpub/publisher.hpp>

#include <zmq.hpp>
#include <zmq_addon.hpp>

#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <latch>

using namespace blockpub;
using namespace blockpub::bench;

namespace {

constexpr std::size_t kBlockSize = 1'000'000;
constexpr int kRounds = 5;

class OneBlock final : public BlockReader {
 public:
    explicit OneBlock(SharedBytes block) : block_(std::move(block)) {}
    Result<SharedBytes> read_block(const BlockHash&) override { return block_; }
    Result<MappedBytes> map_block(const BlockHash&) override { return fail(Errc::unsupported, "no map"); }

 private:
    SharedBytes block_;
};

/// `count` subscribers on one thread of their own, which counts what all of them receive.
class Subscribers {
 public:
    Subscribers(const std::string& endpoint, int count) : context_(1) {
        for (int i = 0; i < count; ++i) {
            sockets_.emplace_back(context_, zmq::socket_type::sub);
            sockets_.back().set(zmq::sockopt::rcvhwm, 0);
            sockets_.back().set(zmq::sockopt::linger, 0);
            sockets_.back().set(zmq::sockopt::subscribe, "");
            sockets_.back().connect(endpoint);
        }
    }
    /// Receives until every subscriber has had a message with a counter of at least `last`.
    void receive(std::uint32_t last) {
        std::vector<bool> done(sockets_.size(), false);
        std::size_t unfinished = sockets_.size();
        std::vector<zmq::pollitem_t> items;
        for (auto& socket : sockets_) items.push_back({socket.handle(), 0, ZMQ_POLLIN, 0});
        while (unfinished != 0) {
            zmq::poll(items, std::chrono::seconds(30));
            for (std::size_t i = 0; i < items.size(); ++i) {
                if ((items[i].revents & ZMQ_POLLIN) == 0) continue;
                std::array<zmq::message_t, 3> frames;
                if (!zmq::recv_multipart_n(sockets_[i], frames.begin(), frames.size()))
                    give_up("nothing received");
                if (done[i] || read_le<std::uint32_t>(frames[2].data<std::uint8_t>()) < last) continue;
                done[i] = true;
                --unfinished;
            }
        }
    }

 private:
    zmq::context_t context_;
    std::vector<zmq::socket_t> sockets_;
};

/// One side of the comparison. Its messages are counted from 0, by their last frame too.
struct Side {
    std::function<void()> send_one;
    Subscribers& subscribers;
    std::uint32_t sent = 0;

    void send() {
        send_one();
        ++sent;
    }
};

/// Sends until each subscriber has received one message: then all subscriptions are in place. What else was
/// sent is taken out as well, so that no round finds another's messages.
void warm_up(Side& side) {
    std::atomic<bool> ready{false};
    {
        const std::jthread receiver([&] {
            side.subscribers.receive(0);
            ready = true;
        });
        while (!ready) {
            side.send();
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
    }
    side.send();
    side.subscribers.receive(side.sent - 1);
}

double time_round(Side& side, int messages) {
    const std::uint32_t last = side.sent + static_cast<std::uint32_t>(messages) - 1;
    const auto begin = SteadyClock::now();
    {
        const std::jthread receiver([&] { side.subscribers.receive(last); });
        for (int i = 0; i < messages; ++i) side.send();
    }
    return seconds_since(begin);
}

void compare(int count, const SharedBytes& block) {
    const int messages = std::max(20, 400 / count);

    OneBlock reader(block);
    NullLogger logger;
    Bus bus({});
    PublisherOptions options{.endpoint = "tcp://127.0.0.1:*", .high_water_mark = 0};
    options.notifiers.push_back(must(make_core_notifier("rawblock")));
    const auto publisher = must(Publisher::bind(std::move(options), bus, reader, logger));
    EventRecord event;
    const auto publish = [&] {
        event.hash = BlockHash(
            {static_cast<std::uint8_t>(event.index), static_cast<std::uint8_t>(event.index >> 8), 1});
        event.step_end = EventRecord::StepEnd{event.previous_hash, event.height, false};
        event.height = event.height.next();
        bus.release_blocks({&event, 1});
        event.previous_hash = event.hash;
        ++event.index;
    };

    zmq::context_t context(1);
    zmq::socket_t socket(context, zmq::socket_type::pub);
    socket.set(zmq::sockopt::sndhwm, 0);
    socket.set(zmq::sockopt::linger, 0);
    socket.bind("tcp://127.0.0.1:*");
    std::uint32_t counter = 0;
    const auto send = [&] {
        auto* keep = new SharedBytes(block);
        zmq::message_t body(
            const_cast<std::uint8_t*>(keep->data()), keep->size(),
            [](void*, void* hint) { delete static_cast<SharedBytes*>(hint); }, keep);
        socket.send(zmq::str_buffer("rawblock"), zmq::send_flags::sndmore);
        socket.send(body, zmq::send_flags::sndmore);
        socket.send(zmq::buffer(&counter, sizeof counter), zmq::send_flags::none);
        ++counter;
    };

    Subscribers ours(publisher->status().endpoint, count);
    Subscribers bare(socket.get(zmq::sockopt::last_endpoint), count);
    Side our_side{publish, ours};
    Side bare_side{send, bare};
    warm_up(our_side);
    warm_up(bare_side);
    std::vector<double> our_times;
    std::vector<double> bare_times;
    for (int round = 0; round < kRounds; ++round) {
        our_times.push_back(time_round(our_side, messages));
        bare_times.push_back(time_round(bare_side, messages));
    }
    publisher->stop();
    const double gigabytes = static_cast<double>(kBlockSize) * messages * count / 1e9;
    const double ratio = median(bare_times) / median(our_times);
    fmt::print("{:3} subscribers: publisher {:.2f} GB/s, libzmq alone {:.2f} GB/s: {:.2f} of it\n", count,
               gigabytes / median(our_times), gigabytes / median(bare_times), ratio);
    fmt::print(
        "{{\"bench\":\"fanout\",\"subscribers\":{},\"publisher_gb_s\":{:.3f},\"libzmq_gb_s\":{:.3f},"
        "\"ratio\":{:.3f}}}\n",
        count, gigabytes / median(our_times), gigabytes / median(bare_times), ratio);
}

}  // namespace

int main() {
    const SharedBytes block = SharedBytes::build(kBlockSize, [](std::span<std::uint8_t> out) {
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::uint8_t>(i * 31);
    });
    for (const int count : {1, 10, 100}) compare(count, block);
}
