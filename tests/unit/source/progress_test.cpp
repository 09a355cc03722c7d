// SPDX-License-Identifier: MIT
#include "source/progress.hpp"

#include <doctest/doctest.h>

using namespace blockpub;
using namespace std::chrono_literals;

TEST_SUITE("source.progress") {
    TEST_CASE("sizes and durations read well") {
        CHECK(format_bytes(999) == "999 bytes");
        CHECK(format_bytes(1000) == "1.0 kB");
        CHECK(format_bytes(999'949) == "999.9 kB");
        CHECK(format_bytes(999'950) == "1.0 MB");
        CHECK(format_bytes(612'300'000'000) == "612.3 GB");
        CHECK(format_bytes(5'000'000'000'000'000) == "5000.0 TB");
        CHECK(format_duration(0s) == "0 s");
        CHECK(format_duration(59s) == "59 s");
        CHECK(format_duration(250s) == "4 min 10 s");
        CHECK(format_duration(6720s) == "1 h 52 min");
    }

    TEST_CASE("rates are those of the last half minute") {
        const ProgressMeter::Time start{};
        ProgressMeter meter(1'000'000'000, start);
        auto rates = meter.update({1000, 100'000'000}, start + 10s);
        CHECK(rates.blocks_per_second == doctest::Approx(100));
        CHECK(rates.bytes_per_second == doctest::Approx(1e7));
        CHECK(rates.fraction == doctest::Approx(0.1));
        CHECK(rates.left == 90s);
        rates = meter.update({1000, 100'000'000}, start + 35s);
        CHECK(rates.bytes_per_second == 0);
        CHECK_FALSE(rates.left);
        rates = meter.update({2000, 1'000'000'000}, start + 45s);
        CHECK(rates.bytes_per_second == doctest::Approx(9e7));
        CHECK(rates.left == 0s);
    }

    TEST_CASE("an empty work is done, and a first update at once is no division by zero") {
        ProgressMeter meter(0, {});
        const auto rates = meter.update({0, 0}, {});
        CHECK(rates.fraction == 1);
        CHECK(rates.left == 0s);
        CHECK(rates.bytes_per_second == 0);
    }

    TEST_CASE("the line names height, blocks and bytes a second, share and time left") {
        ProgressMeter::Rates rates;
        rates.blocks_per_second = 5120.4;
        rates.bytes_per_second = 63.2e6;
        rates.fraction = 0.41;
        rates.left = 6720s;
        CHECK(format_progress(412345, rates, 612'300'000'000) ==
              "height 412345, 5120 blocks/s, 63.2 MB/s, 41.0 % of 612.3 GB, 1 h 52 min left");
        rates.left.reset();
        CHECK(format_progress(0, rates, 10).ends_with(", 41.0 % of 10 bytes, unknown time left"));
    }

    TEST_CASE("the log hears of progress now and then, a terminal each second") {
        const ProgressMeter::Time start{};
        ProgressPace log_only(5s, false, start);
        CHECK(log_only.next() == start + 5s);
        CHECK(log_only.take(start + 5s).log);
        CHECK(log_only.next() == start + 10s);
        ProgressPace both(2500ms, true, start);
        CHECK(both.next() == start + 1s);
        CHECK_FALSE(both.take(start + 1s).log);
        CHECK_FALSE(both.take(start + 2s).log);
        CHECK(both.next() == start + 2500ms);
        CHECK(both.take(start + 2500ms).log);
        CHECK(both.next() == start + 3500ms);
    }
}
