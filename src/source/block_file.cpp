// SPDX-License-Identifier: MIT
#include "source/block_file.hpp"

#include "base/endian.hpp"

#include <array>
#include <cstring>
#include <optional>
#include <utility>

namespace blockpub {

namespace {

/// The longest record and as much again: what is left of one read is moved to the front before the next.
constexpr std::size_t kBufferSize = 2 * (std::size_t{4} << 20);
static_assert(kBufferSize >= 2 * kMaxWanted);

std::optional<std::string> network_of_magic(std::uint32_t magic) {
    for (const auto kind :
         {ChainKind::main, ChainKind::testnet3, ChainKind::testnet4, ChainKind::signet, ChainKind::regtest}) {
        if (chain_params(kind).magic == magic) return chain_params(kind).name;
    }
    return std::nullopt;
}

}  // namespace

BlockFile::BlockFile(File file, const ChainParams& params, XorKey key, std::uint64_t start_offset)
    : file_(std::move(file)),
      key_(key),
      scanner_(params, key, start_offset),
      buffer_(std::make_unique_for_overwrite<std::uint8_t[]>(kBufferSize)),
      buffer_offset_(start_offset) {}

Result<ScanStep> BlockFile::next() {
    block_ = {};
    while (true) {
        const ByteSpan window(buffer_.get(), filled_);
        const ScanStep step = scanner_.next(window, buffer_offset_, reaches_end_);
        if (step.kind == ScanStep::Kind::block) {
            block_ = window.subspan(static_cast<std::size_t>(step.begin - buffer_offset_),
                                    static_cast<std::size_t>(step.size));
        }
        if (step.kind != ScanStep::Kind::need_more) return step;
        if (auto read = read_on(); !read) return forward_error(read);
    }
}

Result<void> BlockFile::read_on() {
    std::uint64_t end = buffer_offset_ + filled_;
    if (scanner_.in_bad_spot()) {
        // A preallocated tail or a gap can be a hole of any size.
        const std::optional<std::uint64_t> data = file_.next_data(end);
        const std::uint64_t next = data ? *data : std::max(end, file_.size().value_or(end));
        if (next > end) {
            scanner_.skip_zeros(next);
            end = next;
        }
    }
    const std::uint64_t keep_from = std::min(scanner_.position(), end);
    const std::size_t kept = keep_from < buffer_offset_ + filled_
                                 ? static_cast<std::size_t>(buffer_offset_ + filled_ - keep_from)
                                 : 0;
    if (kept != 0) std::memmove(buffer_.get(), buffer_.get() + (filled_ - kept), kept);
    buffer_offset_ = end - kept;
    filled_ = kept;

    const std::span<std::uint8_t> room(buffer_.get() + kept, kBufferSize - kept);
    const auto got = file_.read_at(end, room);
    if (!got) return fail(got.error().code, got.error().context);
    key_.apply(room.first(*got), end);
    filled_ += *got;
    reaches_end_ = *got < room.size();
    return {};
}

Result<XorKey> detect_key(const File& file, const ChainParams& params, const XorKey& directory_key) {
    std::array<std::uint8_t, 4> begin{};
    const auto got = file.read_at(0, begin);
    if (!got) return fail(got.error().code, got.error().context);
    const std::string name = file.path().string();
    if (*got < begin.size()) return fail(Errc::corrupt, name + " holds no blocks: it is empty");

    const auto plain = read_le<std::uint32_t>(begin.data());
    if (plain == params.magic) return XorKey{};
    directory_key.apply(begin, 0);
    const auto decoded = read_le<std::uint32_t>(begin.data());
    if (decoded == params.magic) return directory_key;
    for (const std::uint32_t magic : {plain, decoded}) {
        if (const auto network = network_of_magic(magic)) {
            return fail(Errc::corrupt,
                        name + " holds blocks of chain " + *network + ", not of chain " + params.name);
        }
    }
    return fail(Errc::corrupt,
                name + " is no file of blocks of chain " + params.name +
                    ": it begins with the chain's magic neither as it is nor under the key of a " +
                    XorKey::kFileName + " beside it");
}

Result<void> refuse_other_chain(const File& file, const ChainParams& params, const XorKey& key) {
    std::array<std::uint8_t, 4> begin{};
    const auto got = file.read_at(0, begin);
    if (!got) return fail(got.error().code, got.error().context);
    key.apply(begin, 0);
    const auto magic = read_le<std::uint32_t>(begin.data());
    if (*got < begin.size() || magic == params.magic) return {};
    const auto network = network_of_magic(magic);
    if (!network) return {};
    return fail(Errc::corrupt, file.path().string() + " holds blocks of chain " + *network +
                                   ", not of chain " + params.name + ": give -chain=" + *network +
                                   ", or a directory of this chain");
}

}  // namespace blockpub
