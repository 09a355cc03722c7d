// SPDX-License-Identifier: MIT
#include "base/check.hpp"
#include "primitives/block.hpp"
#include "primitives/work.hpp"
#include "source/block_scanner.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

using namespace blockpub;

namespace {

using Bytes = std::vector<std::uint8_t>;

const ChainParams& regtest() {
    return chain_params(ChainKind::regtest);
}

/// All steps over a file whose key has been applied, seen through windows of about `window` bytes.
std::vector<ScanStep> scan(const Bytes& file, const XorKey& key, std::size_t window) {
    BlockScanner scanner(regtest(), key);
    std::vector<ScanStep> steps;
    std::size_t begin = 0;
    std::size_t size = std::min(window, file.size());
    while (true) {
        // A buffer of exactly this size, so that a sanitizer sees a read beyond it.
        const Bytes shown(file.data() + begin, file.data() + begin + size);
        const ScanStep step = scanner.next(shown, begin, begin + size == file.size());
        if (step.kind != ScanStep::Kind::need_more) {
            steps.push_back(step);
            if (step.kind == ScanStep::Kind::end) return steps;
            continue;
        }
        BLOCKPUB_CHECK(begin + size < file.size());
        BLOCKPUB_CHECK(scanner.wanted_end() > begin + size || scanner.position() > begin);
        BLOCKPUB_CHECK(scanner.wanted_end() <= scanner.position() + kMaxWanted);
        begin = static_cast<std::size_t>(scanner.position());
        const auto wanted = static_cast<std::size_t>(scanner.wanted_end()) - begin;
        size = std::min(std::max(window, wanted), file.size() - begin);
    }
}

void check_block(ByteSpan block, const ScanStep& step) {
    const auto parsed = ParsedBlock::parse(SharedBytes::copy_of(block));
    BLOCKPUB_CHECK(parsed && parsed->hash() == step.hash);
    BLOCKPUB_CHECK(meets_proof_of_work(step.hash, parsed->header().bits, regtest().pow_limit));
}

}  // namespace

// Eight bytes of key, one of window size, then the file as it lies on the disk.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    if (size < 9) return 0;
    std::array<std::uint8_t, XorKey::kSize> key_bytes{};
    std::memcpy(key_bytes.data(), bytes, key_bytes.size());
    const XorKey key(key_bytes);
    Bytes file(bytes + 9, bytes + size);
    key.apply(file, 0);

    const auto steps = scan(file, key, file.size());
    std::uint64_t covered = 0;
    for (const ScanStep& step : steps) {
        const bool is_block = step.kind == ScanStep::Kind::block;
        BLOCKPUB_CHECK(step.begin == covered + (is_block ? kRecordPrefix : 0), "{}", step.begin);
        covered = step.begin + step.size;
        BLOCKPUB_CHECK(step.size > 0 || step.kind == ScanStep::Kind::end);
        if (is_block) check_block(ByteSpan(file).subspan(step.begin, step.size), step);
    }
    BLOCKPUB_CHECK(covered == file.size(), "{}", covered);

    const auto windowed = scan(file, key, 1 + bytes[8]);
    BLOCKPUB_CHECK(std::ranges::equal(steps, windowed, [](const ScanStep& a, const ScanStep& b) {
        return a.kind == b.kind && a.spot == b.spot && a.begin == b.begin && a.size == b.size &&
               a.hash == b.hash;
    }));
    return 0;
}
