// SPDX-License-Identifier: MIT
#include "notify/zmq_publishers.hpp"

#include "base/check.hpp"
#include "base/thread.hpp"

#include <fmt/format.h>

namespace blockpub {

Result<std::unique_ptr<ZmqPublishers>> ZmqPublishers::bind(std::span<const ZmqOption> options, Bus& bus,
                                                           BlockReader& reader, Logger& logger,
                                                           std::chrono::milliseconds linger) {
    auto plan = plan_publishers(options);
    if (!plan) return forward_error(plan);
    std::unique_ptr<ZmqPublishers> all(new ZmqPublishers);
    all->rows_ = std::move(plan->rows);
    for (const PublisherPlan& one : plan->publishers) {
        PublisherOptions publisher_options;
        publisher_options.endpoint = one.endpoint.canonical();
        publisher_options.high_water_mark = one.high_water_mark;
        publisher_options.linger = linger;
        for (const std::string& topic : one.topics) {
            auto notifier = make_core_notifier(topic);
            BLOCKPUB_CHECK(notifier.has_value(), "{}", topic);
            publisher_options.notifiers.push_back(std::move(*notifier));
        }
        auto publisher = Publisher::bind(std::move(publisher_options), bus, reader, logger);
        if (!publisher) {
            const Error& error = publisher.error();
            const char* const remedy =
                error.code == Errc::busy
                    ? "; is bitcoind, or another blockpub, using it? give another endpoint"
                    : "";
            return fail(error.code, fmt::format("{}: {}{}", one.option, error.context, remedy));
        }
        if (beyond_loopback(one.endpoint)) all->exposed_.push_back((*publisher)->status().endpoint);
        all->publishers_.push_back(std::move(*publisher));
    }
    return all;
}

std::vector<PublisherStatus> ZmqPublishers::statuses() const {
    std::vector<PublisherStatus> statuses;
    statuses.reserve(publishers_.size());
    for (const auto& publisher : publishers_) statuses.push_back(publisher->status());
    return statuses;
}

void ZmqPublishers::stop() {
    std::vector<std::jthread> stoppers;
    stoppers.reserve(publishers_.size());
    for (const auto& publisher : publishers_) {
        stoppers.push_back(
            start_thread("stopper", [&publisher](const std::stop_token&) { publisher->stop(); }));
    }
}

}  // namespace blockpub
