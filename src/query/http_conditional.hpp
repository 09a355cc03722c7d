// SPDX-License-Identifier: MIT
#pragma once

#include "query/http_message.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace blockpub {

/// Bytes of a body, both ends included.
struct ByteRange {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
};

/// What a Range field asks of a body of `size` bytes.
struct RangeWish {
    enum class Kind : std::uint8_t { whole, part, unsatisfiable };
    Kind kind = Kind::whole;  ///< whole also for what is malformed, of another unit, or of several parts
    ByteRange range;
};
[[nodiscard]] RangeWish parse_range(std::string_view value, std::uint64_t size);

/// Whether an If-None-Match or If-Range value names the tag (given without its quotes); `*` does.
[[nodiscard]] bool names_entity_tag(std::string_view value, std::string_view tag);

/// Gives a reply that has an entity tag its ETag and cache fields, and makes of it what the request's
/// If-None-Match, Range and If-Range ask for: 304, 206 or 416. Others stay as they are.
/// Source: RFC 9110, sections 13 and 14.
void apply_conditions(const HttpHead& request, HttpResponse& response);

}  // namespace blockpub
