// SPDX-License-Identifier: MIT
#pragma once

#include "chain/services.hpp"
#include "notify/endpoint.hpp"

#include <blockpub/result.hpp>

#include <span>
#include <string>
#include <vector>

namespace blockpub {

/// One option of the zmq group as it was given: `zmqpub<topic>` with an address, which may be repeated, or
/// `zmqpub<topic>hwm` with a number, of which the last counts.
struct ZmqOption {
    std::string name;
    std::string value;
};

/// One publisher to be: all topics that were asked for at one endpoint.
struct PublisherPlan {
    std::string option;  ///< the first that named the endpoint, for messages: `-zmqpubrawtx=tcp://…`
    Endpoint endpoint;
    int high_water_mark =
        1000;  ///< the largest that one of its topics asks for; 0, no limit, is the largest of all
    std::vector<std::string>
        topics;  ///< in the order of sending; a topic given twice is there twice, as in Core
};

/// What a set of options comes to.
struct ZmqPlan {
    std::vector<PublisherPlan> publishers;
    std::vector<NotificationRow> rows;  ///< in Core's order: by topic, then as given
};

/// Errors: invalid_argument (unknown topic, malformed endpoint or number), limit (path too long). The context
/// is one line that names option, endpoint and reason.
[[nodiscard]] Result<ZmqPlan> plan_publishers(std::span<const ZmqOption> options);

}  // namespace blockpub
