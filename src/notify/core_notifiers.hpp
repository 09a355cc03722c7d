// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <string_view>

namespace blockpub {

/// Core's topics in the order in which an endpoint's notifiers must be registered to give Core's order of
/// messages.
inline constexpr std::array<std::string_view, 5> kTopicsInSendingOrder{"hashtx", "rawtx", "sequence",
                                                                       "hashblock", "rawblock"};
/// Core's topics in the order of getzmqnotifications.
inline constexpr std::array<std::string_view, 5> kTopicsInReportOrder{"hashblock", "hashtx", "rawblock",
                                                                      "rawtx", "sequence"};

}  // namespace blockpub
