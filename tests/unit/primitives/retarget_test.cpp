// SPDX-License-Identifier: MIT
#include "primitives/retarget.hpp"

#include "base/check.hpp"
#include "primitives/subsidy.hpp"
#include "unit/primitives/params.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace blockpub;
using namespace blockpub::test;

TEST_SUITE_BEGIN("primitives.retarget");

namespace {

// A branch that is all alike but where a test says otherwise.
class Branch final : public AncestorAccess {
 public:
    Branch(std::uint32_t tip_height, std::uint32_t bits, std::uint32_t spacing = 600) {
        for (std::uint32_t height = 0; height <= tip_height; ++height) {
            blocks_.push_back({.bits = bits, .time = 1'300'000'000 + spacing * height});
        }
    }
    Ancestor& operator[](std::uint32_t height) { return blocks_[height]; }
    [[nodiscard]] Height tip_height() const override {
        return {static_cast<std::uint32_t>(blocks_.size() - 1)};
    }
    [[nodiscard]] Ancestor ancestor(Height height) const override {
        BLOCKPUB_CHECK(height.value < blocks_.size(), "{}", height.value);
        return blocks_[height.value];
    }

 private:
    std::vector<Ancestor> blocks_;
};

constexpr std::uint32_t kLowest = 0x1d00ffff;
constexpr std::uint32_t kHarder = 0x1c05a3f4;

}  // namespace

TEST_CASE("retargets of the main chain come out as they did") {
    struct Case {
        const char* name;
        std::uint32_t tip;  // height of the interval's last block
        std::uint32_t bits;
        std::uint32_t first_time;  // of the interval
        std::uint32_t last_time;
        std::uint32_t expected;
    };
    static constexpr Case kCases[] = {
        {"the first change, at height 32256", 32255, 0x1d00ffff, 1261130161, 1262152739, 0x1d00d86a},
        {"held by the limit, at height 2016", 2015, 0x1d00ffff, 1231006505, 1233061996, 0x1d00ffff},
        {"four times harder at most, at height 68544", 68543, 0x1c05a3f4, 1279008237, 1279297671, 0x1c0168fd},
        {"four times easier at most", 46367, 0x1c387f6f, 1263163443, 1269211443, 0x1d00e1fd},
    };
    for (const Case& c : kCases) {
        SUBCASE(c.name) {
            Branch branch(c.tip, c.bits);
            branch[c.tip - 2015].time = c.first_time;
            branch[c.tip].time = c.last_time;
            CHECK(next_work_required(kMain, branch, c.last_time + 600) == c.expected);
        }
    }
}

TEST_CASE("between retargets the main chain keeps its target, however late a block comes") {
    const Branch branch(2016 + 5, kHarder);
    CHECK(next_work_required(kMain, branch, 4'000'000'000) == kHarder);
}

TEST_CASE("times that run backwards make a retarget as hard as it gets") {
    Branch branch(2015, kLowest);
    branch[0].time = 2'000'000'000;
    branch[2015].time = 1'000'000'000;
    CHECK(next_work_required(kMain, branch, 1'000'000'600) == 0x1c3fffc0);
}

TEST_CASE("on testnet a block that is more than twenty minutes late may be of the lowest difficulty") {
    Branch branch(2016 + 5, kHarder);
    const std::uint32_t tip_time = branch[2016 + 5].time;
    CHECK(next_work_required(kTestnet3, branch, tip_time + 1200) == kHarder);
    CHECK(next_work_required(kTestnet3, branch, tip_time + 1201) == kLowest);
    CHECK(next_work_required(kTestnet4, branch, tip_time + 1201) == kLowest);
    CHECK_MESSAGE(next_work_required(kTestnet3, branch, 5) == kHarder, "an earlier time is not late");
}

TEST_CASE("on testnet the block after easy ones has the difficulty of the last that was not") {
    Branch branch(2016 + 5, kHarder);
    for (const std::uint32_t height : {2016u + 3, 2016u + 4, 2016u + 5}) branch[height].bits = kLowest;
    CHECK(next_work_required(kTestnet3, branch, branch[2016 + 5].time + 600) == kHarder);
    SUBCASE("and looks back no further than the interval's first block") {
        for (std::uint32_t height = 2016; height <= 2016 + 5; ++height) branch[height].bits = kLowest;
        CHECK(next_work_required(kTestnet3, branch, branch[2016 + 5].time + 600) == kLowest);
    }
}

TEST_CASE("a retarget begins from the last block's difficulty, on testnet4 from the interval's first") {
    Branch branch(2 * 2016 - 1, kHarder);
    branch[2 * 2016 - 1].bits = kLowest;
    // 2015 spacings in place of 2016: a little harder than before.
    const std::uint32_t from_lowest = next_work_required(kTestnet3, branch, branch[2 * 2016 - 1].time + 600);
    const std::uint32_t from_first = next_work_required(kTestnet4, branch, branch[2 * 2016 - 1].time + 600);
    CHECK(from_lowest == 0x1d00ffde);
    CHECK(from_first == 0x1c05a33c);
}

TEST_CASE("a late block at a retarget does not get the lowest difficulty") {
    Branch branch(2 * 2016 - 1, kHarder);
    CHECK(next_work_required(kTestnet3, branch, branch[2 * 2016 - 1].time + 100'000) == 0x1c05a33c);
}

TEST_CASE("regtest never changes its target, at the end of its intervals of 144 blocks either") {
    CHECK(kRegtest.retarget_interval() == 144);
    for (const std::uint32_t tip : {0u, 142u, 143u, 144u, 287u}) {
        Branch branch(tip, 0x207fffff, 1);
        CHECK(next_work_required(kRegtest, branch, branch[tip].time + 1) == 0x207fffff);
        CHECK(next_work_required(kRegtest, branch, branch[tip].time + 10'000) == 0x207fffff);
    }
}

TEST_CASE("the subsidy halves until nothing is left, and all of it is what it should be") {
    CHECK(block_subsidy({0}, kMain) == 50 * kCoin);
    CHECK(block_subsidy({209'999}, kMain) == 50 * kCoin);
    CHECK(block_subsidy({210'000}, kMain) == 25 * kCoin);
    CHECK(block_subsidy({840'000}, kMain) == 312'500'000);
    CHECK(block_subsidy({33 * 210'000}, kMain) == 0);
    CHECK(block_subsidy({64 * 210'000}, kMain) == 0);
    CHECK(block_subsidy({0xffffffff}, kMain) == 0);
    CHECK(block_subsidy({149}, kRegtest) == 50 * kCoin);
    CHECK(block_subsidy({150}, kRegtest) == 25 * kCoin);
    Amount total = 0;
    for (std::uint32_t halving = 0; halving < 70; ++halving) {
        total += block_subsidy({halving * 210'000}, kMain) * 210'000;
    }
    CHECK(total == 2'099'999'997'690'000);
}
