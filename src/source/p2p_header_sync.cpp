// SPDX-License-Identifier: MIT
#include "source/p2p_header_sync.hpp"

#include <fmt/format.h>

#include <random>
#include <utility>

namespace blockpub {
namespace {

/// After so long without headers they are asked for, whatever was announced.
constexpr std::chrono::seconds kAskAgain{120};
constexpr unsigned kMostStranded = 10;   // messages that do not connect
constexpr unsigned kMostUnknown = 1000;  // blocks announced whose headers never come
/// Headers that are taken ahead of blocks: where making them costs nothing, far fewer.
constexpr std::uint32_t kMostAhead = 5'000'000;
constexpr std::uint32_t kMostAheadRegtest = 50'000;

SipHashKey random_key() {
    std::random_device device;
    const auto word = [&] { return std::uint64_t{device()} << 32 | device(); };
    return {word(), word()};
}

/// From the parent of the peer's best header on, or of ours: a peer that has nothing better shows it by
/// sending that.
std::vector<BlockHash> opening_locator(const HeaderDesk& desk, const std::optional<HeaderDesk::Point>& best) {
    return desk.locator(desk.before(best ? best->hash : desk.best_header().hash));
}

HeaderAnswer about_chain(const HeaderDesk& desk, HeaderAnswer answer) {
    answer.tip = desk.tip();
    answer.headers_first = desk.headers_first();
    if (answer.last) answer.missing = desk.missing_blocks(answer.last->hash, kDownloadReach);
    return answer;
}

std::unexpected<Error> too_little_work(Height height) {
    return fail(
        Errc::unavailable,
        fmt::format("its chain, of height {}, has less work than a chain must have (-minimumchainwork), "
                    "or far less than ours: is it still catching up?",
                    height.value));
}

HeaderAnswer take_headers(HeaderDesk& desk, const std::vector<BlockHeader>& headers, bool examined,
                          bool end) {
    using Kind = HeaderAnswer::Kind;
    const auto start = desk.find(headers.front().previous);
    if (!start)
        return about_chain(desk, {.kind = Kind::stranded, .locator = opening_locator(desk, std::nullopt)});
    Uint256 work = start->chainwork;
    for (const BlockHeader& header : headers) work = work + block_work(header.bits);
    const Uint256 least = desk.least_work();
    // Headers that are in the tree already cost nothing.
    if (!examined && work < least && !desk.find(headers.back().hash()))
        return about_chain(desk, {.kind = Kind::low_work, .start = *start, .least_work = least});
    HeaderDesk::Taken taken = desk.take(headers);
    HeaderAnswer answer{.kind = Kind::taken, .last = taken.last, .rejection = std::move(taken.rejection)};
    if (answer.last) answer.locator = desk.locator(answer.last->hash);
    if (end && answer.last && !answer.rejection) desk.headers_end(answer.last->hash);
    return about_chain(desk, std::move(answer));
}

}  // namespace

HeaderSync::HeaderSync(const ChainParams& params, std::chrono::milliseconds timeout, HeaderSyncHost& host)
    : params_(params), timeout_(timeout), host_(host) {}

std::optional<Height> HeaderSync::presync_height() const {
    if (!presync_) return std::nullopt;
    return presync_->height();
}

void HeaderSync::ask_chain(HeaderSyncHost::Question question) {
    asking_chain_ = true;
    host_.ask_chain(std::move(question));
}

void HeaderSync::begin(Time now) {
    last_asked_ = now;
    ask_chain([best = best_](HeaderDesk& desk) {
        return about_chain(desk,
                           {.kind = HeaderAnswer::Kind::locator, .locator = opening_locator(desk, best)});
    });
}

void HeaderSync::begin_anew(Time now) {
    best_.reset();
    last_asked_ = now - kAskAgain;
}

void HeaderSync::request(std::vector<BlockHash> locator, Time now) {
    asked_since_ = now;
    last_asked_ = now;
    if (locator.size() > kMaxLocator) locator.resize(kMaxLocator);
    host_.send_get_headers({.locator = std::move(locator), .stop = {}});
}

/// What costs no look at the tree: a chain of headers with the work that they claim.
Result<void> HeaderSync::check_alone(const std::vector<BlockHeader>& headers) const {
    BlockHash previous = headers.front().previous;
    for (const BlockHeader& header : headers) {
        if (header.previous != previous)
            return fail(Errc::corrupt, "it sent headers that do not follow one another");
        previous = header.hash();
        if (!meets_proof_of_work(previous, header.bits, params_.pow_limit))
            return fail(Errc::corrupt, "it sent a header without proof of work (high-hash)");
    }
    return {};
}

Result<void> HeaderSync::take(std::vector<BlockHeader> headers, Time now) {
    return take(Message{.headers = std::move(headers), .unchecked = false}, now);
}

Result<void> HeaderSync::take_unchecked(const BlockHeader& header, Time now) {
    return take(Message{.headers = {header}, .unchecked = true}, now);
}

Result<void> HeaderSync::take(Message message, Time now) {
    if (asking_chain_) {
        kept_.push_back(std::move(message));
        return {};
    }
    return process(std::move(message), now);
}

Result<void> HeaderSync::process(Message message, Time now) {
    std::vector<BlockHeader>& headers = message.headers;
    unchecked_ = message.unchecked;
    asked_before_ = asked_since_;
    // A block that is passed on answers no question.
    if (!unchecked_) asked_since_.reset();
    if (headers.empty()) {
        if (presync_ && presync_->second_look())
            return fail(Errc::corrupt, "it sent fewer headers than before");
        // The last message of the first look was full, and there was nothing behind it.
        if (presync_) return too_little_work(presync_->height());
        if (std::exchange(more_, false) && best_) ask_about_end();
        return {};
    }
    if (auto checked = check_alone(headers); !checked) return checked;
    const bool more = headers.size() == kMaxHeaders;
    // A block that was announced meanwhile: the answer to getheaders is still to come.
    if (presync_ && asked_before_ && (unchecked_ || !presync_->continues(headers.front())))
        return headers_beside();
    if (presync_) return go_through_presync(headers, more, now);
    if (!asked_since_) more_ = more;
    hand_in(std::make_shared<std::vector<BlockHeader>>(std::move(headers)), false);
    return {};
}

/// `examined`: they are known to lead to a chain with work.
void HeaderSync::hand_in(std::shared_ptr<std::vector<BlockHeader>> headers, bool examined) {
    in_hand_ = headers;
    const bool end = !more_ && !asked_since_;
    ask_chain([headers = std::move(headers), examined, end](HeaderDesk& desk) {
        return take_headers(desk, *headers, examined, end);
    });
}

/// The last message of headers was full, and yet nothing came behind it.
void HeaderSync::ask_about_end() {
    ask_chain([last = *best_](HeaderDesk& desk) {
        desk.headers_end(last.hash);
        return about_chain(desk, {.kind = HeaderAnswer::Kind::taken, .last = last});
    });
}

Result<void> HeaderSync::go_through_presync(const std::vector<BlockHeader>& headers, bool more, Time now) {
    auto step = presync_->take(headers, more);
    if (!step) return forward_error(step);
    if (step->too_little_work) return too_little_work(presync_->height());
    stranded_ = 0;
    if (step->ask_from) request({*step->ask_from}, now);
    more_ = more && !step->ask_from;
    if (!step->ask_from) presync_.reset();
    if (!step->release.empty())
        hand_in(std::make_shared<std::vector<BlockHeader>>(std::move(step->release)), true);
    return {};
}

Result<void> HeaderSync::announced(const BlockHash& hash) {
    if (++unknown_ > kMostUnknown)
        return fail(Errc::corrupt,
                    fmt::format("it announced {} blocks and sent no headers of them", unknown_));
    if (asking_chain_) {
        // One is as good as many: the headers that come are those of all.
        kept_announcement_ = hash;
    } else {
        look_up(hash);
    }
    return {};
}

void HeaderSync::look_up(const BlockHash& hash) {
    ask_chain([hash, best = best_](HeaderDesk& desk) {
        using Kind = HeaderAnswer::Kind;
        const auto point = desk.find(hash);
        if (point) return about_chain(desk, {.kind = Kind::known, .last = point});
        return about_chain(desk, {.kind = Kind::unknown, .locator = opening_locator(desk, best)});
    });
}

Result<void> HeaderSync::headers_taken(const HeaderAnswer& answer, Time now) {
    if (answer.last) {
        best_ = answer.last;
        best_unchecked_ = unchecked_;
        unknown_ = 0;
        stranded_ = 0;
        host_.peer_chain_changed(answer);
    }
    if (answer.rejection) {
        // The clocks differ, and time heals it.
        if (answer.rejection->kind == Rejection::Kind::time_future) return {};
        // An operator may have said so (invalidateblock), and may take it back: it is called again soon.
        const auto kind = answer.rejection->kind;
        // Others pass on what the first one did, before any of them can know (BIP 152).
        if (kind == Rejection::Kind::cached_invalid && unchecked_) return {};
        if (kind == Rejection::Kind::cached_invalid || kind == Rejection::Kind::invalid_previous)
            return fail(Errc::unavailable, "its chain has a block that is invalid here");
        return fail(Errc::corrupt, fmt::format("it sent an invalid header: {}", answer.rejection->text()));
    }
    if (!more_ || !answer.last || asked_since_) return {};
    const bool few = params_.no_retargeting && !answer.headers_first;
    const std::uint32_t ahead = few ? kMostAheadRegtest : kMostAhead;
    if (answer.last->height.value > answer.tip.height.value + ahead) {
        paused_at_ = answer.last->hash;
        return {};
    }
    request(answer.locator, now);
    return {};
}

/// Headers that do not connect are no answer to getheaders: one that was under way still is.
Result<void> HeaderSync::headers_beside() {
    if (++stranded_ > kMostStranded)
        return fail(Errc::corrupt, "it sent headers that do not connect, again and again");
    if (!asked_since_) asked_since_ = asked_before_;
    return {};
}

Result<void> HeaderSync::headers_stranded(const HeaderAnswer& answer, Time now) {
    auto counted = headers_beside();
    if (counted && !asked_since_) request(answer.locator, now);
    return counted;
}

Result<void> HeaderSync::headers_without_work(const HeaderAnswer& answer, Time now) {
    if (unchecked_) return {};
    if (!more_)
        return too_little_work({answer.start.height.value + static_cast<std::uint32_t>(in_hand_->size())});
    presync_.emplace(params_, answer.start, answer.least_work, host_.now_seconds(), random_key());
    return go_through_presync(*std::exchange(in_hand_, nullptr), true, now);
}

Result<void> HeaderSync::answer(HeaderAnswer answer, Time now) {
    asking_chain_ = false;
    Result<void> done;
    switch (answer.kind) {
        case HeaderAnswer::Kind::locator:
            paused_at_.reset();
            if (!asked_since_) request(std::move(answer.locator), now);
            break;
        case HeaderAnswer::Kind::taken:
            done = headers_taken(answer, now);
            break;
        case HeaderAnswer::Kind::stranded:
            done = headers_stranded(answer, now);
            break;
        case HeaderAnswer::Kind::low_work:
            done = headers_without_work(answer, now);
            break;
        case HeaderAnswer::Kind::known:
            unknown_ = 0;
            if (!best_ || best_->chainwork < answer.last->chainwork) {
                best_ = answer.last;
                best_unchecked_ = false;
                host_.peer_chain_changed(answer);
            }
            break;
        case HeaderAnswer::Kind::unknown:
            if (!asked_since_) request(std::move(answer.locator), now);
            break;
    }
    if (!asking_chain_) in_hand_.reset();
    if (!done) return done;
    return process_next(now);
}

Result<void> HeaderSync::process_next(Time now) {
    while (!asking_chain_ && !kept_.empty()) {
        Message message = std::move(kept_.front());
        kept_.pop_front();
        if (auto processed = process(std::move(message), now); !processed) return processed;
    }
    if (!asking_chain_ && kept_announcement_) look_up(*std::exchange(kept_announcement_, std::nullopt));
    return {};
}

void HeaderSync::resume(Time now) {
    if (asked_since_) asked_since_ = now;
}

Result<void> HeaderSync::tick(Time now) {
    if (asking_chain_) return {};
    if (asked_since_) {
        if (now - *asked_since_ < 2 * timeout_) return {};
        const auto waited = std::chrono::duration_cast<std::chrono::seconds>(now - *asked_since_).count();
        if (stranded_ != 0)
            return fail(
                Errc::corrupt,
                fmt::format("it sent headers that do not connect, and no others within {} s", waited));
        return fail(Errc::io, fmt::format("no answer to getheaders within {} s", waited));
    }
    if (paused_at_) {
        ask_chain([at = *paused_at_,
                   ahead = params_.no_retargeting ? kMostAheadRegtest : kMostAhead](HeaderDesk& desk) {
            HeaderAnswer answer{.kind = HeaderAnswer::Kind::known, .last = desk.find(at)};
            const bool near = answer.last && answer.last->height.value <= desk.tip().height.value + ahead;
            if (near) answer = {.kind = HeaderAnswer::Kind::locator, .locator = desk.locator(at)};
            return about_chain(desk, std::move(answer));
        });
        return {};
    }
    if (now - last_asked_ >= kAskAgain) begin(now);
    return {};
}

}  // namespace blockpub
