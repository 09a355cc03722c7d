// SPDX-License-Identifier: MIT
#pragma once

#include "query/rpc_method.hpp"
#include "query/upstream.hpp"

#include <vector>

namespace blockpub {

/// Lets the node answer estimatesmartfee, getblocktemplate, sendrawtransaction, submitpackage and
/// testmempoolaccept, on a lane of their own: parameters, results and errors go past unread.
/// Ownership: the methods borrow the upstream.
void forward_methods(std::vector<RpcMethod>& methods, Upstream& upstream);

}  // namespace blockpub
