// SPDX-License-Identifier: MIT
#pragma once

#include "base/log.hpp"
#include "base/mutex.hpp"
#include "query/http_server.hpp"
#include "query/worker_pool.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

namespace blockpub {

class HttpConnection;

/// Bytes that may be held at once; who gets none waits for its turn.
/// Thread safety: every method from any thread. Blocking: never.
class ByteBudget {
 public:
    explicit ByteBudget(std::size_t limit) : limit_(limit), left_(limit) {}

    /// Takes `bytes` (or all there is, if more than the limit). Result: false when others come first;
    /// `granted` is then called once, by the thread that gives enough back, after the bytes have been taken
    /// for the caller.
    [[nodiscard]] bool take(std::size_t bytes, std::function<void()> granted) BLOCKPUB_EXCLUDES(mutex_);
    void give_back(std::size_t bytes) BLOCKPUB_EXCLUDES(mutex_);
    /// Forgets who waits; their `granted` is destroyed uncalled.
    void drop_waiters() BLOCKPUB_EXCLUDES(mutex_);

 private:
    struct Waiter {
        std::size_t bytes;
        std::function<void()> granted;
    };
    const std::size_t limit_;
    Mutex mutex_;
    std::size_t left_ BLOCKPUB_GUARDED_BY(mutex_);
    std::deque<Waiter> waiters_ BLOCKPUB_GUARDED_BY(mutex_);
};

/// Memory of replies. How large one becomes is known when it has been made, so a share may grow then, beyond
/// the limit if need be; until there is room again nobody else gets one.
/// Thread safety: every method from any thread. Blocking: never.
class ReplyBudget {
 public:
    explicit ReplyBudget(std::size_t limit) : limit_(limit) {}

    /// As ByteBudget::take.
    [[nodiscard]] bool take(std::size_t bytes, std::function<void()> granted) BLOCKPUB_EXCLUDES(mutex_);
    /// Replaces a share by one of another size.
    void change(std::size_t before, std::size_t after) BLOCKPUB_EXCLUDES(mutex_);
    void drop_waiters() BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] std::size_t held() const BLOCKPUB_EXCLUDES(mutex_);

 private:
    struct Waiter {
        std::size_t bytes;
        std::function<void()> granted;
    };
    const std::size_t limit_;
    mutable Mutex mutex_;
    std::size_t held_ BLOCKPUB_GUARDED_BY(mutex_) = 0;
    std::deque<Waiter> waiters_ BLOCKPUB_GUARDED_BY(mutex_);
};

/// The open connections, for those who look after all of them.
/// Thread safety: every method from any thread.
class HttpConnections {
 public:
    void add(HttpConnection* connection, std::weak_ptr<HttpConnection> handle) BLOCKPUB_EXCLUDES(mutex_);
    /// Result: how many are left.
    std::size_t remove(HttpConnection* connection) BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] std::size_t size() const BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] std::vector<std::shared_ptr<HttpConnection>> all() const BLOCKPUB_EXCLUDES(mutex_);
    /// Result: whether all were gone before `deadline`.
    bool wait_until_empty(std::chrono::steady_clock::time_point deadline) BLOCKPUB_EXCLUDES(mutex_);

 private:
    mutable Mutex mutex_;
    CondVar gone_;
    std::unordered_map<HttpConnection*, std::weak_ptr<HttpConnection>> open_ BLOCKPUB_GUARDED_BY(mutex_);
};

/// What the connections of one server share.
struct HttpCore {
    HttpCore(HttpServerOptions o, HttpService& s, Logger& logger)
        : options(std::move(o)),
          service(s),
          log(&logger, LogCategory::http),
          budget(options.body_budget),
          replies(options.reply_budget) {}

    const HttpServerOptions options;
    HttpService& service;
    const Log log;
    ByteBudget budget;
    ReplyBudget replies;
    HttpConnections connections;
    std::function<void()> connection_closed;  ///< set before the first connection
    std::atomic<bool> stopping{false};
    std::atomic<std::uint64_t> accepted{0};
    std::atomic<std::uint64_t> requests{0};
    std::atomic<std::uint64_t> malformed{0};
    std::atomic<std::uint64_t> timeouts{0};
    std::atomic<std::uint64_t> evicted{0};
    WorkerPool* chain_pool = nullptr;
    WorkerPool* forward_pool = nullptr;
    WorkerPool* wait_pool = nullptr;
    WorkerPool* scan_pool = nullptr;

    /// Requires: not Lane::here.
    [[nodiscard]] WorkerPool& pool_of(Lane lane) const {
        if (lane == Lane::scan) return *scan_pool;
        if (lane == Lane::forward) return *forward_pool;
        return lane == Lane::chain ? *chain_pool : *wait_pool;
    }
};

}  // namespace blockpub
