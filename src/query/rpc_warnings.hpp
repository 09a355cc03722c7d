// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"
#include "query/json_writer.hpp"

#include <blockpub/hash.hpp>

#include <string>
#include <utility>
#include <vector>

namespace blockpub {

struct RpcContext;

/// Stored blocks that could not be read when they were asked for, the newest few: for those who look after
/// the node, long after the client that asked has gone.
/// Thread safety: every method from any thread.
class UnreadableBlocks {
 public:
    struct Row {
        BlockHash hash;
        std::string why;
    };

    void note(const BlockHash& hash, std::string why) BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] std::vector<Row> rows() const BLOCKPUB_EXCLUDES(mutex_);

 private:
    static constexpr std::size_t kMaxRows = 8;
    mutable Mutex mutex_;
    std::vector<Row> rows_ BLOCKPUB_GUARDED_BY(mutex_);
};

/// Writes the member `warnings`: a sentence for everything that an operator should look at.
void write_warnings(JsonWriter& out, const RpcContext& context);

}  // namespace blockpub
