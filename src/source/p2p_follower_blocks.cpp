// SPDX-License-Identifier: MIT
#include "primitives/block.hpp"
#include "source/p2p_follower.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

// The follower's part about blocks: who is asked for which, and what becomes of them.

namespace blockpub {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::uint32_t kLimitedBlocks = 288;  // that a node which prunes has at least (BIP 159)
constexpr int kPatienceAlone = 10;             // timeouts that a block may take, when there is no other peer
constexpr int kPatience = 2;

}  // namespace

bool Follower::request_block(Peer& peer, const HeaderDesk::Missing& block) {
    if (!downloads_.request(peer.number(), block, SteadyClock::now())) return false;
    peer.request_blocks({block.hash});
    return true;
}

void Follower::peer_chain_changed(Peer& peer, const HeaderAnswer& answer) {
    offer(peer, answer.missing);
    const bool next =
        answer.missing.size() == 1 && answer.last && answer.missing[0].hash == answer.last->hash;
    if (next && compact_ && compact_->has(peer.number(), answer.last->hash)) {
        rebuild(peer, answer.missing[0]);
    } else {
        fill(peer);
    }
}

Result<void> Follower::peer_block(Peer& peer, const SharedBytes& raw) {
    auto block = ParsedBlock::parse(raw);
    if (!block)
        return fail(Errc::corrupt,
                    fmt::format("it sent a block that does not decode: {}", block.error().context));
    const BlockHash hash = block->hash();
    const bool twice = downloads_.is_settling(hash);
    if (!downloads_.receive(peer.number(), hash, raw.size(), SteadyClock::now()))
        return fail(Errc::corrupt,
                    fmt::format("it sent block {}, which it was not asked for", hash.display_hex()));
    if (compact_) compact_->give_up(peer.number(), hash);
    peer.note_block();
    progress_.add(raw.size());
    ++counters_.blocks_received;
    if (twice) return {};
    deliver(peer, std::move(*block), false);
    fill(peer);
    if (downloads_.full()) update_pauses();
    return {};
}

void Follower::deliver(const Peer& peer, ParsedBlock block, bool rebuilt) {
    const Delivery delivery{peer.number(), peer.session_number(), block.hash(), rebuilt};
    auto delivered =
        chain_.deliver_block(std::move(block), [this, post = post_, delivery](const DeliveredBlock& outcome) {
            post([this, delivery, outcome] { block_settled(delivery, outcome); });
        });
    if (!delivered) chain_ended(delivered.error());
}

void Follower::update_pauses() {
    for (const auto& peer : peers_) peer->update_pause();
}

void Follower::block_settled(const Delivery& delivery, const DeliveredBlock& outcome) {
    const BlockHash& hash = delivery.block;
    const bool was_full = downloads_.full();
    downloads_.settle(hash);
    if (was_full && !downloads_.full()) {
        reading_since_ = SteadyClock::now();
        update_pauses();
    }
    if (outcome.kind == DeliveredBlock::Kind::rejected) {
        Peer* const peer = find(delivery.peer, delivery.session);
        if (peer != nullptr && delivery.rebuilt && outcome.mutated) {
            // Short ids that meet by chance make such a block, and are nobody's fault.
            log_.debug("Peer {}: block {} cannot be put together: {}", peer->name(), hash.display_hex(),
                       outcome.reason);
            // Without a best its headers are asked for anew, and this block with them.
            const HeaderDesk::Point* const best = peer->best();
            if (best != nullptr &&
                downloads_.request(peer->number(), {hash, best->height}, SteadyClock::now()))
                peer->request_blocks({hash});
        } else if (peer != nullptr && delivery.rebuilt) {
            // Such a block is passed on before it is checked, and says nothing against the peer (BIP 152).
            log_.info("Peer {}: block {}, which it passed on unchecked, is invalid: {}", peer->name(),
                      hash.display_hex(), outcome.reason);
            peer->ask_headers_anew(SteadyClock::now());
        } else if (peer != nullptr) {
            peer->drop(
                fmt::format("it sent block {}, which is invalid: {}", hash.display_hex(), outcome.reason),
                Peer::Blame::peer);
        }
    }
    fill_all();
    const bool offers = std::ranges::any_of(
        peers_, [this](const auto& peer) { return peer->ready() && downloads_.has_offers(peer->number()); });
    if (!offers) plan();
}

void Follower::peer_lacks_blocks(Peer& peer, const std::vector<BlockHash>& hashes) {
    bool declined = false;
    for (const BlockHash& hash : hashes) {
        if (!downloads_.decline(peer.number(), hash, SteadyClock::now())) continue;
        declined = true;
        note_lack(peer, hash);
    }
    // Others may have them, and wait for nothing.
    if (declined) fill_all();
}

void Follower::note_lack(const Peer& peer, const BlockHash& hash) {
    if (compact_) compact_->give_up(peer.number(), hash);
    if (std::exchange(told_of_lack_[peer.number()], peer.session_number()) != peer.session_number()) {
        log_.warning(
            "Peer {}: does not have block {} of its own chain. It is asked again now and then; if it prunes, "
            "give a node that does not as well (-connect)",
            peer.name(), hash.display_hex());
    } else {
        log_.debug("Peer {}: does not have block {}", peer.name(), hash.display_hex());
    }
}

/// Asks the chain thread which blocks of the peers' chains are missing.
void Follower::plan() {
    if (planning_) {
        plan_again_ = true;
        return;
    }
    struct Question {
        std::uint32_t peer;
        std::uint64_t session;
        BlockHash best;
    };
    std::vector<Question> questions;
    for (const auto& peer : peers_) {
        if (peer->ready() && peer->best() != nullptr)
            questions.push_back({peer->number(), peer->session_number(), peer->best()->hash});
    }
    if (questions.empty() || ended_) return;
    planning_ = true;
    auto posted =
        chain_.post_headers([this, post = post_, questions = std::move(questions)](HeaderDesk& desk) {
            auto plan = std::make_shared<Plan>();
            for (const Question& question : questions) {
                const auto best = desk.find(question.best);
                plan->entries.push_back({question.peer, question.session, question.best,
                                         desk.missing_blocks(question.best, kDownloadReach),
                                         best && best->failed});
            }
            post([this, plan] { planned(std::move(*plan)); });
        });
    if (!posted) chain_ended(posted.error());
}

void Follower::planned(Plan plan_now) {
    planning_ = false;
    for (const Plan::Entry& entry : plan_now.entries) {
        Peer* const peer = find(entry.peer, entry.session);
        if (peer == nullptr || peer->best() == nullptr || peer->best()->hash != entry.best) continue;
        if (entry.failed && peer->best_unchecked()) {
            peer->ask_headers_anew(SteadyClock::now());
        } else if (entry.failed) {
            peer->drop("its chain has a block that is invalid here", Peer::Blame::silence);
        } else {
            offer(*peer, entry.missing);
        }
    }
    fill_all();
    if (std::exchange(plan_again_, false)) plan();
}

/// What a peer that prunes may be asked for: it hangs up on whoever asks for more.
void Follower::offer(Peer& peer, std::vector<HeaderDesk::Missing> missing) {
    if (!peer.keeps_all_blocks() && peer.best() != nullptr) {
        const std::uint32_t top = peer.best()->height.value;
        const auto old = std::erase_if(missing, [&](const HeaderDesk::Missing& block) {
            return block.height.value + kLimitedBlocks < top;
        });
        if (old != 0 &&
            std::exchange(told_of_age_[peer.number()], peer.session_number()) != peer.session_number()) {
            log_.warning(
                "Peer {}: keeps the last {} blocks only, and older ones are wanted: give a node that "
                "does not prune as well (-connect)",
                peer.name(), kLimitedBlocks);
        }
    }
    downloads_.offer(peer.number(), missing);
}

void Follower::fill(Peer& peer) {
    if (!peer.ready() || ended_) return;
    const std::vector<BlockHash> hashes = downloads_.ask(peer.number(), SteadyClock::now());
    if (!hashes.empty()) peer.request_blocks(hashes);
}

void Follower::fill_all() {
    for (const auto& peer : peers_) fill(*peer);
}

/// A peer that was asked for blocks and sends nothing, or too little of them.
void Follower::drop_slow(Peer& peer, Time now) {
    const auto waiting = downloads_.waiting_since(peer.number());
    if (!waiting || peer.paused()) return;
    const auto whole_seconds = [&](Time since) {
        return std::chrono::duration_cast<std::chrono::seconds>(now - since).count();
    };
    const Time asked = std::max(*waiting, reading_since_);
    // Answers to pings are no blocks.
    const Time heard = peer.receiving() ? std::max(asked, peer.last_heard()) : asked;
    if (now - heard >= options_.peer_timeout) {
        return peer.drop(fmt::format("stalled: it was asked for {} blocks and sent nothing for {} s",
                                     downloads_.in_flight(peer.number()), whole_seconds(heard)),
                         Peer::Blame::silence);
    }
    const int patience = ready_peers() > 1 ? kPatience : kPatienceAlone;
    if (now - asked < patience * options_.peer_timeout) return;
    peer.drop(fmt::format("too slow: it was asked for {} blocks and sent no whole one for {} s",
                          downloads_.in_flight(peer.number()), whole_seconds(asked)),
              Peer::Blame::silence);
}

}  // namespace blockpub
