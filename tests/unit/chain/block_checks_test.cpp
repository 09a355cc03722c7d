// SPDX-License-Identifier: MIT
#include "chain/block_checks.hpp"

#include "chain/submitted_block.hpp"
#include "support/block_builder.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <string>

using namespace blockpub;
using namespace blockpub::test;

namespace {

const ChainParams& params() {
    return chain_params(ChainKind::regtest);
}

/// Genesis as the parent in a tree.
struct Parent {
    HeaderTree tree;
    HeaderNode* node;
    Parent() {
        const BlockHeader genesis = BlockHeader::decode(params().genesis);
        node = &tree.insert(genesis, params().genesis_hash, nullptr);
    }
};

const Outpoint kSomeOutpoint{.txid = Txid(sha256d(Bytes{1})), .position = 0};
const Outpoint kOtherOutpoint{.txid = Txid(sha256d(Bytes{1})), .position = 1};
const Outpoint kNullOutpoint{.txid = {}, .position = 0xffffffff};

CheckedBlock check(const BuiltBlock& built) {
    auto parsed = ParsedBlock::parse(built.raw);
    REQUIRE(parsed);
    return CheckedBlock::check(std::move(*parsed), params());
}

/// The whole verdict on a block on top of genesis, as AcceptBlock comes to it.
Verdict verdict_on(const CheckedBlock& checked, const ChainParams& rules = params()) {
    if (checked.context_free) return checked.context_free;
    const Parent parent;
    return check_block_in_context(checked, *parent.node, rules);
}

/// A coinbase as it would be, to be changed.
TransactionSpec coinbase_for(const BlockSpec& spec) {
    return build_block(spec).coinbase;
}

TransactionSpec huge_transaction(std::size_t bytes) {
    TransactionSpec transaction = spend(kSomeOutpoint, 1);
    transaction.outputs[0].script.assign(bytes, 0x00);
    return transaction;
}

/// Makes the block, which has no witness then, this large.
void fill_to(BlockSpec& spec, std::size_t stripped_size) {
    constexpr std::size_t kFirstTry = 500'000;
    spec.commit_to_witness = false;
    spec.transactions = {huge_transaction(kFirstTry)};
    const std::size_t size = build_block(spec).raw.size();
    spec.transactions = {huge_transaction(kFirstTry + stripped_size - size)};
}

struct Case {
    std::string name;
    std::function<void(BlockSpec&)> change;
    std::string reason;
    bool mutated = false;
};

void set_coinbase_script(BlockSpec& spec, std::size_t size) {
    TransactionSpec coinbase = coinbase_for(spec);
    coinbase.inputs[0].script.resize(size, 0x51);
    spec.coinbase = coinbase;
}

const Case kCases[] = {
    {"valid", [](BlockSpec&) {}, ""},
    {"valid with a transaction", [](BlockSpec& s) { s.transactions = {spend(kSomeOutpoint, 5)}; }, ""},
    {"proof of work", [](BlockSpec& s) { s.valid_proof_of_work = false; }, "high-hash"},
    {"merkle root", [](BlockSpec& s) { s.merkle_root = MerkleRoot(sha256d(Bytes{7})); }, "bad-txnmrklroot",
     true},
    {"last two transactions doubled",
     [](BlockSpec& s) {
         const TransactionSpec twice = spend(kSomeOutpoint, 5);
         s.transactions = {spend(kOtherOutpoint, 6), twice, twice};
     },
     "bad-txns-duplicate", true},
    {"first transaction is no coinbase", [](BlockSpec& s) { s.coinbase = spend(kSomeOutpoint, 5); },
     "bad-cb-missing"},
    {"two coinbases", [](BlockSpec& s) { s.transactions = {coinbase_for(s)}; }, "bad-cb-multiple"},
    {"two coinbases and a bad transaction between",
     [](BlockSpec& s) { s.transactions = {spend(kSomeOutpoint, -1), coinbase_for(s)}; }, "bad-cb-multiple"},
    {"a transaction larger than a block may weigh",
     [](BlockSpec& s) { s.transactions = {huge_transaction(1'000'001)}; }, "bad-blk-length"},
    {"stripped size at the limit", [](BlockSpec& s) { fill_to(s, 1'000'000); }, ""},
    {"stripped size above the limit", [](BlockSpec& s) { fill_to(s, 1'000'001); }, "bad-blk-length"},
    {"neither inputs nor outputs", [](BlockSpec& s) { s.transactions = {TransactionSpec{}}; },
     "bad-txns-vin-empty"},
    {"no outputs",
     [](BlockSpec& s) {
         TransactionSpec transaction = spend(kSomeOutpoint, 5);
         transaction.outputs.clear();
         s.transactions = {transaction};
     },
     "bad-txns-vout-empty"},
    {"negative output", [](BlockSpec& s) { s.transactions = {spend(kSomeOutpoint, -1)}; },
     "bad-txns-vout-negative"},
    {"smallest amount there is",
     [](BlockSpec& s) { s.transactions = {spend(kSomeOutpoint, std::numeric_limits<Amount>::min())}; },
     "bad-txns-vout-negative"},
    {"output above all money", [](BlockSpec& s) { s.transactions = {spend(kSomeOutpoint, kMaxMoney + 1)}; },
     "bad-txns-vout-toolarge"},
    {"output of all money", [](BlockSpec& s) { s.transactions = {spend(kSomeOutpoint, kMaxMoney)}; }, ""},
    {"outputs above all money together",
     [](BlockSpec& s) {
         TransactionSpec transaction = spend(kSomeOutpoint, kMaxMoney);
         transaction.outputs.push_back({.amount = 1, .script = {}});
         s.transactions = {transaction};
     },
     "bad-txns-txouttotal-toolarge"},
    {"one outpoint twice",
     [](BlockSpec& s) {
         TransactionSpec transaction = spend(kSomeOutpoint, 5);
         transaction.inputs.push_back(
             {.prevout = kOtherOutpoint, .script = {}, .sequence = 0, .witness = {}});
         transaction.inputs.push_back({.prevout = kSomeOutpoint, .script = {}, .sequence = 0, .witness = {}});
         s.transactions = {transaction};
     },
     "bad-txns-inputs-duplicate"},
    {"null outpoint among others",
     [](BlockSpec& s) {
         TransactionSpec transaction = spend(kSomeOutpoint, 5);
         transaction.inputs.push_back({.prevout = kNullOutpoint, .script = {}, .sequence = 0, .witness = {}});
         s.transactions = {transaction};
     },
     "bad-txns-prevout-null"},
    {"coinbase script of 1 byte", [](BlockSpec& s) { set_coinbase_script(s, 1); }, "bad-cb-length"},
    {"coinbase script of 2 bytes", [](BlockSpec& s) { set_coinbase_script(s, 2); }, ""},
    {"coinbase script of 100 bytes", [](BlockSpec& s) { set_coinbase_script(s, 100); }, ""},
    {"coinbase script of 101 bytes", [](BlockSpec& s) { set_coinbase_script(s, 101); }, "bad-cb-length"},
    {"20,000 signature operations",
     [](BlockSpec& s) {
         TransactionSpec transaction = spend(kSomeOutpoint, 5);
         transaction.outputs[0].script.assign(20'000, 0xac);
         s.transactions = {transaction};
     },
     ""},
    {"20,001 signature operations",
     [](BlockSpec& s) {
         TransactionSpec transaction = spend(kSomeOutpoint, 5);
         transaction.outputs[0].script.assign(20'000, 0xac);
         transaction.inputs[0].script = {0xac};
         s.transactions = {transaction};
     },
     "bad-blk-sigops"},
    {"lock at this height",
     [](BlockSpec& s) {
         TransactionSpec transaction = spend(kSomeOutpoint, 5);
         transaction.lock_time = 1;
         transaction.inputs[0].sequence = 0;
         s.transactions = {transaction};
     },
     "bad-txns-nonfinal"},
    {"lock at this height, switched off by the sequence",
     [](BlockSpec& s) {
         TransactionSpec transaction = spend(kSomeOutpoint, 5);
         transaction.lock_time = 1;
         s.transactions = {transaction};
     },
     ""},
    {"lock at this height, switched off for one input of two",
     [](BlockSpec& s) {
         TransactionSpec transaction = spend(kSomeOutpoint, 5);
         transaction.lock_time = 1;
         transaction.inputs.push_back(
             {.prevout = kOtherOutpoint, .script = {}, .sequence = 0, .witness = {}});
         s.transactions = {transaction};
     },
     "bad-txns-nonfinal"},
    {"lock at the parent's median time",
     [](BlockSpec& s) {
         TransactionSpec transaction = spend(kSomeOutpoint, 5);
         transaction.lock_time = regtest_genesis().time;
         transaction.inputs[0].sequence = 0;
         s.transactions = {transaction};
     },
     "bad-txns-nonfinal"},
    {"lock before the parent's median time",
     [](BlockSpec& s) {
         TransactionSpec transaction = spend(kSomeOutpoint, 5);
         transaction.lock_time = regtest_genesis().time - 1;
         transaction.inputs[0].sequence = 0;
         s.transactions = {transaction};
     },
     ""},
    {"height of another block",
     [](BlockSpec& s) {
         TransactionSpec coinbase = coinbase_for(s);
         coinbase.inputs[0].script[0] = 0x52;
         s.coinbase = coinbase;
     },
     "bad-cb-height"},
    {"no commitment and no witness", [](BlockSpec& s) { s.commit_to_witness = false; }, ""},
    {"no commitment and a witness",
     [](BlockSpec& s) {
         s.commit_to_witness = false;
         TransactionSpec transaction = spend(kSomeOutpoint, 5);
         transaction.inputs[0].witness = {Bytes{1}};
         s.transactions = {transaction};
     },
     "unexpected-witness", true},
    {"a committed witness",
     [](BlockSpec& s) {
         TransactionSpec transaction = spend(kSomeOutpoint, 5);
         transaction.inputs[0].witness = {Bytes{1}};
         s.transactions = {transaction};
     },
     ""},
    {"a witness changed after the commitment",
     [](BlockSpec& s) {
         TransactionSpec transaction = spend(kSomeOutpoint, 5);
         transaction.inputs[0].witness = {Bytes{1}};
         s.transactions = {transaction};
         s.coinbase = coinbase_for(s);
         s.transactions[0].inputs[0].witness = {Bytes{2}};
     },
     "bad-witness-merkle-match", true},
    {"nonce of 31 bytes",
     [](BlockSpec& s) {
         s.coinbase = coinbase_for(s);
         s.coinbase->inputs[0].witness = {Bytes(31, 0)};
     },
     "bad-witness-nonce-size", true},
    {"two witness items in the coinbase",
     [](BlockSpec& s) {
         s.coinbase = coinbase_for(s);
         s.coinbase->inputs[0].witness = {Bytes(32, 0), Bytes(32, 0)};
     },
     "bad-witness-nonce-size", true},
    {"commitment without a nonce",
     [](BlockSpec& s) {
         s.coinbase = coinbase_for(s);
         s.coinbase->inputs[0].witness.clear();
     },
     "bad-witness-nonce-size", true},
    {"another nonce than was committed to",
     [](BlockSpec& s) {
         s.coinbase = coinbase_for(s);
         s.coinbase->inputs[0].witness = {Bytes(32, 1)};
     },
     "bad-witness-merkle-match", true},
    {"weight above the limit",
     [](BlockSpec& s) {
         TransactionSpec transaction = spend(kSomeOutpoint, 5);
         transaction.inputs[0].witness = {Bytes(4'000'000, 0)};
         s.transactions = {transaction};
     },
     "bad-blk-weight"},
};

}  // namespace

TEST_SUITE_BEGIN("chain.block_checks");

TEST_CASE("each rule of a block has its reject reason") {
    for (const Case& c : kCases) {
        CAPTURE(c.name);
        BlockSpec spec = child_spec(regtest_genesis());
        c.change(spec);
        const Verdict verdict = verdict_on(check(build_block(spec)));
        CHECK((verdict ? verdict->reason : std::string()) == c.reason);
        if (verdict) CHECK((verdict->kind == Rejection::Kind::mutated) == c.mutated);
    }
}

TEST_CASE("a witness root that was worked out ahead decides like one that was not") {
    const auto verdict_of = [](std::size_t witness_size, bool changed) {
        BlockSpec spec = child_spec(regtest_genesis());
        TransactionSpec transaction = spend(kSomeOutpoint, 5);
        transaction.inputs[0].witness = {Bytes(witness_size, 1)};
        spec.transactions = {transaction};
        spec.coinbase = coinbase_for(spec);
        if (changed) spec.transactions[0].inputs[0].witness[0][0] = 2;
        const SharedBytes raw = build_block(spec).raw;
        WitnessRootAhead ahead(raw);
        auto parsed = ParsedBlock::parse(raw);
        REQUIRE(parsed);
        CHECK(ahead.root().has_value() == (witness_size > 200'000));
        return CheckedBlock::check(std::move(*parsed), params(), true, &ahead).witness;
    };
    for (const std::size_t size : {100U, 300'000U}) {
        CAPTURE(size);
        CHECK_FALSE(verdict_of(size, false));
        CHECK(verdict_of(size, true)->reason == "bad-witness-merkle-match");
    }
}

TEST_CASE("bytes that are no block have no witness root, and may be given up at any time") {
    const SharedBytes raw = SharedBytes::copy_of(Bytes(300'000, 0xff));
    CHECK_FALSE(WitnessRootAhead(raw).root());
    const WitnessRootAhead never_asked(raw);
}

TEST_CASE("with the reason comes Core's message") {
    const auto text_of = [](const BlockSpec& spec) {
        const Verdict verdict = verdict_on(check(build_block(spec)));
        return verdict ? verdict->text() : std::string();
    };
    BlockSpec two_coinbases = child_spec(regtest_genesis());
    two_coinbases.transactions = {coinbase_for(two_coinbases)};
    CHECK(text_of(two_coinbases) == "bad-cb-multiple, more than one coinbase");
    BlockSpec negative = child_spec(regtest_genesis());
    negative.transactions = {spend(kSomeOutpoint, -1)};
    CHECK(text_of(negative) == "bad-txns-vout-negative, Transaction check failed (tx hash " +
                                   negative.transactions[0].txid().display_hex() + ") ");
    BlockSpec heavy = child_spec(regtest_genesis());
    heavy.transactions = {spend(kSomeOutpoint, 5)};
    heavy.transactions[0].inputs[0].witness = {Bytes(4'000'000, 0)};
    CHECK(text_of(heavy) == "bad-blk-weight, ContextualCheckBlock : weight limit failed");
    CHECK(Rejection{.reason = "bad-cb-amount"}.text() == "bad-cb-amount");
}

TEST_CASE("a block without transactions is too short, if its merkle root is that of none") {
    BlockHeader header;
    header.version = 0x20000000;
    header.previous = params().genesis_hash;
    header.bits = 0x207fffff;
    mine_header(header, params().pow_limit);
    Bytes raw;
    append(raw, header.encode());
    raw.push_back(0);
    const auto parsed = ParsedBlock::parse(SharedBytes::copy_of(raw));
    REQUIRE(parsed);
    CHECK(check_block_context_free(*parsed, params())->reason == "bad-blk-length");
}

TEST_CASE("before segwit no witness is allowed, whatever commits to it") {
    ChainParams rules = params();
    rules.segwit_height = {100};
    BlockSpec spec = child_spec(regtest_genesis());
    CHECK(verdict_on(check(build_block(spec)), rules)->reason == "unexpected-witness");
    spec.commit_to_witness = false;
    CHECK_FALSE(verdict_on(check(build_block(spec)), rules));
}

TEST_CASE("before CSV time locks are held against the block's own time") {
    ChainParams rules = params();
    rules.csv_height = {100};
    BlockSpec spec = child_spec(regtest_genesis());
    TransactionSpec transaction = spend(kSomeOutpoint, 5);
    transaction.inputs[0].sequence = 0;
    transaction.lock_time = spec.time - 1;
    spec.transactions = {transaction};
    CHECK_FALSE(verdict_on(check(build_block(spec)), rules));
    CHECK(verdict_on(check(build_block(spec)))->reason == "bad-txns-nonfinal");
}

TEST_CASE("genesis of every chain passes its own rules") {
    for (ChainKind kind :
         {ChainKind::main, ChainKind::testnet3, ChainKind::testnet4, ChainKind::signet, ChainKind::regtest}) {
        const ChainParams& rules = chain_params(kind);
        CAPTURE(rules.name);
        const auto genesis = ParsedBlock::parse(SharedBytes::copy_of(rules.genesis));
        REQUIRE(genesis);
        CHECK_FALSE(check_block_context_free(*genesis, rules));
    }
}

TEST_CASE("the proof of work can be left out for a block that is still to be mined") {
    BlockSpec spec = child_spec(regtest_genesis());
    spec.valid_proof_of_work = false;
    const auto parsed = ParsedBlock::parse(build_block(spec).raw);
    REQUIRE(parsed);
    CHECK(check_block_context_free(*parsed, params())->reason == "high-hash");
    CHECK_FALSE(check_block_context_free(*parsed, params(), false));
}

TEST_SUITE_END();
TEST_SUITE_BEGIN("chain.submitted_block");

TEST_CASE("a coinbase without the witness that it commits to is given it") {
    BlockSpec spec = child_spec(regtest_genesis());
    const BuiltBlock whole = build_block(spec);
    spec.coinbase = whole.coinbase;
    spec.coinbase->inputs[0].witness.clear();
    const BuiltBlock bare = build_block(spec);
    REQUIRE(bare.hash == whole.hash);
    const auto parsed = ParsedBlock::parse(bare.raw);
    REQUIRE(parsed);
    const auto completed = complete_coinbase_witness(*parsed);
    REQUIRE(completed);
    CHECK(std::ranges::equal(completed->raw().bytes(), whole.raw.bytes()));
    CHECK_FALSE(complete_coinbase_witness(*completed));
    spec.coinbase.reset();
    spec.commit_to_witness = false;
    const auto without = ParsedBlock::parse(build_block(spec).raw);
    REQUIRE(without);
    CHECK_FALSE(complete_coinbase_witness(*without));
}

TEST_CASE("what is submitted is decoded as Core decodes it") {
    const BuiltBlock block = child_of(regtest_genesis());
    const Bytes bytes(block.raw.data(), block.raw.data() + block.raw.size());
    const auto decode = [](const Bytes& raw) { return decode_submitted_block(SharedBytes::copy_of(raw)); };
    CHECK(decode(bytes)->hash() == block.hash);
    Bytes trailing = bytes;
    trailing.insert(trailing.end(), 1000, 0xff);
    const auto decoded = decode(trailing);
    REQUIRE(decoded);
    CHECK(std::ranges::equal(decoded->raw().bytes(), block.raw.bytes()));
    CHECK(decoded->raw().use_count() <= 2);
    for (std::size_t length : {std::size_t{0}, std::size_t{79}, std::size_t{80}, bytes.size() - 1}) {
        const auto cut = decode(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length)));
        REQUIRE_FALSE(cut);
        CHECK(cut.error().context == "Block decode failed");
    }
    Bytes empty(bytes.begin(), bytes.begin() + 80);
    empty.push_back(0);
    CHECK(decode(empty).error().context == "Block does not start with a coinbase");
    BlockSpec spec = child_spec(regtest_genesis());
    spec.coinbase = spend(kSomeOutpoint, 5);
    CHECK(decode_submitted_block(build_block(spec).raw).error().context ==
          "Block does not start with a coinbase");
}
