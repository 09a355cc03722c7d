// SPDX-License-Identifier: MIT
#include "query/http_exchange.hpp"

#include "query/http_reply.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>  // before Asio, which relies on it

namespace blockpub {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr std::chrono::milliseconds kBetweenQuestions{100};

/// One exchange. Its steps run on the thread that calls `run`, and none is under way when that has returned:
/// the context drops what it has not called.
class Exchange {
 public:
    using Outcome = std::expected<HttpExchangeReply, HttpExchangeFailure>;
    using Kind = HttpExchangeFailure::Kind;

    explicit Exchange(const HttpExchange& what)
        : what_(what),
          work_(asio::make_work_guard(context_)),
          resolver_(context_),
          socket_(context_),
          decoder_(what.max_body) {}

    Outcome run() {
        resolve();
        while (!outcome_) {
            const auto now = std::chrono::steady_clock::now();
            if (what_.stopping()) {
                end(Kind::stopped, "shutting down");
            } else if (now >= what_.deadline) {
                end(Kind::timeout, "no reply in time");
            } else {
                context_.run_one_until(std::min(what_.deadline, now + kBetweenQuestions));
            }
        }
        return std::move(*outcome_);
    }

 private:
    void end(Kind kind, std::string reason) {
        if (!outcome_)
            outcome_ = std::unexpected(
                HttpExchangeFailure{.kind = kind, .sent = sent_, .reason = std::move(reason)});
    }

    void resolve() {
        resolver_.async_resolve(what_.host, std::to_string(what_.port),
                                [this](const error_code& error, const tcp::resolver::results_type& found) {
                                    if (error) return end(Kind::unreachable, error.message());
                                    connect(found);
                                });
    }
    void connect(const tcp::resolver::results_type& found) {
        asio::async_connect(socket_, found, [this](const error_code& error, const tcp::endpoint&) {
            if (error) return end(Kind::unreachable, error.message());
            send();
            receive();
        });
    }
    /// A server that refuses a request may reply before it has read all of it: both ways go at once.
    void send() {
        asio::async_write(socket_, asio::buffer(what_.request),
                          [this](const error_code& error, std::size_t) { sent_ = !error; });
    }
    void receive() {
        socket_.async_read_some(asio::buffer(buffer_),
                                [this](const error_code& error, std::size_t size) { received(error, size); });
    }
    void received(const error_code& error, std::size_t size) {
        auto state = decoder_.state();
        if (size != 0) state = decoder_.feed(std::string_view(buffer_.data(), size));
        if (error == asio::error::eof && state == HttpReplyDecoder::State::more) state = decoder_.finish();
        if (state == HttpReplyDecoder::State::done) {
            outcome_ = HttpExchangeReply{.status = decoder_.status(), .body = std::move(decoder_.body())};
        } else if (state == HttpReplyDecoder::State::failed) {
            end(Kind::broken, decoder_.error());
        } else if (error) {
            end(Kind::broken, "the connection broke: " + error.message());
        } else {
            receive();
        }
    }

    const HttpExchange& what_;
    std::optional<Outcome> outcome_;
    bool sent_ = false;
    std::array<char, 65536> buffer_;
    asio::io_context context_{1};
    asio::executor_work_guard<asio::io_context::executor_type> work_;
    tcp::resolver resolver_;
    tcp::socket socket_;
    HttpReplyDecoder decoder_;
};

}  // namespace

std::expected<HttpExchangeReply, HttpExchangeFailure> exchange_http(const HttpExchange& exchange) {
    return Exchange(exchange).run();
}

}  // namespace blockpub
