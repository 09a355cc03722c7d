// SPDX-License-Identifier: MIT
#pragma once

#include "base/endian.hpp"
#include "base/hex.hpp"
#include "base/mutex.hpp"
#include "notify/core_notifiers.hpp"
#include "primitives/header.hpp"

#include <blockpub/block_reader.hpp>
#include <blockpub/bus.hpp>
#include <blockpub/publisher.hpp>

#include <doctest/doctest.h>
#include <zmq.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace blockpub::test {

inline std::string hex_of(ByteSpan bytes) {
    return encode_hex(bytes);
}

/// Contents of a file of the project, without the blanks at its end.
inline std::string read_project_file(const std::string& path) {
    std::ifstream file(std::filesystem::path(BLOCKPUB_SOURCE_ROOT) / path);
    REQUIRE_MESSAGE(file.good(), path);
    std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
    return text;
}

inline SharedBytes bytes_of_hex(const std::string& hex) {
    const auto bytes = decode_hex(hex);
    REQUIRE(bytes.has_value());
    return SharedBytes::copy_of(*bytes);
}

/// Mainnet block 170: two transactions, 490 bytes.
inline SharedBytes block170() {
    return bytes_of_hex(read_project_file("tests/vectors/block170.hex"));
}
inline constexpr char kBlock170Hash[] = "00000000d1145790a8694403d4063f323d499e655c83426834d4ce2f8dd4a2ee";
inline constexpr char kBlock170Coinbase[] =
    "b1fea52486ce0c62bb442b530a3f0132b826c74e473d1f2c220bfa78111c5082";
inline constexpr char kBlock170Payment[] = "f4184fc596403b9d638783cf57adfe4c75c605f6356fbc91338530e9831e9e16";

/// A block that decodes: a header that `number` makes unique, and transactions of one output each whose
/// scripts have the given sizes.
inline SharedBytes made_block(std::uint32_t number, const std::vector<std::size_t>& script_sizes) {
    std::vector<std::uint8_t> out(BlockHeader::kSize, 0);
    write_le(out.data() + 76, number);
    const auto put = [&](auto value) {
        out.resize(out.size() + sizeof value);
        write_le(out.data() + out.size() - sizeof value, value);
    };
    REQUIRE(script_sizes.size() < 0x10000);
    put(std::uint8_t{253});
    if (script_sizes.size() < 253) {
        out.back() = static_cast<std::uint8_t>(script_sizes.size());
    } else {
        put(static_cast<std::uint16_t>(script_sizes.size()));
    }
    std::uint32_t position = 0;
    for (const std::size_t size : script_sizes) {
        put(std::uint32_t{2});
        put(std::uint8_t{1});
        out.insert(out.end(), 32, static_cast<std::uint8_t>(number));
        put(position++);
        put(std::uint8_t{0});
        put(std::uint32_t{0xffffffff});
        put(std::uint8_t{1});
        put(std::uint64_t{5000});
        put(std::uint8_t{254});
        put(static_cast<std::uint32_t>(size));
        if (size < 0x10000) {  // the shortest form counts
            out.resize(out.size() - 5);
            if (size < 253) {
                put(static_cast<std::uint8_t>(size));
            } else {
                put(std::uint8_t{253});
                put(static_cast<std::uint16_t>(size));
            }
        }
        out.insert(out.end(), size, static_cast<std::uint8_t>(number + position));
        put(std::uint32_t{0});
    }
    return SharedBytes::copy_of(out);
}

inline BlockHash hash_of_block(const SharedBytes& block) {
    return hash_header(block.bytes());
}

/// Blocks in memory; the next reads can be made to fail, or all of a block's for ever.
class MemoryReader final : public BlockReader {
 public:
    void put(const SharedBytes& block) {
        MutexLock lock(mutex_);
        blocks_[hash_of_block(block)] = block;
    }
    void erase(const BlockHash& hash) {
        MutexLock lock(mutex_);
        blocks_.erase(hash);
    }
    void fail_next(Errc code, unsigned count = 1) {
        MutexLock lock(mutex_);
        for (unsigned i = 0; i < count; ++i) failures_.push_back(code);
    }
    void fail_always(const BlockHash& hash, Errc code) {
        MutexLock lock(mutex_);
        broken_[hash] = code;
    }
    /// Called at each read, without a lock held.
    void before_read(std::function<void()> call) { before_ = std::move(call); }
    [[nodiscard]] unsigned reads() const {
        MutexLock lock(mutex_);
        return reads_;
    }
    [[nodiscard]] Result<SharedBytes> read_block(const BlockHash& hash) override {
        if (before_) before_();
        MutexLock lock(mutex_);
        ++reads_;
        if (!failures_.empty()) {
            const Errc code = failures_.front();
            failures_.pop_front();
            return fail(code, "injected");
        }
        if (const auto broken = broken_.find(hash); broken != broken_.end())
            return fail(broken->second, "injected");
        const auto found = blocks_.find(hash);
        if (found == blocks_.end()) return fail(Errc::not_found, "no such block");
        return found->second;
    }
    [[nodiscard]] Result<MappedBytes> map_block(const BlockHash&) override {
        return fail(Errc::unsupported, "test");
    }

 private:
    std::function<void()> before_;
    mutable Mutex mutex_;
    std::unordered_map<BlockHash, SharedBytes> blocks_ BLOCKPUB_GUARDED_BY(mutex_);
    std::unordered_map<BlockHash, Errc> broken_ BLOCKPUB_GUARDED_BY(mutex_);
    std::deque<Errc> failures_ BLOCKPUB_GUARDED_BY(mutex_);
    unsigned reads_ BLOCKPUB_GUARDED_BY(mutex_) = 0;
};

/// Keeps its lines.
class MemoryLogger final : public Logger {
 public:
    void write(LogLevel level, LogCategory, std::string_view line) noexcept override {
        MutexLock lock(mutex_);
        lines_.push_back((level == LogLevel::error ? "error " : "") + std::string(line));
    }
    [[nodiscard]] bool debug_enabled(LogCategory) const noexcept override { return true; }
    [[nodiscard]] std::size_t count(const std::string& part) const {
        MutexLock lock(mutex_);
        std::size_t found = 0;
        for (const auto& line : lines_) found += line.find(part) != std::string::npos ? 1 : 0;
        return found;
    }

 private:
    mutable Mutex mutex_;
    std::vector<std::string> lines_ BLOCKPUB_GUARDED_BY(mutex_);
};

// Tests wait for events, never for time: a probe is a removal from the mempool with a txid that no real one
// has. On a test's endpoints Core's notifiers do not see it, and a notifier of its own sends it as topic
// `probe`.

inline Txid probe_txid() {
    std::array<std::uint8_t, 32> wire;
    wire.fill(0xee);
    return Txid(wire);
}

class ProbeNotifier final : public Notifier {
 public:
    [[nodiscard]] std::string_view topic() const override { return "probe"; }
    [[nodiscard]] Result<void> transaction_removed(MessageSink& sink,
                                                   const TransactionRemovedFromMempool& e) override {
        if (e.txid != probe_txid()) return {};
        std::array<std::uint8_t, 8> body;
        write_le(body.data(), e.sequence.value);
        return sink.send(topic(), body);
    }
};

/// Another notifier, but blind to probes.
class BlindToProbes final : public Notifier {
 public:
    explicit BlindToProbes(std::unique_ptr<Notifier> inner) : inner_(std::move(inner)) {}
    [[nodiscard]] std::string_view topic() const override { return inner_->topic(); }
    [[nodiscard]] bool wants_block_transactions() const override {
        return inner_->wants_block_transactions();
    }
    [[nodiscard]] Result<void> block_transaction(MessageSink& s, EventBlock& b, std::size_t p) override {
        return inner_->block_transaction(s, b, p);
    }
    [[nodiscard]] Result<void> block_connected(MessageSink& s, const BlockConnected& e,
                                               EventBlock& b) override {
        return inner_->block_connected(s, e, b);
    }
    [[nodiscard]] Result<void> block_disconnected(MessageSink& s, const BlockDisconnected& e,
                                                  EventBlock& b) override {
        return inner_->block_disconnected(s, e, b);
    }
    [[nodiscard]] Result<void> updated_block_tip(MessageSink& s, const UpdatedBlockTip& e,
                                                 EventBlock& b) override {
        return inner_->updated_block_tip(s, e, b);
    }
    [[nodiscard]] Result<void> transaction_added(MessageSink& s,
                                                 const TransactionAddedToMempool& e) override {
        return inner_->transaction_added(s, e);
    }
    [[nodiscard]] Result<void> transaction_removed(MessageSink& s,
                                                   const TransactionRemovedFromMempool& e) override {
        return e.txid == probe_txid() ? Result<void>{} : inner_->transaction_removed(s, e);
    }

 private:
    std::unique_ptr<Notifier> inner_;
};

inline PublisherOptions publisher_options(std::string endpoint = "tcp://127.0.0.1:*",
                                          const std::vector<std::string>& topics = {
                                              "hashtx", "rawtx", "sequence", "hashblock", "rawblock"}) {
    PublisherOptions options;
    options.endpoint = std::move(endpoint);
    options.retry_first = std::chrono::milliseconds(1);
    options.retry_longest = std::chrono::milliseconds(4);
    for (const std::string& topic : topics) {
        auto notifier = make_core_notifier(topic);
        REQUIRE(notifier.has_value());
        options.notifiers.push_back(std::make_unique<BlindToProbes>(std::move(*notifier)));
    }
    options.notifiers.push_back(std::make_unique<ProbeNotifier>());
    return options;
}

struct Message {
    std::string topic;
    std::vector<std::uint8_t> body;
    std::uint32_t counter = 0;
};

/// A SUB socket on a thread of its caller's.
class Subscriber {
 public:
    explicit Subscriber(const std::string& endpoint, const std::vector<std::string>& topics = {""},
                        int high_water_mark = 0)
        : socket_(context_, zmq::socket_type::sub) {
        socket_.set(zmq::sockopt::linger, 0);
        socket_.set(zmq::sockopt::ipv6, true);
        socket_.set(zmq::sockopt::rcvhwm, high_water_mark);
        if (high_water_mark != 0) socket_.set(zmq::sockopt::rcvbuf, 64 * 1024);
        for (const std::string& topic : topics) socket_.set(zmq::sockopt::subscribe, topic);
        socket_.set(zmq::sockopt::subscribe, "probe");  // last: when it is in force, all are
        socket_.connect(endpoint);
    }

    /// The next message, probes among them. Every message must have exactly three frames.
    [[nodiscard]] std::optional<Message> receive(std::chrono::milliseconds patience) {
        socket_.set(zmq::sockopt::rcvtimeo, static_cast<int>(patience.count()));
        std::vector<zmq::message_t> frames;
        do {
            zmq::message_t frame;
            if (!socket_.recv(frame)) return std::nullopt;
            frames.push_back(std::move(frame));
        } while (frames.back().more());
        REQUIRE(frames.size() == 3);
        REQUIRE(frames[2].size() == 4);
        const auto* body = static_cast<const std::uint8_t*>(frames[1].data());
        return Message{frames[0].to_string(), std::vector<std::uint8_t>(body, body + frames[1].size()),
                       read_le<std::uint32_t>(static_cast<const std::uint8_t*>(frames[2].data()))};
    }

    /// Sends probes until one arrives: from then on nothing is missed.
    void join(Bus& bus, std::uint64_t& next_probe) {
        for (int i = 0; i < 2000; ++i) {
            bus.release_mempool(TransactionRemovedFromMempool{probe_txid(), MempoolSequence{next_probe++}});
            if (receive(std::chrono::milliseconds(10))) {
                static_cast<void>(until_probe(bus, next_probe));
                return;
            }
        }
        FAIL("the subscription did not come into force");
    }

    /// All messages up to a probe that is sent now, and again while none comes: one beyond the high water
    /// mark is dropped.
    [[nodiscard]] std::vector<Message> until_probe(Bus& bus, std::uint64_t& next_probe) {
        const std::uint64_t first = next_probe;
        std::vector<Message> messages;
        for (int tries = 0; tries < 40; ++tries) {
            const std::uint64_t probe = next_probe++;
            bus.release_mempool(TransactionRemovedFromMempool{probe_txid(), MempoolSequence{probe}});
            while (auto message = receive(std::chrono::milliseconds(500))) {
                if (message->topic != "probe") {
                    messages.push_back(std::move(*message));
                } else if (read_le<std::uint64_t>(message->body.data()) >= first) {
                    return messages;
                }
            }
        }
        FAIL("no probe after " << messages.size() << " messages");
        return messages;
    }
    [[nodiscard]] std::vector<Message> until_probe(std::uint64_t probe) {
        std::vector<Message> messages;
        while (true) {
            auto message = receive(std::chrono::seconds(20));
            REQUIRE_MESSAGE(message.has_value(), "no probe after " << messages.size() << " messages");
            if (message->topic != "probe") {
                messages.push_back(std::move(*message));
            } else if (read_le<std::uint64_t>(message->body.data()) >= probe) {
                return messages;
            }
        }
    }
    [[nodiscard]] zmq::socket_t& socket() { return socket_; }

 private:
    zmq::context_t context_;
    zmq::socket_t socket_;
};

/// A bus and a reader with blocks that connect one on the other.
class Scene {
 public:
    explicit Scene(BusOptions options = {}) : bus(options), index_(options.next_index) {}

    [[nodiscard]] std::unique_ptr<Publisher> publish(PublisherOptions options = publisher_options()) {
        auto publisher = Publisher::bind(std::move(options), bus, reader, logger);
        REQUIRE_MESSAGE(publisher.has_value(), (publisher ? "" : publisher.error().context));
        return std::move(*publisher);
    }
    /// Stores and connects a block, as a step of its own.
    EventRecord connect(const SharedBytes& block, bool initial_download = false) {
        reader.put(block);
        return announce(block, initial_download);
    }
    /// Connects a block that the reader may not have.
    EventRecord announce(const SharedBytes& block, bool initial_download = false) {
        EventRecord record{.index = index_++,
                           .kind = BlockEventKind::connected,
                           .hash = hash_of_block(block),
                           .previous_hash = tip_,
                           .height = Height{height_++},
                           .step_end = EventRecord::StepEnd{tip_, Height{height_ - 2}, initial_download}};
        tip_ = record.hash;
        bus.release_blocks(std::span(&record, 1));
        return record;
    }
    /// Takes the tip back, as a step of its own.
    void disconnect(const EventRecord& connected) {
        EventRecord record{.index = index_++,
                           .kind = BlockEventKind::disconnected,
                           .hash = connected.hash,
                           .previous_hash = connected.previous_hash,
                           .height = connected.height,
                           .step_end = EventRecord::StepEnd{connected.previous_hash,
                                                            Height{connected.height.value - 1}, false}};
        tip_ = connected.previous_hash;
        --height_;
        bus.release_blocks(std::span(&record, 1));
    }
    void join(Subscriber& subscriber) { subscriber.join(bus, probe); }
    [[nodiscard]] std::vector<Message> messages(Subscriber& subscriber) {
        return subscriber.until_probe(bus, probe);
    }

    MemoryLogger logger;
    MemoryReader reader;
    Bus bus;
    std::uint64_t probe = 1;

 private:
    EventIndex index_;
    BlockHash tip_;
    std::uint32_t height_ = 100;
};

/// `topic counter` of each message, for tests of order.
inline std::vector<std::string> outline(const std::vector<Message>& messages) {
    std::vector<std::string> lines;
    for (const Message& message : messages)
        lines.push_back(message.topic + " " + std::to_string(message.counter));
    return lines;
}

/// A directory that goes with the test.
class TempDirectory {
 public:
    TempDirectory() {
        std::string name = (std::filesystem::temp_directory_path() / "blockpub-XXXXXX").string();
        REQUIRE(mkdtemp(name.data()) != nullptr);
        path_ = name;
    }
    ~TempDirectory() { std::filesystem::remove_all(path_); }
    TempDirectory(const TempDirectory&) = delete;
    TempDirectory& operator=(const TempDirectory&) = delete;
    [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
    std::filesystem::path path_;
};

using Lines = std::vector<std::string>;

}  // namespace blockpub::test
