// SPDX-License-Identifier: MIT
#include "chain/standardness.hpp"

#include "base/check.hpp"
#include "chain/input_checks.hpp"
#include "chain/script_pushes.hpp"
#include "chain/transaction_checks.hpp"
#include "primitives/script.hpp"

#include <vector>

using namespace blockpub;

namespace {

/// A coin for each input, locked by one of the transaction's own scripts: any form of script meets any
/// witness.
std::vector<Coin> coins_for(const TransactionView& transaction) {
    std::vector<Script> scripts;
    transaction.for_each_output([&](std::size_t, const TxOutput& output) {
        scripts.emplace_back(output.script.begin(), output.script.end());
        return true;
    });
    std::vector<Coin> coins(transaction.input_count());
    for (std::size_t i = 0; i < coins.size(); ++i) coins[i].script = scripts[i % scripts.size()];
    return coins;
}

}  // namespace

/// What a peer's transaction makes of the checks before any script is run.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const auto transaction = TransactionView::parse_whole({bytes, size});
    if (!transaction) return 0;
    std::vector<Outpoint> scratch;
    if (check_transaction(*transaction, scratch) != nullptr) return 0;
    static_cast<void>(check_standard(*transaction, {}));
    const std::vector<Coin> coins = coins_for(*transaction);
    static_cast<void>(are_inputs_standard(*transaction, coins));
    BLOCKPUB_CHECK(is_witness_standard(*transaction, coins) || transaction->has_witness());
    const std::int64_t cost = sigops_cost(*transaction, coins);
    BLOCKPUB_CHECK(policy_vsize(transaction->weight(), cost, 20) >=
                   static_cast<std::int64_t>(transaction->vsize()));
    transaction->for_each_input([&](std::size_t, const TxInput& input) {
        BLOCKPUB_CHECK(!top_of_pushes(input.script) || is_push_only(input.script));
        return true;
    });
    return 0;
}
