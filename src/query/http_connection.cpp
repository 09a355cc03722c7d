// SPDX-License-Identifier: MIT
#include "query/http_connection.hpp"

#include <algorithm>
#include <ctime>
#include <exception>

namespace blockpub {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::size_t kSmallBody = 64 * 1024;         // needs no share of the budget
constexpr std::uint64_t kMaxDiscarded = 1024 * 1024;  // of a body that was refused, to keep the connection
constexpr unsigned kTurn = 64;                        // requests in a row before others get a turn
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

HttpResponse plain_response(int status, std::string_view text) {
    HttpResponse response;
    response.status = status;
    response.content_type = "text/plain";
    response.text = std::string(text) + "\r\n";
    response.close = true;
    return response;
}

}  // namespace

HttpConnection::HttpConnection(Socket socket, HttpCore& core, IpAddress peer, std::string peer_name)
    : core_(core),
      first_since_(std::chrono::steady_clock::now()),
      last_progress_(steady_milliseconds(first_since_)),
      request_since_(first_since_),
      socket_(std::move(socket)) {
    request_.peer = peer;
    request_.peer_name = std::move(peer_name);
    request_.departed = [this] { return departed(); };
}

HttpConnection::~HttpConnection() {
    forget_request();
    hold_reply(0);
    close();
    core_.connections.remove(this);
    core_.connection_closed();
}

void HttpConnection::start() {
    error_code ignored;
    socket_.non_blocking(true, ignored);
    socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
    socket_.set_option(asio::socket_base::keep_alive(true), ignored);
    run();
}

// The chain of steps.

void HttpConnection::run() {
    for (unsigned steps = 0; steps < 2 * kTurn; ++steps) {
        bool go_on = false;
        switch (step_) {
            case Step::head:
                go_on = take_head();
                break;
            case Step::body:
                go_on = take_body();
                break;
            case Step::discard:
                go_on = take_discarded();
                break;
            case Step::job:
                go_on = take_job();
                break;
            case Step::linger:
                go_on = linger();
                break;
        }
        if (!go_on) return;
    }
    asio::post(socket_.get_executor(), [self = shared_from_this()] { self->run(); });
}

bool HttpConnection::take_head() {
    if (const std::size_t blank = leading_blank_lines(buffered()); blank > 0) {
        consume(blank);
        scanned_ = 0;
    }
    const auto size = find_head_end(buffered(), scanned_);
    if (size.value_or(buffered().size()) > kMaxHttpHead) {
        request_.head.clear();
        return reject(400, "request head too large");
    }
    if (!size) {
        set_waits(buffered().empty() ? Waits::next_request : Waits::head);
        // Set first, asked then: `stop` does the same the other way round, and one of the two sees the other.
        if (core_.stopping && buffered().empty() && out_.empty()) return close(), false;
        return read_more();
    }
    request_.head_text.assign(buffered().substr(0, *size));
    consume(*size);
    scanned_ = 0;
    const auto parsed = parse_http_head(request_.head_text, request_.head);
    if (!parsed) return reject(parsed.error().status, parsed.error().reason);
    core_.requests.fetch_add(1, std::memory_order_relaxed);
    core_.log.debug("{}: {} {}", request_.peer_name, request_.head.method, request_.head.target);

    const HttpHead& head = request_.head;
    static constexpr std::string_view kMethods[] = {"GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS"};
    if (std::ranges::find(kMethods, head.method) == std::end(kMethods))
        return reject(501, "method not known");
    if (head.expect == HttpHead::Expect::other) return reject(417, "expectation not known");
    const bool has_body = head.framing != HttpHead::Framing::none &&
                          (head.framing == HttpHead::Framing::chunked || head.content_length > 0);
    request_.max_body = core_.options.max_body;
    const auto too_large = [&] {
        return head.framing == HttpHead::Framing::length && head.content_length > request_.max_body;
    };
    if (too_large()) return reject(413, "request body too large");
    if (has_body && head.framing == HttpHead::Framing::chunked) {
        chunks_.emplace(request_.max_body);
        if (head.minor_version == 0) close_after_ = true;
    }
    try {
        if (auto refusal = core_.service.admit(request_)) return refuse(std::move(*refusal));
        if (!request_.user.empty()) trusted_.store(true, std::memory_order_relaxed);
    } catch (const std::exception& failure) {
        core_.log.error("a request was not admitted: {}", failure.what());
        return reject(500, "internal error");
    }
    if (too_large()) return reject(413, "request body too large");
    if (chunks_) chunks_.emplace(request_.max_body);  // which may be less than before
    return has_body ? begin_body() : answer();
}

bool HttpConnection::begin_body() {
    const HttpHead& head = request_.head;
    if (head.expect == HttpHead::Expect::go_on && head.minor_version >= 1 && buffered().empty())
        out_.buffer() += kContinue;
    step_ = Step::body;
    request_.body.clear();
    set_waits(Waits::body);
    if (chunks_ || head.content_length <= kSmallBody) return true;
    return take_share(static_cast<std::size_t>(head.content_length));
}

bool HttpConnection::take_share(std::size_t bytes) {
    set_waits(Waits::service);
    const auto granted = [self = shared_from_this(), bytes] {
        self->budget_held_ = bytes;
        asio::post(self->socket_.get_executor(), [self] {
            self->progress();
            self->set_waits(Waits::body);
            self->run();
        });
    };
    if (!core_.budget.take(bytes, granted)) return false;
    budget_held_ = bytes;
    set_waits(Waits::body);
    return true;
}

bool HttpConnection::take_body() {
    if (chunks_) {
        std::string_view input = buffered();
        const std::size_t before = input.size();
        const auto state = chunks_->feed(input, &request_.body);
        consume(before - input.size());
        if (state == ChunkDecoder::State::malformed) return reject(400, "malformed chunk");
        if (state == ChunkDecoder::State::too_large) return reject(413, "request body too large");
        if (state == ChunkDecoder::State::done) return answer();
        // How long it will be is not known: it gets a share for the largest, or several could each wait for
        // what the others hold.
        if (request_.body.size() > kSmallBody && budget_held_ == 0 && !take_share(request_.max_body))
            return false;
        return read_more();
    }
    const auto whole = static_cast<std::size_t>(request_.head.content_length);
    std::string& body = request_.body;
    // Room for all of a body that has its share of the budget: pages that nothing arrives for take no memory.
    if (budget_held_ > 0) body.reserve(whole);
    const std::size_t at_hand = std::min(whole - body.size(), buffered().size());
    body.append(buffered().substr(0, at_hand));
    consume(at_hand);
    if (body.size() == whole) return answer();
    if (!out_.empty() && !flush()) return false;
    return receive_body(whole);
}

bool HttpConnection::take_discarded() {
    std::string_view input = buffered();
    const std::size_t before = input.size();
    bool done = false;
    if (chunks_) {
        const auto state = chunks_->feed(input, nullptr);
        done = state == ChunkDecoder::State::done;
        if (state == ChunkDecoder::State::malformed || state == ChunkDecoder::State::too_large) {
            refusal_->response.close = done = true;
        }
    } else {
        input.remove_prefix(static_cast<std::size_t>(
            std::min<std::uint64_t>(input.size(), request_.head.content_length - discarded_)));
    }
    discarded_ += before - input.size();
    consume(before - input.size());
    if (!chunks_) done = discarded_ == request_.head.content_length;
    if (!done && discarded_ > kMaxDiscarded) refusal_->response.close = done = true;
    if (done) return deliver_refusal();
    return read_more();
}

bool HttpConnection::answer() {
    set_waits(Waits::service);
    std::optional<HttpAnswer> answer;
    try {
        answer = core_.service.answer(request_);
    } catch (const std::exception& failure) {
        core_.log.error("a request could not be answered: {}", failure.what());
        return reject(500, "internal error");
    }
    if (auto* response = std::get_if<HttpResponse>(&*answer)) return respond(std::move(*response));
    job_ = std::move(std::get<HttpJob>(*answer));
    step_ = Step::job;
    return true;
}

bool HttpConnection::take_job() {
    if (job_->reply_bytes == 0) return run_job(*std::exchange(job_, std::nullopt));
    // What is gathered goes first: who waits for room must not hold any.
    if (!out_.empty() && !flush()) return false;
    set_waits(Waits::service);
    const std::size_t bytes = job_->reply_bytes;
    const auto granted = [self = shared_from_this(), bytes] {
        asio::post(self->socket_.get_executor(), [self, bytes] {
            self->reply_held_ = self->job_share_ = bytes;
            self->progress();
            if (self->run_job(*std::exchange(self->job_, std::nullopt))) self->run();
        });
    };
    if (!core_.replies.take(bytes, granted)) return false;
    reply_held_ = job_share_ = bytes;
    return run_job(*std::exchange(job_, std::nullopt));
}

bool HttpConnection::run_job(HttpJob job) {
    set_waits(Waits::service);
    const auto run = [this](const std::function<HttpResponse()>& make) {
        try {
            return make();
        } catch (const std::exception& failure) {
            core_.log.error("a request could not be answered: {}", failure.what());
            return plain_response(500, "internal error");
        }
    };
    if (job.lane == Lane::here) return respond(run(job.run));
    if (send_some() == Sent::failed) return close(), false;
    core_.pool_of(job.lane).run([self = shared_from_this(), run, make = std::move(job.run)] {
        auto response = std::make_shared<HttpResponse>(run(make));
        asio::post(self->socket_.get_executor(), [self, response] {
            if (self->respond(std::move(*response))) self->run();
        });
    });
    return false;
}

bool HttpConnection::refuse(HttpRefusal refusal) {
    refusal_ = std::move(refusal);
    discarded_ = 0;
    const HttpHead& head = request_.head;
    const bool has_body = chunks_ || head.content_length > 0;
    if (!has_body) return deliver_refusal();
    if (head.expect == HttpHead::Expect::go_on || head.content_length > kMaxDiscarded) {
        refusal_->response.close = true;
        return deliver_refusal();
    }
    step_ = Step::discard;
    set_waits(Waits::socket);
    return true;
}

bool HttpConnection::deliver_refusal() {
    HttpRefusal refusal = std::move(*refusal_);
    refusal_.reset();
    if (refusal.delay.count() == 0) return respond(std::move(refusal.response));
    if (send_some() == Sent::failed) return close(), false;
    set_waits(Waits::service);
    if (!timer_) timer_.emplace(socket_.get_executor());
    timer_->expires_after(refusal.delay);
    auto response = std::make_shared<HttpResponse>(std::move(refusal.response));
    timer_->async_wait([self = shared_from_this(), response](const error_code&) {
        if (self->respond(std::move(*response))) self->run();
    });
    return false;
}

bool HttpConnection::reject(int status, std::string_view reason) {
    core_.malformed.fetch_add(1, std::memory_order_relaxed);
    core_.log.debug("{}: refused with {}: {}", request_.peer_name, status, reason);
    return respond(plain_response(status, reason));
}

bool HttpConnection::respond(HttpResponse response) {
    const HttpHead& head = request_.head;
    if (core_.stopping.load(std::memory_order_relaxed) || close_after_) response.close = true;
    close_after_ = response.close || !head.keeps_alive();
    append_response_head(out_.buffer(), response, head, std::time(nullptr));
    const bool has_body = response_has_body(response.status, head.method);
    // What is joined to the head is bounded by itself.
    const std::size_t memory = has_body && response.body_size() > HttpOutbox::kJoined ? response.memory() : 0;
    if (memory > 0 || job_share_ > 0) hold_reply(reply_held_ - std::exchange(job_share_, 0) + memory);
    if (has_body) out_.add_body(std::move(response));
    forget_request();
    request_since_.store(std::chrono::steady_clock::now(), std::memory_order_relaxed);
    step_ = close_after_ ? Step::linger : Step::head;
    if (!close_after_ && !buffered().empty() && out_.takes_more()) return true;
    set_waits(Waits::socket);
    return flush();
}

void HttpConnection::hold_reply(std::size_t bytes) {
    if (bytes == reply_held_) return;
    core_.replies.change(std::exchange(reply_held_, bytes), bytes);
}

void HttpConnection::forget_request() {
    request_.user.clear();
    if (request_.body.capacity() > kSmallBody) {
        request_.body = std::string();
    } else {
        request_.body.clear();
    }
    chunks_.reset();
    if (budget_held_ > 0) core_.budget.give_back(std::exchange(budget_held_, 0));
}

}  // namespace blockpub
