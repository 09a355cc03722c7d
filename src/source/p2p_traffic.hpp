// SPDX-License-Identifier: MIT
#pragma once

#include "chain/services.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace blockpub {

/// Bytes to and from one peer, as getpeerinfo has them. Messages that nobody knows are counted together:
/// whoever makes up names fills no table.
/// Thread safety: one thread at a time.
class PeerTraffic {
 public:
    void add_sent(std::string_view message, std::size_t bytes);
    /// A whole message has come; its bytes are counted by add_received_bytes.
    void add_received(std::string_view message, std::size_t bytes);
    void add_received_bytes(std::size_t bytes) { received_ += bytes; }

    [[nodiscard]] std::uint64_t sent() const { return sent_; }
    [[nodiscard]] std::uint64_t received() const { return received_; }
    void show(PeerRow& row) const;

 private:
    std::uint64_t sent_ = 0;
    std::uint64_t received_ = 0;
    PeerRow::Counts sent_by_message_;
    PeerRow::Counts received_by_message_;
};

}  // namespace blockpub
