// SPDX-License-Identifier: MIT
#include "chain/standardness.hpp"

#include "chain/script_pushes.hpp"
#include "primitives/script.hpp"
#include "support/block_builder.hpp"
#include "support/regtest_chain.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace blockpub;
using namespace blockpub::test;

namespace {

Script script_of(std::initializer_list<std::uint8_t> head, std::size_t size, std::uint8_t fill = 7) {
    Script script(head);
    script.resize(size, fill);
    return script;
}
const Script kKeyHash = [] {
    Script script = script_of({0x76, 0xa9, 20}, 23);
    append(script, Bytes{0x88, 0xac});
    return script;
}();
const Script kScriptHash = [] {
    Script script = script_of({0xa9, 20}, 22);
    script.push_back(0x87);
    return script;
}();
const Script kWitnessKeyHash = script_of({0x00, 20}, 22);
const Script kWitnessScriptHash = script_of({0x00, 32}, 34);
const Script kTaproot = script_of({0x51, 32}, 34);
const Script kUnknownWitness = script_of({0x52, 32}, 34);
const Script kAnchor{0x51, 0x02, 0x4e, 0x73};

Script multisig(unsigned required, unsigned keys) {
    Script script{static_cast<std::uint8_t>(0x50 + required)};
    for (unsigned i = 0; i < keys; ++i) append(script, script_of({33, 2}, 34));
    script.push_back(static_cast<std::uint8_t>(0x50 + keys));
    script.push_back(0xae);
    return script;
}

std::string check(const TransactionSpec& spec, const MempoolPolicy& policy = {}) {
    const Bytes raw = spec.build();
    return check_standard(must(TransactionView::parse_whole(raw)), policy);
}
TransactionSpec paying(const Script& script, Amount amount = 10'000) {
    TransactionSpec spec = spend({.txid = {}, .position = 1}, amount);
    spec.outputs[0].script = script;
    return spec;
}

Coin coin_of(const Script& script) {
    return {.amount = 10'000, .height = {1}, .coinbase = false, .script = script};
}
struct StandardSpending {
    Script script;
    std::vector<Bytes> witness;
};
bool inputs_standard(const Script& spent, const StandardSpending& by) {
    TransactionSpec spec = paying(kKeyHash);
    spec.inputs[0].script = by.script;
    spec.inputs[0].witness = by.witness;
    const Bytes raw = spec.build();
    const std::vector<Coin> coins{coin_of(spent)};
    return are_inputs_standard(must(TransactionView::parse_whole(raw)), coins);
}
bool witness_standard(const Script& spent, const StandardSpending& by) {
    TransactionSpec spec = paying(kKeyHash);
    spec.inputs[0].script = by.script;
    spec.inputs[0].witness = by.witness;
    const Bytes raw = spec.build();
    const std::vector<Coin> coins{coin_of(spent)};
    return is_witness_standard(must(TransactionView::parse_whole(raw)), coins);
}
Script pushing(const Script& redeem) {
    Script script;
    push_data(script, redeem);
    return script;
}

}  // namespace

TEST_SUITE_BEGIN("chain.standardness");

TEST_CASE("outputs of known forms are standard, and each has its least amount") {
    for (const Script& script : {kKeyHash, kScriptHash, kWitnessKeyHash, kWitnessScriptHash, kTaproot,
                                 kUnknownWitness, kAnchor, multisig(1, 1), multisig(2, 3)}) {
        CAPTURE(script.size());
        CHECK(check(paying(script)) == "");
    }
    CHECK(check(paying(multisig(1, 4))) == "scriptpubkey");
    CHECK(check(paying({0x51})) == "scriptpubkey");
    CHECK(check(paying(script_of({0x00, 21}, 23))) == "scriptpubkey");
    struct Least {
        const Script& script;
        Amount amount;
    };
    for (const Least& least : {Least{kKeyHash, 546}, Least{kScriptHash, 540}, Least{kWitnessKeyHash, 294},
                               Least{kWitnessScriptHash, 330}, Least{kTaproot, 330}, Least{kAnchor, 240}}) {
        CHECK(check(paying(least.script, least.amount)) == "");
        CHECK(check(paying(least.script, least.amount - 1)) == "dust");
    }
}

TEST_CASE("options widen and narrow what is standard") {
    MempoolPolicy policy;
    policy.permit_bare_multisig = false;
    CHECK(check(paying(multisig(1, 2)), policy) == "bare-multisig");
    const Script data = script_of({0x6a, 0x4c, 80}, 83);
    CHECK(check(paying(data, 0)) == "");
    policy.max_datacarrier_bytes = 82;
    CHECK(check(paying(data, 0), policy) == "scriptpubkey");
    policy.max_datacarrier_bytes.reset();
    CHECK(check(paying({0x6a}, 0), policy) == "scriptpubkey");
    policy.dust_relay = FeeRate{0};
    CHECK(check(paying(kKeyHash, 0), policy) == "");
}

TEST_CASE("a transaction of more than 400,000 weight is too large") {
    TransactionSpec spec = paying(kWitnessScriptHash);
    while (spec.build().size() + 43 <= 100'000) spec.outputs.push_back(spec.outputs[0]);
    CHECK(check(spec) == "");
    spec.outputs.push_back(spec.outputs[0]);
    CHECK(check(spec) == "tx-size");
}

TEST_CASE("what an input spends is of a known form, and a script hash hides few signature operations") {
    CHECK(inputs_standard(kKeyHash, {}));
    CHECK(inputs_standard(kTaproot, {}));
    CHECK(inputs_standard(kAnchor, {}));
    CHECK_FALSE(inputs_standard({0x51}, {}));
    CHECK_FALSE(inputs_standard(kUnknownWitness, {}));
    CHECK_FALSE(inputs_standard(kScriptHash, {}));
    CHECK(inputs_standard(kScriptHash, {.script = pushing(multisig(2, 3))}));
    CHECK(inputs_standard(kScriptHash, {.script = pushing(Script(15, 0xac))}));
    CHECK_FALSE(inputs_standard(kScriptHash, {.script = pushing(Script(16, 0xac))}));
    CHECK_FALSE(inputs_standard(kScriptHash, {.script = pushing(Script(521, 0x61))}));
}

TEST_CASE("a witness belongs to a witness program and keeps its limits") {
    const Bytes item80(80, 1);
    const Bytes item81(81, 1);
    CHECK(witness_standard(kKeyHash, {}));
    CHECK_FALSE(witness_standard(kKeyHash, {.witness = {item80}}));
    CHECK_FALSE(witness_standard(kAnchor, {.witness = {item80}}));
    CHECK(witness_standard(kWitnessKeyHash, {.witness = {item81, item81}}));
    CHECK(witness_standard(kScriptHash, {.script = pushing(kWitnessKeyHash), .witness = {item80}}));
    CHECK_FALSE(witness_standard(kScriptHash, {.script = pushing(multisig(1, 1)), .witness = {item80}}));
    CHECK(witness_standard(kWitnessScriptHash, {.witness = {item80, Bytes(3600, 1)}}));
    CHECK_FALSE(witness_standard(kWitnessScriptHash, {.witness = {item81, Bytes(3600, 1)}}));
    CHECK_FALSE(witness_standard(kWitnessScriptHash, {.witness = {item80, Bytes(3601, 1)}}));
    CHECK(witness_standard(kWitnessScriptHash, {.witness = std::vector<Bytes>(101, Bytes{1})}));
    CHECK_FALSE(witness_standard(kWitnessScriptHash, {.witness = std::vector<Bytes>(102, Bytes{1})}));
    const Bytes control(33, 0xc0);
    CHECK(witness_standard(kTaproot, {.witness = {item80, Bytes(9000, 1), control}}));
    CHECK_FALSE(witness_standard(kTaproot, {.witness = {item81, Bytes(9000, 1), control}}));
    CHECK(witness_standard(kTaproot, {.witness = {item81, Bytes(9000, 1), Bytes(33, 0xc2)}}));
    CHECK_FALSE(witness_standard(kTaproot, {.witness = {item80, Bytes{0x50}}}));
    CHECK_FALSE(witness_standard(kTaproot, {.witness = {item80, Bytes{}}}));
}

TEST_CASE("signature operations can weigh more than bytes") {
    CHECK(policy_vsize(400, 0, 20) == 100);
    CHECK(policy_vsize(401, 0, 20) == 101);
    CHECK(policy_vsize(400, 80, 20) == 400);
    CHECK(policy_vsize(400, 80, 0) == 100);
}

TEST_CASE("an output is burnt when nobody can spend it, as far as can be seen") {
    CHECK(is_burnt(Script{0x6a}));
    CHECK(is_burnt(Script(10'001, 0x61)));
    CHECK(is_burnt(Script{0x4c}));
    CHECK(is_burnt(Script{0xba}));
    CHECK_FALSE(is_burnt(kKeyHash));
    CHECK_FALSE(is_burnt(Script{}));
    CHECK(is_burnt(pushing(Script(521, 0))));
}

TEST_CASE("pushes leave their last value, numbers included") {
    CHECK(top_of_pushes(Script{0x51}) == Bytes{1});
    CHECK(top_of_pushes(Script{0x60}) == Bytes{16});
    CHECK(top_of_pushes(Script{0x4f}) == Bytes{0x81});
    CHECK(top_of_pushes(Script{0x02, 7, 8, 0x00}) == Bytes{});
    CHECK(top_of_pushes(Script{0x4c, 0x02, 7, 8}) == Bytes{7, 8});
    CHECK_FALSE(top_of_pushes(Script{}));
    CHECK_FALSE(top_of_pushes(Script{0x50}));
    CHECK_FALSE(top_of_pushes(Script{0x61}));
    CHECK_FALSE(top_of_pushes(Script{0x02, 7}));
    CHECK(is_push_only(Script{}));
    CHECK(is_push_only(Script{0x50}));
    CHECK_FALSE(is_push_only(Script{0x02, 7}));
}
