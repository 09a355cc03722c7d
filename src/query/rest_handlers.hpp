// SPDX-License-Identifier: MIT
#pragma once

#include "query/rest_call.hpp"

namespace blockpub {

// One function a path; rest_service.cpp has the table. Each takes one snapshot and never takes the chain
// lock. Source: Bitcoin Core v28 doc/REST-interface.md and src/rest.cpp; blockpart v31, spenttxouts v30.

// rest_blocks.cpp
[[nodiscard]] HttpResponse rest_block(const RestCall& call);
[[nodiscard]] HttpResponse rest_block_without_details(const RestCall& call);
[[nodiscard]] HttpResponse rest_block_part(const RestCall& call);
// rest_spent.cpp
[[nodiscard]] HttpResponse rest_spent_outputs(const RestCall& call);
// rest_headers.cpp
[[nodiscard]] HttpResponse rest_headers(const RestCall& call);
[[nodiscard]] HttpResponse rest_hash_by_height(const RestCall& call);
// rest_chain.cpp
[[nodiscard]] HttpResponse rest_chain_info(const RestCall& call);
[[nodiscard]] HttpResponse rest_deployment_info(const RestCall& call);
// rest_filters.cpp
[[nodiscard]] HttpResponse rest_block_filter(const RestCall& call);
[[nodiscard]] HttpResponse rest_filter_headers(const RestCall& call);
// rest_coins.cpp
[[nodiscard]] HttpResponse rest_coins(const RestCall& call);
// rest_transactions.cpp
[[nodiscard]] HttpResponse rest_transaction(const RestCall& call);
// rest_mempool.cpp
[[nodiscard]] HttpResponse rest_mempool(const RestCall& call);

}  // namespace blockpub
