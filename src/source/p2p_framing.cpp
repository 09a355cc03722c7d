// SPDX-License-Identifier: MIT
#include "source/p2p_framing.hpp"

#include "base/check.hpp"
#include "base/endian.hpp"
#include "primitives/chain_params.hpp"
#include "primitives/sha256.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace blockpub {
namespace {

constexpr std::size_t kMagicSize = 4;
constexpr std::size_t kNameAt = 4;
constexpr std::size_t kNameSize = 12;
constexpr std::size_t kLengthAt = 16;
constexpr std::size_t kChecksumAt = 20;

std::string name_of_magic(std::uint32_t magic) {
    for (const ChainKind kind :
         {ChainKind::main, ChainKind::testnet3, ChainKind::testnet4, ChainKind::signet, ChainKind::regtest}) {
        const ChainParams& params = chain_params(kind);
        if (params.magic == magic) return params.name;
    }
    return {};
}

std::uint32_t checksum_of(ByteSpan payload) {
    return read_le<std::uint32_t>(sha256d(payload).data());
}

}  // namespace

MessageName::MessageName(std::string_view name) : size_(static_cast<std::uint8_t>(name.size())) {
    BLOCKPUB_CHECK(name.size() <= kNameSize);
    std::ranges::copy(name, bytes_.begin());
}

std::optional<MessageName> MessageName::decode(ByteSpan bytes) {
    const auto end = std::ranges::find(bytes, 0);
    const auto printable = [](std::uint8_t byte) { return byte >= ' ' && byte <= '~'; };
    if (!std::all_of(bytes.begin(), end, printable)) return std::nullopt;
    if (!std::all_of(end, bytes.end(), [](std::uint8_t byte) { return byte == 0; })) return std::nullopt;
    MessageName name;
    std::copy(bytes.begin(), end, name.bytes_.begin());
    name.size_ = static_cast<std::uint8_t>(end - bytes.begin());
    return name;
}

std::array<std::uint8_t, kMessageHeadSize> encode_message_head(std::uint32_t magic, std::string_view name,
                                                               std::size_t payload_size,
                                                               std::uint32_t checksum) {
    BLOCKPUB_CHECK(payload_size <= kMaxPayload);
    std::array<std::uint8_t, kMessageHeadSize> head{};
    write_le<std::uint32_t>(head.data(), magic);
    std::memcpy(head.data() + kNameAt, MessageName(name).bytes().data(), kNameSize);
    write_le<std::uint32_t>(head.data() + kLengthAt, static_cast<std::uint32_t>(payload_size));
    write_le<std::uint32_t>(head.data() + kChecksumAt, checksum);
    return head;
}

std::vector<std::uint8_t> encode_message(std::uint32_t magic, std::string_view name, ByteSpan payload) {
    const auto head = encode_message_head(magic, name, payload.size(), checksum_of(payload));
    std::vector<std::uint8_t> out(kMessageHeadSize + payload.size());
    std::ranges::copy(head, out.begin());
    std::ranges::copy(payload, out.begin() + kMessageHeadSize);
    return out;
}

Result<std::optional<PeerMessage>> MessageFramer::take(ByteSpan& input) {
    if (head_size_ < kMessageHeadSize) {
        const std::size_t take = std::min(kMessageHeadSize - head_size_, input.size());
        std::ranges::copy(input.first(take), head_.begin() + static_cast<std::ptrdiff_t>(head_size_));
        head_size_ += take;
        input = input.subspan(take);
        // As early as possible: who speaks another protocol may send little and wait.
        if (head_size_ >= kMagicSize) {
            if (auto known = check_magic(); !known) return forward_error(known);
        }
        if (head_size_ < kMessageHeadSize) return std::nullopt;
        if (auto begun = begin_payload(); !begun) return forward_error(begun);
    }
    const std::size_t take = std::min(payload_whole_ - payload_size_, input.size());
    if (passing_) {
        passing_->update(input.first(take));
    } else if (take != 0) {
        std::memcpy(payload_out_ + payload_size_, input.data(), take);
    }
    payload_size_ += take;
    input = input.subspan(take);
    if (payload_size_ < payload_whole_) return std::nullopt;
    auto message = finish();
    if (!message) return forward_error(message);
    return std::optional<PeerMessage>(std::move(*message));
}

Result<void> MessageFramer::check_magic() const {
    const auto magic = read_le<std::uint32_t>(head_.data());
    if (magic == magic_) return {};
    const std::string other = name_of_magic(magic);
    if (side_ == PeerSide::came && !other.empty()) {
        return fail(Errc::corrupt, fmt::format("it speaks the protocol of chain {}, and chain {} is served",
                                               other, name_of_magic(magic_)));
    }
    if (std::string_view(reinterpret_cast<const char*>(head_.data()), kMagicSize) == "HTTP") {
        return fail(
            Errc::corrupt,
            "it answers in HTTP: that is a node's RPC port; give -connect its P2P port (8333, testnet4 "
            "48333, signet 38333, regtest 18444)");
    }
    if (!other.empty()) {
        return fail(Errc::corrupt,
                    fmt::format("it is a node of chain {}, and chain {} is followed here: give "
                                "-chain={}, or another -connect",
                                other, name_of_magic(magic_), other));
    }
    return fail(
        Errc::corrupt,
        fmt::format("wrong magic {:02x}{:02x}{:02x}{:02x}: it does not speak the protocol of this chain",
                    head_[0], head_[1], head_[2], head_[3]));
}

Result<void> MessageFramer::begin_payload() {
    const auto name = MessageName::decode(ByteSpan(head_).subspan(kNameAt, kNameSize));
    if (!name) return fail(Errc::corrupt, "a message whose name is not printable");
    name_ = *name;
    const auto length = read_le<std::uint32_t>(head_.data() + kLengthAt);
    const auto held = std::ranges::find(held_, name_.view(), &HeldMessage::name);
    const bool passes = !held_.empty() && held == held_.end();
    const std::size_t most = held == held_.end() ? kMaxPayload : held->most;
    if (length > most) {
        return fail(Errc::corrupt,
                    fmt::format("message {} claims {} bytes, {} are allowed", name_.view(), length, most));
    }
    payload_size_ = 0;
    payload_whole_ = length;
    if (passes) {
        passing_.emplace();
    } else {
        payload_ =
            SharedBytes::build(length, [this](std::span<std::uint8_t> out) { payload_out_ = out.data(); });
    }
    return {};
}

Result<PeerMessage> MessageFramer::finish() {
    const std::uint32_t checksum =
        passing_ ? read_le<std::uint32_t>(sha256(passing_->finish()).data()) : checksum_of(payload_.bytes());
    passing_.reset();
    if (checksum != read_le<std::uint32_t>(head_.data() + kChecksumAt))
        return fail(Errc::corrupt, fmt::format("message {} with a wrong checksum", name_.view()));
    head_size_ = 0;
    payload_size_ = 0;
    payload_out_ = nullptr;
    return PeerMessage{name_, std::exchange(payload_, SharedBytes()), payload_whole_};
}

}  // namespace blockpub
