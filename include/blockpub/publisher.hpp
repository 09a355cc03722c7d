// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <blockpub/block_reader.hpp>
#include <blockpub/bus.hpp>
#include <blockpub/export.hpp>
#include <blockpub/logger.hpp>
#include <blockpub/notifier.hpp>
#include <blockpub/result.hpp>

namespace blockpub {

/// Makes Core's notifier for `topic`: hashblock, rawblock, hashtx, rawtx or sequence. Errors: not_found.
/// Source: Bitcoin Core v28 doc/zmq.md. Differs: hashes are documented in the order they are sent in, display order.
[[nodiscard]] BLOCKPUB_API Result<std::unique_ptr<Notifier>> make_core_notifier(std::string_view topic);

struct PublisherOptions {
    /// `tcp://host:port` (host may be `*`, an IPv4 address, an IPv6 literal in brackets), `ipc://path`,
    /// `unix:path`; port `*` lets the system choose.
    std::string endpoint;
    /// Messages that libzmq queues for each subscriber before it drops; 0 is no limit on our side.
    int high_water_mark = 1000;
    /// How long unsent messages may hold up the end.
    std::chrono::milliseconds linger{500};
    /// First and longest wait before a failed read or send is tried again.
    std::chrono::milliseconds retry_first{50};
    std::chrono::milliseconds retry_longest{5000};
    /// Called by order of registration at each point of an event; see Notifier.
    std::vector<std::unique_ptr<Notifier>> notifiers;
};

/// What a publisher has done, for metrics; a copy of one moment.
struct PublisherStatus {
    struct Topic {
        std::string topic;
        std::uint64_t messages = 0;
        std::uint64_t bytes = 0;
    };
    std::string endpoint;            ///< as bound, with the port that the system chose
    EventIndex next_index = 0;       ///< the log record that comes next
    std::uint64_t read_failures = 0;
    std::uint64_t send_failures = 0;
    std::uint64_t notifier_failures = 0; ///< errors that a notifier itself made, exceptions among them
    std::uint64_t blocks_given_up = 0;   ///< blocks whose messages were left out: the store cannot give them
    std::uint64_t mempool_events_lost = 0;
    std::uint64_t connections = 0;   ///< open just now; a peer that says nothing is one of them for ten seconds
    bool failing = false;            ///< the last attempt failed; it is being tried again
    std::string last_error;          ///< empty when nothing ever failed
    std::vector<Topic> topics;
};

/// Owns one PUB socket and the thread that serves it: takes events from its own cursor, has its notifiers render
/// them, sends. A read or a send that fails is tried again from the same place, and nothing is sent twice; a notifier
/// is never removed. A block that the store cannot give for good (pruned, damaged, unreadable for minutes) is given
/// up: its messages are left out, and the counter of each topic they belong to skips one number to show it.
///
/// Thread safety: every method from any thread.
/// Ownership: borrows bus, reader and logger, which must outlive it; owns its notifiers and the socket.
/// Blocking: the destructor waits for the thread (bounded by `linger`).
class BLOCKPUB_API Publisher {
   public:
    /// Binds before it returns, so that nothing released later is missed by who is connected.
    /// Errors: invalid_argument (malformed endpoint), busy (port or path taken), limit (path too long), io.
    /// The context names endpoint and reason.
    [[nodiscard]] static Result<std::unique_ptr<Publisher>> bind(PublisherOptions options, Bus& bus,
                                                                 BlockReader& reader, Logger& logger);
    virtual ~Publisher() = default;
    [[nodiscard]] virtual PublisherStatus status() const = 0;
    /// Sends what was released until now (for no longer than `linger`), then closes.
    virtual void stop() = 0;
};

}  // namespace blockpub
