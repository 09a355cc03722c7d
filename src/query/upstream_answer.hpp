// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/result.hpp>

#include <string>
#include <string_view>

namespace blockpub {

/// What a node's JSON-RPC reply says, each as the node wrote it.
struct UpstreamAnswer {
    std::string result;  ///< JSON; empty when the call failed
    std::string error;   ///< JSON object; empty when it did not
    int code = 0;        ///< of the error
};

/// Takes the body of a reply to one call apart. Errors: corrupt, for what is no reply of JSON-RPC, or one to
/// another call than `id` (a JSON string's content).
[[nodiscard]] Result<UpstreamAnswer> decode_upstream_answer(std::string body, std::string_view id);

}  // namespace blockpub
