// SPDX-License-Identifier: MIT
#pragma once

#include "chain/services.hpp"
#include "notify/zmq_options.hpp"

#include <blockpub/publisher.hpp>

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace blockpub {

/// All publishers of a daemon, as its options ask for them, and what getzmqnotifications says of them.
///
/// Thread safety: every method from any thread.
/// Ownership: borrows bus, reader and logger, which must outlive it.
/// Blocking: `stop` and the destructor, for no longer than `linger` for all together.
class ZmqPublishers final : public NotificationList, public PublisherStatusList {
 public:
    /// Binds every endpoint, or none: after an error all that was bound is closed again. Without options
    /// there is nothing to bind, and that is no error. Errors: those of plan_publishers and Publisher::bind;
    /// one line that names option, endpoint and reason.
    [[nodiscard]] static Result<std::unique_ptr<ZmqPublishers>> bind(
        std::span<const ZmqOption> options, Bus& bus, BlockReader& reader, Logger& logger,
        std::chrono::milliseconds linger = std::chrono::milliseconds(500));
    ~ZmqPublishers() override { stop(); }

    [[nodiscard]] std::vector<NotificationRow> rows() const override { return rows_; }
    [[nodiscard]] std::vector<PublisherStatus> statuses() const override;
    /// Addresses, as bound, that others than this machine can reach.
    [[nodiscard]] const std::vector<std::string>& exposed() const { return exposed_; }
    /// Ends all publishers at once; each sends first what was released until now.
    void stop();

 private:
    ZmqPublishers() = default;

    // Constant after construction.
    std::vector<std::unique_ptr<Publisher>> publishers_;
    std::vector<NotificationRow> rows_;
    std::vector<std::string> exposed_;
};

}  // namespace blockpub
