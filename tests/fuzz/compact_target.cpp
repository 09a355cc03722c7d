// SPDX-License-Identifier: MIT
#include "base/check.hpp"
#include "base/endian.hpp"
#include "primitives/work.hpp"

#include <algorithm>
#include <array>

using namespace blockpub;

namespace {

void check_bits(std::uint32_t bits) {
    const auto target = decode_compact(bits);
    const Uint256 work = block_work(bits);
    static_cast<void>(difficulty(bits));
    if (!target || target->is_zero()) {
        BLOCKPUB_CHECK(work.is_zero(), "{:08x}", bits);
        return;
    }
    BLOCKPUB_CHECK(!work.is_zero() || *target == Uint256(0), "{:08x}", bits);
    const auto again = decode_compact(encode_compact(*target));
    BLOCKPUB_CHECK(again == *target, "{:08x}", bits);
    // work = floor(2^256 / (target + 1)), so that work * (target + 1) is not far below 2^256.
    const Uint256 rest = ~Uint256() / (*target + Uint256(1));
    BLOCKPUB_CHECK(work == rest || work == rest + Uint256(1), "{:08x}", bits);
}

void check_target(const Uint256& target) {
    const std::uint32_t bits = encode_compact(target);
    const auto expanded = decode_compact(bits);
    BLOCKPUB_CHECK(expanded && *expanded <= target, "{}", target.hex());
    BLOCKPUB_CHECK(encode_compact(*expanded) == bits, "{}", target.hex());
    BLOCKPUB_CHECK(Uint256::from_hex(target.hex()) == target);
    BLOCKPUB_CHECK(Uint256::from_big_endian(target.big_endian()) == target);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    std::array<std::uint8_t, 36> input{};
    std::copy_n(bytes, std::min(size, input.size()), input.begin());
    check_bits(read_le<std::uint32_t>(input.data()));
    std::array<std::uint8_t, 32> target;
    std::copy_n(input.begin() + 4, target.size(), target.begin());
    check_target(Uint256::from_big_endian(target));
    return 0;
}
