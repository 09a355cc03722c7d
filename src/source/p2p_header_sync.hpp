// SPDX-License-Identifier: MIT
#pragma once

#include "chain/header_desk.hpp"
#include "primitives/chain_params.hpp"
#include "source/p2p_messages.hpp"
#include "source/p2p_presync.hpp"

#include <blockpub/hash.hpp>
#include <blockpub/result.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace blockpub {

/// Blocks above the active chain that are asked for.
inline constexpr std::size_t kDownloadReach = 1024;

/// What the chain thread answers to a question about headers.
struct HeaderAnswer {
    enum class Kind : std::uint8_t {
        locator,   ///< nothing was handed in
        taken,     ///< headers are in the tree, up to `last`, and `rejection` tells why the others are not
        stranded,  ///< the parent of the first one is unknown
        low_work,  ///< not taken: their chain has less work than it must have
        known,     ///< the hash that was asked about is a header, `last`
        unknown,   ///< it is not
    };
    Kind kind = Kind::locator;
    std::vector<BlockHash> locator;  ///< to ask with
    std::optional<HeaderDesk::Point> last;
    HeaderDesk::Point start;  ///< parent of the first header, when low_work
    Uint256 least_work;
    Verdict rejection;
    HeaderDesk::Point tip;
    bool headers_first = false;  ///< no block is fetched before the last header: they run ahead of the tip
    std::vector<HeaderDesk::Missing> missing;  ///< on the way to `last`
};

/// What the headers of one peer need done. Calls come from within the sync's own methods.
class HeaderSyncHost {
 public:
    using Question = std::function<HeaderAnswer(HeaderDesk&)>;
    virtual ~HeaderSyncHost() = default;
    virtual void send_get_headers(const GetHeaders& message) = 0;
    /// Asks on the chain thread; the answer goes to HeaderSync::answer. One at a time.
    virtual void ask_chain(Question question) = 0;
    /// The peer's chain has grown, or is another.
    virtual void peer_chain_changed(const HeaderAnswer& answer) = 0;
    [[nodiscard]] virtual std::int64_t now_seconds() const = 0;
};

/// The headers of one peer: asks for them, holds them to what needs no chain, hands them to the chain thread,
/// and knows which is the peer's best.
///
/// Chains without the work that a chain must have go through HeaderPresync first. How far headers may run
/// ahead of blocks is bounded: the rest is asked for as blocks arrive.
/// Thread safety: one thread at a time. Ownership: borrows the host and the parameters. Blocking: never.
/// Errors: a sentence that says what the peer did.
/// Source: Bitcoin Core v28.1 src/net_processing.cpp, ProcessHeadersMessage.
class HeaderSync {
 public:
    using Time = std::chrono::steady_clock::time_point;

    HeaderSync(const ChainParams& params, std::chrono::milliseconds timeout, HeaderSyncHost& host);

    void begin(Time now);
    /// The peer's best is forgotten, and asked for soon.
    void begin_anew(Time now);
    /// A headers message. It is kept while the chain thread is asked about another.
    [[nodiscard]] Result<void> take(std::vector<BlockHeader> headers, Time now);
    /// Likewise, of a block that the peer may have passed on before checking it: that such a block is known
    /// to be invalid is not held against the peer. Source: BIP 152.
    [[nodiscard]] Result<void> take_unchecked(const BlockHeader& header, Time now);
    /// The peer says that it has a block (inv).
    [[nodiscard]] Result<void> announced(const BlockHash& hash);
    [[nodiscard]] Result<void> answer(HeaderAnswer answer, Time now);
    [[nodiscard]] Result<void> tick(Time now);
    /// Nothing was read for a while: the peer's time begins anew.
    void resume(Time now);

    /// The last header of the peer that is in the tree.
    [[nodiscard]] const std::optional<HeaderDesk::Point>& best() const& { return best_; }
    /// Whether the peer showed it only as take_unchecked() says.
    [[nodiscard]] bool best_unchecked() const { return best_unchecked_; }
    /// Whether the chain thread is being asked: what the peer sends had better wait.
    [[nodiscard]] bool asking_chain() const { return asking_chain_; }
    [[nodiscard]] bool waiting_for_peer() const { return asked_since_.has_value(); }
    /// Height that the first look at a chain without work has come to.
    [[nodiscard]] std::optional<Height> presync_height() const;

 private:
    struct Message {
        std::vector<BlockHeader> headers;
        bool unchecked = false;
    };
    void ask_chain(HeaderSyncHost::Question question);
    void look_up(const BlockHash& hash);
    void request(std::vector<BlockHash> locator, Time now);
    [[nodiscard]] Result<void> check_alone(const std::vector<BlockHeader>& headers) const;
    [[nodiscard]] Result<void> take(Message message, Time now);
    [[nodiscard]] Result<void> process(Message message, Time now);
    [[nodiscard]] Result<void> process_next(Time now);
    void hand_in(std::shared_ptr<std::vector<BlockHeader>> headers, bool examined);
    void ask_about_end();
    [[nodiscard]] Result<void> go_through_presync(const std::vector<BlockHeader>& headers, bool more,
                                                  Time now);
    [[nodiscard]] Result<void> headers_taken(const HeaderAnswer& answer, Time now);
    [[nodiscard]] Result<void> headers_beside();
    [[nodiscard]] Result<void> headers_stranded(const HeaderAnswer& answer, Time now);
    [[nodiscard]] Result<void> headers_without_work(const HeaderAnswer& answer, Time now);

    const ChainParams& params_;
    const std::chrono::milliseconds timeout_;
    HeaderSyncHost& host_;

    bool asking_chain_ = false;
    std::optional<Time> asked_since_;   // a getheaders is under way
    std::optional<Time> asked_before_;  // and was when the headers with the chain thread came
    Time last_asked_{};
    bool more_ = false;       // the headers with the chain thread filled a message
    bool unchecked_ = false;  // and came as take_unchecked() says
    std::shared_ptr<std::vector<BlockHeader>> in_hand_;
    std::deque<Message> kept_;
    std::optional<BlockHash> kept_announcement_;
    std::optional<HeaderPresync> presync_;
    std::optional<HeaderDesk::Point> best_;
    bool best_unchecked_ = false;
    std::optional<BlockHash> paused_at_;  // headers are far enough ahead of the blocks
    unsigned stranded_ = 0;
    unsigned unknown_ = 0;  // announcements since the last header
};

}  // namespace blockpub
