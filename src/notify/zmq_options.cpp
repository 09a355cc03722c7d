// SPDX-License-Identifier: MIT
#include "notify/zmq_options.hpp"

#include "notify/core_notifiers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace blockpub {
namespace {

constexpr std::string_view kPrefix = "zmqpub";
constexpr std::string_view kHighWaterMark = "hwm";
constexpr int kDefaultHighWaterMark = 1000;

bool is_topic(std::string_view name) {
    return std::ranges::find(kTopicsInReportOrder, name) != kTopicsInReportOrder.end();
}

struct ParsedName {
    std::string topic;
    bool is_high_water_mark = false;
};

std::optional<ParsedName> parse_name(std::string_view name) {
    name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
    if (!name.starts_with(kPrefix)) return std::nullopt;
    name.remove_prefix(kPrefix.size());
    if (is_topic(name)) return ParsedName{std::string(name), false};
    if (!name.ends_with(kHighWaterMark)) return std::nullopt;
    name.remove_suffix(kHighWaterMark.size());
    if (!is_topic(name)) return std::nullopt;
    return ParsedName{std::string(name), true};
}

std::string spelling(const ZmqOption& option) {
    const std::size_t dashes = std::min(option.name.find_first_not_of('-'), option.name.size());
    return fmt::format("-{}={}", option.name.substr(dashes), option.value);
}

std::optional<int> parse_high_water_mark(std::string_view text) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
    return value;
}

/// 0 is no limit, and so the largest.
int larger(int a, int b) {
    return a == 0 || b == 0 ? 0 : std::max(a, b);
}

struct Request {
    std::string option;
    std::string topic;
    std::string address;
    Endpoint endpoint;
};

/// The items sorted by topic; those of one topic stay as they were. std::stable_sort would do, but for
/// clang's warning of what libstdc++ 12 has in it.
template <class Item, class Topic>
std::vector<Item> in_order(const std::vector<Item>& items, const std::array<std::string_view, 5>& topics,
                           Topic topic) {
    std::vector<Item> sorted;
    sorted.reserve(items.size());
    for (const std::string_view wanted : topics) {
        for (const Item& item : items) {
            if (std::invoke(topic, item) == wanted) sorted.push_back(item);
        }
    }
    return sorted;
}

/// Sorted by the order of report, equal topics as given.
Result<std::vector<Request>> parse_requests(std::span<const ZmqOption> options,
                                            std::map<std::string, int>& marks) {
    std::vector<Request> requests;
    for (const ZmqOption& option : options) {
        const auto name = parse_name(option.name);
        if (!name)
            return fail(Errc::invalid_argument, fmt::format("{}: there is no such option", spelling(option)));
        if (name->is_high_water_mark) {
            const auto mark = parse_high_water_mark(option.value);
            if (!mark) {
                return fail(Errc::invalid_argument,
                            fmt::format("{}: not a number from 0 to {}", spelling(option),
                                        std::numeric_limits<int>::max()));
            }
            marks[name->topic] = *mark;
            continue;
        }
        auto endpoint = parse_endpoint(option.value);
        if (!endpoint) {
            return fail(endpoint.error().code,
                        fmt::format("{}: {}", spelling(option), endpoint.error().context));
        }
        requests.push_back({spelling(option), name->topic, reported_address(option.value), *endpoint});
    }
    return in_order(requests, kTopicsInReportOrder, &Request::topic);
}

}  // namespace

Result<ZmqPlan> plan_publishers(std::span<const ZmqOption> options) {
    std::map<std::string, int> marks;
    const auto requests = parse_requests(options, marks);
    if (!requests) return std::unexpected(requests.error());

    ZmqPlan plan;
    std::vector<std::size_t> publisher_of_row;
    for (const Request& request : *requests) {
        const auto found = marks.find(request.topic);
        const int mark = found == marks.end() ? kDefaultHighWaterMark : found->second;
        auto publisher = std::ranges::find(plan.publishers, request.endpoint, &PublisherPlan::endpoint);
        if (publisher == plan.publishers.end()) {
            plan.publishers.push_back({request.option, request.endpoint, mark, {}});
            publisher = plan.publishers.end() - 1;
        }
        publisher->high_water_mark = larger(publisher->high_water_mark, mark);
        publisher->topics.push_back(request.topic);
        publisher_of_row.push_back(static_cast<std::size_t>(publisher - plan.publishers.begin()));
        plan.rows.push_back({"pub" + request.topic, request.address, mark, 0});
    }
    for (std::size_t i = 0; i < plan.rows.size(); ++i) {
        plan.rows[i].effective_high_water_mark = plan.publishers[publisher_of_row[i]].high_water_mark;
    }
    for (PublisherPlan& publisher : plan.publishers) {
        publisher.topics = in_order(publisher.topics, kTopicsInSendingOrder, std::identity{});
    }
    return plan;
}

}  // namespace blockpub
