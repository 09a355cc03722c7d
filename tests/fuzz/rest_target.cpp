// SPDX-License-Identifier: MIT
#include "query/rest_target.hpp"

#include "base/check.hpp"
#include "query/http_conditional.hpp"
#include "query/http_origin.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

using namespace blockpub;

// The input is a REST target; behind a line feed, the value of a Range, Host or tag field.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const std::string input(reinterpret_cast<const char*>(bytes), size);
    const std::size_t end = input.find('\n');
    const std::string target = input.substr(0, end);

    const RestTarget parsed = parse_rest_target(target);
    BLOCKPUB_CHECK(target.starts_with(parsed.parameter));
    std::size_t length = 0;
    for (const std::string_view part : parsed.parts()) {
        BLOCKPUB_CHECK(part.find('/') == std::string_view::npos);
        length += part.size() + 1;
    }
    BLOCKPUB_CHECK(length == parsed.parameter.size() + 1);
    const QueryValue value = query_value(target, "count");
    BLOCKPUB_CHECK(!value.malformed || !value.value);
    if (value.value) {
        BLOCKPUB_CHECK(value.value->size() < target.size());
        if (const auto number = to_integer<std::int32_t>(*value.value)) {
            BLOCKPUB_CHECK(to_integer<std::int64_t>(*value.value) == *number);
        }
    }
    if (end == std::string::npos) return 0;

    const std::string field = input.substr(end + 1);
    for (const std::uint64_t body : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1000}, UINT64_MAX}) {
        const RangeWish wish = parse_range(field, body);
        if (wish.kind == RangeWish::Kind::part)
            BLOCKPUB_CHECK(wish.range.first <= wish.range.last && wish.range.last < body);
    }
    const std::string_view host = host_name(field);
    BLOCKPUB_CHECK(host.size() <= field.size());
    (void)names_entity_tag(field, "tag");
    BLOCKPUB_CHECK(names_entity_tag(field + ",\"tag\"", "tag"));
    return 0;
}
