// SPDX-License-Identifier: MIT
#pragma once

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <string>
#include <vector>

namespace blockpub::test {

inline const std::string kVectors = BLOCKPUB_SOURCE_ROOT "/tests/vectors/";

/// The rows of a file of recorded answers; see tests/vectors/README.md.
inline std::vector<nlohmann::json> read_rows(const std::string& name) {
    std::ifstream file(kVectors + name);
    REQUIRE(file.good());
    std::vector<nlohmann::json> rows;
    for (std::string line; std::getline(file, line);) rows.push_back(nlohmann::json::parse(line));
    return rows;
}

}  // namespace blockpub::test
