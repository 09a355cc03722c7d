// SPDX-License-Identifier: MIT
#include "query/failed_logins.hpp"

#include <doctest/doctest.h>

using namespace blockpub;

TEST_SUITE_BEGIN("query.failed_logins");

TEST_CASE("a few are logged in each window, and the next says how many were not") {
    FailedLogins failures;
    const FailedLogins::Time start{};
    for (std::uint64_t i = 0; i < FailedLogins::kLines; ++i) CHECK(failures.note(start) == 0u);
    for (int i = 0; i < 1000; ++i) CHECK_FALSE(failures.note(start + FailedLogins::kWindow / 2));
    CHECK(failures.note(start + FailedLogins::kWindow) == 1000u);
    CHECK(failures.note(start + FailedLogins::kWindow) == 0u);
}

TEST_SUITE_END();
