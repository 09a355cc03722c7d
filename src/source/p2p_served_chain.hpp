// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/chain_params.hpp"
#include "primitives/header.hpp"
#include "source/p2p_messages.hpp"

#include <blockpub/block_reader.hpp>
#include <blockpub/bytes.hpp>
#include <blockpub/hash.hpp>
#include <blockpub/result.hpp>
#include <blockpub/store.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace blockpub {

/// The chain as it is served to peers: from snapshots, so that nobody waits for the chain thread.
///
/// Thread safety: one thread at a time.
/// Ownership: borrows all that it is made with.
/// Blocking: reads the disk.
/// Errors: corrupt, io, of the store; those that are said beside.
class ServedChain {
 public:
    ServedChain(Store& store, BlockReader& blocks, const ChainParams& params)
        : store_(store), blocks_(blocks), params_(params) {}

    [[nodiscard]] Result<Tip> tip() const;

    /// Headers of the active chain behind what a locator and it have in common.
    struct Headers {
        std::vector<BlockHeader> headers;
        Tip last;  ///< what the peer has when it has them: the last of them, or the tip
    };
    /// An answer to getheaders. Source: Bitcoin Core v28.1 src/net_processing.cpp, ProcessMessage.
    [[nodiscard]] Result<Headers> headers_after(const GetHeaders& request, std::size_t limit) const;
    /// An answer to getblocks.
    struct Hashes {
        std::vector<BlockHash> hashes;
        bool more = false;  ///< the limit ended it
    };
    [[nodiscard]] Result<Hashes> hashes_after(const GetHeaders& request, std::size_t limit) const;

    /// What is new to a peer.
    struct News {
        Tip tip;
        bool known = false;                ///< it has the tip already
        std::vector<BlockHeader> headers;  ///< up to the tip, each the child of one that it has; else empty
    };
    /// `peers`: the last block that the peer is known to have, if any. `fork`: what is above it in the active
    /// chain is to be told of. `most`: more than so many blocks are not told of by headers.
    [[nodiscard]] Result<News> news(const std::optional<Tip>& peers, Height fork, std::size_t most) const;

    struct Block {
        MappedBytes payload;
        std::uint32_t checksum = 0;  ///< of the message
        std::int64_t time = 0;       ///< the header's
    };
    /// A block that has once been part of the active chain. Errors: not_found (also for one that is invalid,
    /// or never was connected), unavailable (it is not here any more).
    [[nodiscard]] Result<Block> block(const BlockHash& hash, bool with_witness);

 private:
    [[nodiscard]] Result<Height> fork_height(const Snapshot& snapshot, const GetHeaders& request) const;
    [[nodiscard]] Result<Height> common_height(const Snapshot& snapshot, const Tip& point) const;
    [[nodiscard]] Result<Headers> header_alone(const Snapshot& snapshot, const BlockHash& hash) const;
    [[nodiscard]] Result<MappedBytes> payload(const BlockHash& hash, bool stripped);

    Store& store_;
    BlockReader& blocks_;
    const ChainParams& params_;
    // The block that all peers ask for at the same time is not hashed for each of them.
    struct Checked {
        BlockHash hash;
        bool with_witness = false;
        std::uint32_t checksum = 0;
    };
    std::optional<Checked> last_;
};

}  // namespace blockpub
