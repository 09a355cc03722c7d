// SPDX-License-Identifier: MIT
#include "query/deployments.hpp"

#include "primitives/header.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace blockpub {

namespace {

// A deployment's start times that stand for no time. (BIP9Deployment of Core)
constexpr std::int64_t kAlwaysActive = -1;
constexpr std::int64_t kNeverActive = -2;
constexpr std::int64_t kNoTimeout = std::numeric_limits<std::int64_t>::max();
constexpr std::int32_t kTopMask = static_cast<std::int32_t>(0xe0000000);
constexpr std::int32_t kTopBits = 0x20000000;

struct Deployment {
    std::string_view name;
    int bit;
    std::int64_t start_time;
    std::int64_t timeout;
    std::uint32_t min_activation_height;
};

struct SignallingRules {
    std::uint32_t period;
    std::uint32_t threshold;
};

SignallingRules signalling_rules(ChainKind kind) {
    switch (kind) {
        case ChainKind::main:
        case ChainKind::signet:
            return {.period = 2016, .threshold = 1815};
        case ChainKind::testnet3:
        case ChainKind::testnet4:
            return {.period = 2016, .threshold = 1512};
        case ChainKind::regtest:
            break;
    }
    return {.period = 144, .threshold = 108};
}

std::vector<Deployment> deployments_of(ChainKind kind) {
    const bool regtest = kind == ChainKind::regtest;
    const bool voted = kind == ChainKind::main || kind == ChainKind::testnet3;
    return {{.name = "testdummy",
             .bit = 28,
             .start_time = regtest ? 0 : kNeverActive,
             .timeout = kNoTimeout,
             .min_activation_height = 0},
            {.name = "taproot",
             .bit = 2,
             .start_time = voted ? 1619222400 : kAlwaysActive,  // 24 April 2021
             .timeout = voted ? 1628640000 : kNoTimeout,        // 11 August 2021
             .min_activation_height = kind == ChainKind::main ? 709632u : 0u}};
}

enum class State : std::uint8_t { defined, started, locked_in, active, failed };

std::string_view state_name(State state) {
    switch (state) {
        case State::defined:
            return "defined";
        case State::started:
            return "started";
        case State::locked_in:
            return "locked_in";
        case State::active:
            return "active";
        case State::failed:
            return "failed";
    }
    return "";
}

/// State of a deployment and the height since which it has had it.
struct StateSince {
    State state = State::defined;
    std::uint32_t since = 0;
};

/// Walks the ancestors of one block. Near the active chain a look-up by height does for a walk.
class Ancestors {
 public:
    Ancestors(const Snapshot& snapshot, const HeaderView& tip)
        : snapshot_(snapshot), hash_(tip.hash), record_(tip.record), active_(tip.place.confirmations >= 0) {}

    /// Requires: the height is not above the block's.
    [[nodiscard]] Result<HeaderRecord> at(std::uint32_t height) {
        if (!active_) {
            // The branch is left for the active chain as soon as it joins it.
            while (record_.height.value > height && !active_) {
                if (auto moved = step_back(); !moved) return forward_error(moved);
            }
            if (record_.height.value == height) return record_;
        }
        auto hash = snapshot_.active({height});
        if (!hash) return forward_error(hash);
        return snapshot_.header(*hash);
    }

 private:
    Result<void> step_back() {
        hash_ = BlockHeader::decode(record_.header).previous;
        auto parent = snapshot_.header(hash_);
        if (!parent) return forward_error(parent);
        record_ = *parent;
        auto active = is_active(snapshot_, hash_, record_.height);
        if (!active) return forward_error(active);
        active_ = *active;
        return {};
    }

    const Snapshot& snapshot_;
    BlockHash hash_;
    HeaderRecord record_;
    bool active_;
};

bool signals(const HeaderRecord& record, int bit) {
    const std::int32_t version = BlockHeader::decode(record.header).version;
    return (version & kTopMask) == kTopBits && (version >> bit & 1) != 0;
}

/// BIP 9's state machine over the ancestors of one block.
class Voting {
 public:
    Voting(const Snapshot& snapshot, const HeaderView& tip, const ChainParams& params)
        : snapshot_(snapshot), tip_(tip), rules_(signalling_rules(params.kind)) {}

    [[nodiscard]] const SignallingRules& rules() const { return rules_; }

    /// The state of the block at `height`, which its parent decides; the block at height need not exist.
    [[nodiscard]] Result<StateSince> state_at(const Deployment& deployment, std::uint32_t height) const {
        if (deployment.start_time == kAlwaysActive) return StateSince{.state = State::active, .since = 0};
        if (deployment.start_time == kNeverActive) return StateSince{.state = State::failed, .since = 0};
        StateSince now;
        // Every block of a period has its state from the last block of the one before.
        for (std::uint32_t begin = rules_.period; begin <= height; begin += rules_.period) {
            auto next = next_state(deployment, now.state, begin);
            if (!next) return forward_error(next);
            if (*next != now.state) now = {.state = *next, .since = begin};
            if (now.state == State::active || now.state == State::failed) break;
        }
        return now;
    }

    /// Which blocks of the period that the tip is in signal, the tip's last.
    [[nodiscard]] Result<std::vector<bool>> signals_of_period(const Deployment& deployment) const {
        const std::uint32_t height = tip_.record.height.value;
        const std::uint32_t begin = height / rules_.period * rules_.period;
        std::vector<bool> out(height - begin + 1);
        Ancestors ancestors(snapshot_, tip_);
        for (std::uint32_t h = height + 1; h-- > begin;) {
            auto record = ancestors.at(h);
            if (!record) return forward_error(record);
            out[h - begin] = signals(*record, deployment.bit);
        }
        return out;
    }

 private:
    /// The state of the period that begins at `begin`, after one in `state`.
    [[nodiscard]] Result<State> next_state(const Deployment& deployment, State state,
                                           std::uint32_t begin) const {
        if (state == State::locked_in)
            return begin >= deployment.min_activation_height ? State::active : State::locked_in;
        Ancestors ancestors(snapshot_, tip_);
        auto last = ancestors.at(begin - 1);
        if (!last) return forward_error(last);
        auto median = median_time_past(snapshot_, *last);
        if (!median) return forward_error(median);
        if (state == State::defined)
            return *median >= deployment.start_time ? State::started : State::defined;
        std::uint32_t count = 0;
        for (std::uint32_t h = begin; h-- > begin - rules_.period;) {
            auto record = ancestors.at(h);
            if (!record) return forward_error(record);
            if (signals(*record, deployment.bit)) ++count;
        }
        if (count >= rules_.threshold) return State::locked_in;
        return *median >= deployment.timeout ? State::failed : State::started;
    }

    const Snapshot& snapshot_;
    const HeaderView& tip_;
    const SignallingRules rules_;
};

Result<void> write_statistics(JsonWriter& out, const Voting& voting, const Deployment& deployment,
                              State state) {
    auto signalling = voting.signals_of_period(deployment);
    if (!signalling) return forward_error(signalling);
    std::uint32_t count = 0;
    std::string marks;
    for (const bool signal : *signalling) {
        count += signal ? 1 : 0;
        marks.push_back(signal ? '#' : '-');
    }
    const SignallingRules& rules = voting.rules();
    const auto elapsed = static_cast<std::uint32_t>(signalling->size());
    out.key("statistics");
    out.begin_object();
    out.member("period", rules.period);
    out.member("elapsed", elapsed);
    out.member("count", count);
    if (state != State::locked_in) {
        out.member("threshold", rules.threshold);
        out.member("possible", rules.period - rules.threshold >= elapsed - count);
    }
    out.end_object();
    out.member("signalling", std::string_view(marks));
    return {};
}

Result<void> write_voted(JsonWriter& out, const Voting& voting, const Deployment& deployment,
                         std::uint32_t height) {
    auto current = voting.state_at(deployment, height);
    if (!current) return forward_error(current);
    auto next = voting.state_at(deployment, height + 1);
    if (!next) return forward_error(next);
    const bool signalling = current->state == State::started || current->state == State::locked_in;
    out.key(deployment.name);
    out.begin_object();
    out.member("type", "bip9");
    if (next->state == State::active) out.member("height", next->since);
    out.member("active", next->state == State::active);
    out.key("bip9");
    out.begin_object();
    if (signalling) out.member("bit", deployment.bit);
    out.member("start_time", deployment.start_time);
    out.member("timeout", deployment.timeout);
    out.member("min_activation_height", deployment.min_activation_height);
    out.member("status", state_name(current->state));
    out.member("since", current->since);
    out.member("status_next", state_name(next->state));
    if (signalling) {
        if (auto written = write_statistics(out, voting, deployment, current->state); !written)
            return written;
    }
    out.end_object();
    out.end_object();
    return {};
}

void write_buried(JsonWriter& out, std::string_view name, Height activation, std::uint32_t next) {
    out.key(name);
    out.begin_object();
    out.member("type", "buried");
    out.member("active", next >= activation.value);
    out.member("height", activation.value);
    out.end_object();
}

}  // namespace

Result<void> write_deployment_info(JsonWriter& out, const Snapshot& snapshot, const HeaderView& header,
                                   const ChainParams& params) {
    const std::uint32_t height = header.record.height.value;
    out.begin_object();
    out.member("hash", header.hash.display_hex());
    out.member("height", height);
    out.key("deployments");
    out.begin_object();
    write_buried(out, "bip34", params.bip34_height, height + 1);
    write_buried(out, "bip66", params.bip66_height, height + 1);
    write_buried(out, "bip65", params.bip65_height, height + 1);
    write_buried(out, "csv", params.csv_height, height + 1);
    write_buried(out, "segwit", params.segwit_height, height + 1);
    const Voting voting(snapshot, header, params);
    for (const Deployment& deployment : deployments_of(params.kind)) {
        if (deployment.start_time == kNeverActive) continue;
        if (auto written = write_voted(out, voting, deployment, height); !written) return written;
    }
    out.end_object();
    out.end_object();
    return {};
}

}  // namespace blockpub
