// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/sha256_stream.hpp"

#include <blockpub/bytes.hpp>
#include <blockpub/result.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace blockpub {

/// Largest payload of a message. Source: Bitcoin Core src/net.h, MAX_PROTOCOL_MESSAGE_LENGTH.
inline constexpr std::size_t kMaxPayload = 4'000'000;
/// Magic, name, length and checksum, in front of each payload.
inline constexpr std::size_t kMessageHeadSize = 24;

/// The name of a message: up to twelve printable characters, filled up with zeros.
class MessageName {
 public:
    MessageName() = default;
    /// Requires: at most 12 characters.
    explicit MessageName(std::string_view name);
    /// Nothing for what no name looks like. Requires: 12 bytes.
    [[nodiscard]] static std::optional<MessageName> decode(ByteSpan bytes);
    [[nodiscard]] std::string_view view() const& { return {bytes_.data(), size_}; }
    std::string_view view() && = delete;
    [[nodiscard]] const std::array<char, 12>& bytes() const& { return bytes_; }

 private:
    std::array<char, 12> bytes_{};
    std::uint8_t size_ = 0;
};

/// One message as it came from the wire.
struct PeerMessage {
    MessageName name;
    SharedBytes payload;   ///< empty where it is not held
    std::size_t size = 0;  ///< of the payload as it came
};

/// What goes in front of a payload. Requires: at most 12 characters of name, kMaxPayload bytes.
[[nodiscard]] std::array<std::uint8_t, kMessageHeadSize> encode_message_head(std::uint32_t magic,
                                                                             std::string_view name,
                                                                             std::size_t payload_size,
                                                                             std::uint32_t checksum);
/// A message, ready to be sent. Requires: at most 12 characters of name, kMaxPayload bytes.
[[nodiscard]] std::vector<std::uint8_t> encode_message(std::uint32_t magic, std::string_view name,
                                                       ByteSpan payload);

/// Who has made the connection, for words of advice.
enum class PeerSide : std::uint8_t { called, came };

/// A message whose payload is of interest.
struct HeldMessage {
    std::string_view name;
    std::size_t most = kMaxPayload;  ///< bytes of payload that it may have
};

/// Takes a stream of bytes apart into messages.
///
/// Holds one message at most, and nothing of those that are not of interest: they are checked as they pass;
/// room for a payload is made when its head has been checked. Thread safety: one thread at a time. Blocking:
/// never. Errors: corrupt, with a reason that names what came instead; nothing can be taken afterwards.
/// Source: Bitcoin Core v28 src/net.cpp, V1Transport.  Differs: a wrong checksum or name ends the stream.
class MessageFramer {
 public:
    /// `magic`: what each message begins with, as read little-endian. `held`: the messages of interest, which
    /// must outlive it; all where it is empty.
    explicit MessageFramer(std::uint32_t magic, PeerSide side = PeerSide::called,
                           std::span<const HeldMessage> held = {})
        : magic_(magic), side_(side), held_(held) {}

    /// Takes bytes from the front of `input` until one message is whole, or all are taken.
    [[nodiscard]] Result<std::optional<PeerMessage>> take(ByteSpan& input);
    /// Bytes of a message that is not whole yet, its head included.
    [[nodiscard]] std::size_t pending() const { return head_size_ + payload_size_; }

 private:
    [[nodiscard]] Result<void> begin_payload();
    [[nodiscard]] Result<void> check_magic() const;
    [[nodiscard]] Result<PeerMessage> finish();

    const std::uint32_t magic_;
    const PeerSide side_;
    const std::span<const HeldMessage> held_;
    std::array<std::uint8_t, kMessageHeadSize> head_{};
    std::size_t head_size_ = 0;
    MessageName name_;
    SharedBytes payload_;
    std::uint8_t* payload_out_ = nullptr;  // into payload_
    std::size_t payload_size_ = 0;
    std::size_t payload_whole_ = 0;
    std::optional<Sha256Stream> passing_;  // where the payload is not held
};

}  // namespace blockpub
