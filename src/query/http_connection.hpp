// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"
#include "query/http_chunks.hpp"
#include "query/http_core.hpp"
#include "query/http_outbox.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>  // before Asio, which relies on it
#include <vector>

namespace blockpub {

/// One client: takes a request from its socket, has it answered, sends the reply, and only then looks at the
/// next.
///
/// At most one asynchronous operation (a read, a wait to write, a delay, a job on another lane) is under way;
/// its completion runs the next step. That chain of steps is the strand: nothing but `interrupt`,
/// `finish_soon`, `check_progress` and what a job asks of its request comes from outside it.
///
/// Thread safety: those three from any thread; everything else on the chain of steps.
/// Ownership: lives by the operation under way; borrows the core.
/// Blocking: never.
class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
    using Socket = boost::asio::ip::tcp::socket;

    HttpConnection(Socket socket, HttpCore& core, IpAddress peer, std::string peer_name);
    ~HttpConnection();

    void start();
    /// Shuts the socket down, so that whatever is under way on it ends.
    void interrupt() BLOCKPUB_EXCLUDES(socket_mutex_);
    /// Ends the connection now if it is idle, else behind the reply it waits for.
    void finish_soon() BLOCKPUB_EXCLUDES(socket_mutex_);
    /// Interrupts a connection that has made no progress for longer than the time-out. Progress is every byte
    /// moved, and every byte that the peer has acknowledged. Result: whether it did.
    bool check_progress(std::chrono::steady_clock::time_point now) BLOCKPUB_EXCLUDES(socket_mutex_);
    using Time = std::chrono::steady_clock::time_point;
    /// Since when it has kept a place without use: no password shown, no request whole. Nothing while it is
    /// of use.
    [[nodiscard]] std::optional<Time> idle_since() const;

 private:
    static std::int64_t steady_milliseconds(Time time) {
        return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
    }

    enum class Step : std::uint8_t { head, body, discard, job, linger };
    /// What the connection waits for, as `check_progress` sees it.
    enum class Waits : std::uint8_t { next_request, head, body, socket, service, close };

    // Each of these returns whether the next step can be taken at once; if not, an operation is under way
    // that will, or the connection is at its end.
    bool take_head();
    bool take_body();
    bool take_discarded();
    bool begin_body();
    bool take_share(std::size_t bytes);
    bool answer();
    bool take_job();
    bool run_job(HttpJob job);
    bool refuse(HttpRefusal refusal);
    bool deliver_refusal();
    bool respond(HttpResponse response);
    bool reject(int status, std::string_view reason);
    bool flush();
    bool read_more();
    bool receive_body(std::size_t whole);
    bool linger();

    enum class Sent : std::uint8_t { all, blocked, failed };
    Sent send_some();
    void run();
    void read_into(void* data, std::size_t size, std::size_t& filled);
    void make_room();
    [[nodiscard]] std::string_view buffered() const { return {in_.data() + begin_, end_ - begin_}; }
    void consume(std::size_t size);
    void forget_request();
    void hold_reply(std::size_t bytes);
    void close() BLOCKPUB_EXCLUDES(socket_mutex_);
    [[nodiscard]] bool departed() BLOCKPUB_EXCLUDES(socket_mutex_);
    void set_waits(Waits waits) { waits_.store(waits); }
    void progress();

    // Constant after construction.
    HttpCore& core_;
    const Time first_since_;  // when it began

    // Internally synchronised.
    std::atomic<Waits> waits_{Waits::next_request};
    std::atomic<std::int64_t> last_progress_;  // steady clock, milliseconds
    std::atomic<std::int64_t> unacknowledged_{0};
    std::atomic<Time> request_since_;   // when it began to wait for the request
    std::atomic<bool> trusted_{false};  // has shown a password

    // Only in check_progress, which one thread calls.
    bool given_up_ = false;

    // Guarded: the handle must not be closed under who shuts it down.
    Mutex socket_mutex_;
    bool open_ BLOCKPUB_GUARDED_BY(socket_mutex_) = true;

    // Only on the chain of steps.
    Socket socket_;
    std::optional<boost::asio::steady_timer> timer_;
    Step step_ = Step::head;
    std::vector<char> in_;  // [begin_, end_) has been read and not been looked at
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    std::size_t scanned_ = 0;  // of what is buffered, without a head's end
    HttpRequest request_;
    std::optional<ChunkDecoder> chunks_;
    std::size_t budget_held_ = 0;
    std::optional<HttpRefusal> refusal_;
    std::uint64_t discarded_ = 0;
    std::optional<HttpJob> job_;  // that waits for room for its reply
    std::size_t reply_held_ = 0;  // of the budget of replies
    std::size_t job_share_ = 0;   // the part of it that stands for a reply not made yet
    HttpOutbox out_;
    bool close_after_ = false;
};

}  // namespace blockpub
