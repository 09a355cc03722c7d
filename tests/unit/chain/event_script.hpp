// SPDX-License-Identifier: MIT
#pragma once

#include "support/block_builder.hpp"

#include <blockpub/events.hpp>

#include <map>
#include <string>
#include <variant>
#include <vector>

namespace blockpub::test {

/// Gives blocks short names, and tells a row of events in one line: `C a1`, `D a1`, `T a1` for a tip update
/// (`T a1<g` with its fork point, `(ibd)` behind it in initial download), `+`/`-` for the mempool.
class EventScript {
 public:
    EventScript() { name(regtest_genesis(), "g"); }

    void name(const BuiltBlock& block, std::string name) { names_[block.hash] = std::move(name); }
    void name_branch(const std::vector<BuiltBlock>& branch, const std::string& prefix,
                     std::uint32_t first = 1) {
        for (const BuiltBlock& block : branch) name(block, prefix + std::to_string(first++));
    }

    [[nodiscard]] std::string name_of(const BlockHash& hash) const {
        const auto found = names_.find(hash);
        return found == names_.end() ? hash.display_hex().substr(0, 8) : found->second;
    }

    [[nodiscard]] std::string tell(const std::vector<Event>& events) const {
        std::string out;
        for (const Event& event : events) {
            if (!out.empty()) out += ' ';
            out += std::visit([&](const auto& one) { return tell(one); }, event);
        }
        return out;
    }

 private:
    [[nodiscard]] std::string tell(const BlockConnected& event) const { return "C" + name_of(event.hash); }
    [[nodiscard]] std::string tell(const BlockDisconnected& event) const { return "D" + name_of(event.hash); }
    [[nodiscard]] std::string tell(const UpdatedBlockTip& event) const {
        return "T" + name_of(event.tip_hash) + "<" + name_of(event.fork_hash) +
               (event.initial_download ? "(ibd)" : "");
    }
    [[nodiscard]] std::string tell(const BlocksPruned& event) const { return "P" + name_of(event.hash); }
    [[nodiscard]] std::string tell(const TransactionAddedToMempool&) const { return "+"; }
    [[nodiscard]] std::string tell(const TransactionRemovedFromMempool&) const { return "-"; }

    std::map<BlockHash, std::string> names_;
};

}  // namespace blockpub::test
