// SPDX-License-Identifier: MIT
#include "node_parts.hpp"

#include "base/check.hpp"
#include "base/endian.hpp"
#include "primitives/block.hpp"
#include "support/coin_options.hpp"

#include <doctest/doctest.h>
#include <zmq.h>

#include <cstdlib>
#include <thread>
#include <utility>

namespace blockpub::test {
namespace {

constexpr int kPatienceMs = 60'000;

StoreOptions store_options(const std::filesystem::path& directory, LineLogger& logger,
                           CountedFaults& faults) {
    const ChainParams& params = chain_params(ChainKind::regtest);
    StoreOptions options;
    options.directory = directory;
    options.network_magic = params.magic;
    options.genesis_hash = params.genesis_hash;
    options.segment_bytes = std::uint64_t{16} << 20;
    options.map_bytes = std::uint64_t{1} << 30;
    options.min_free_disk = 0;
    options.logger = &logger;
    options.faults = &faults;
    return options;
}

CoinStoreOptions coin_options(const std::filesystem::path& directory, std::uint64_t budget,
                              LineLogger& logger, FlushFaults& faults) {
    CoinStoreOptions options = test::coin_options(directory);
    options.budget_bytes = budget;
    options.retry_first = std::chrono::milliseconds(5);
    options.retry_longest = std::chrono::milliseconds(20);
    options.logger = &logger;
    options.faults = &faults;
    return options;
}

std::vector<std::uint8_t> display(const auto& hash) {
    const auto bytes = hash.display_bytes();
    return {bytes.begin(), bytes.end()};
}

std::vector<std::uint8_t> copy(ByteSpan bytes) {
    return {bytes.begin(), bytes.end()};
}

}  // namespace

TemporaryDirectory::TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "blockpub-test-XXXXXX").string();
    BLOCKPUB_CHECK(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
}

TemporaryDirectory::~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

void LineLogger::write(LogLevel level, LogCategory, std::string_view line) noexcept {
    if (level < LogLevel::warning) return;
    const MutexLock lock(mutex_);
    complaints_.emplace_back(line);
}

std::vector<std::string> LineLogger::complaints() const {
    const MutexLock lock(mutex_);
    return complaints_;
}

void CountedFaults::fail_next(Point point, int code, int times) noexcept {
    left_.store(0);
    point_.store(static_cast<int>(point));
    code_.store(code);
    left_.store(times);
}

int CountedFaults::at(Point point) noexcept {
    if (static_cast<int>(point) != point_.load()) return 0;
    int left = left_.load();
    while (left > 0 && !left_.compare_exchange_weak(left, left - 1)) {
    }
    if (left <= 0) return 0;
    ++failed_;
    return code_.load();
}

void FaultyReader::fail_on(const BlockHash& hash, int times) {
    const MutexLock lock(mutex_);
    failing_ = hash;
    times_ = times;
}

void FaultyReader::stop_failing() {
    const MutexLock lock(mutex_);
    failing_.reset();
}

void FaultyReader::pass_gate() {
    if (Mutex* const gate = gate_.load(); gate != nullptr) {
        const MutexLock lock(*gate);
    }
}

Result<SharedBytes> FaultyReader::read_block(const BlockHash& hash) {
    ++reads_;
    pass_gate();
    {
        const MutexLock lock(mutex_);
        if (failing_ == hash && times_ > 0) {
            --times_;
            return fail(Errc::io, "injected: the block cannot be read");
        }
    }
    return behind_.read_block(hash);
}

Result<MappedBytes> FaultyReader::map_block(const BlockHash& hash) {
    pass_gate();
    return behind_.map_block(hash);
}

TestSubscriber::TestSubscriber(const std::string& endpoint, const std::string& prefix)
    : context_(zmq_ctx_new()), socket_(zmq_socket(context_, ZMQ_SUB)) {
    const int none = 0;
    BLOCKPUB_CHECK(zmq_setsockopt(socket_, ZMQ_RCVHWM, &none, sizeof none) == 0);
    BLOCKPUB_CHECK(zmq_setsockopt(socket_, ZMQ_LINGER, &none, sizeof none) == 0);
    BLOCKPUB_CHECK(zmq_setsockopt(socket_, ZMQ_SUBSCRIBE, prefix.data(), prefix.size()) == 0);
    BLOCKPUB_CHECK(zmq_connect(socket_, endpoint.c_str()) == 0);
}

TestSubscriber::~TestSubscriber() {
    zmq_close(socket_);
    zmq_ctx_term(context_);
}

std::optional<Message> TestSubscriber::receive(int timeout_ms) {
    BLOCKPUB_CHECK(zmq_setsockopt(socket_, ZMQ_RCVTIMEO, &timeout_ms, sizeof timeout_ms) == 0);
    std::vector<std::vector<std::uint8_t>> frames;
    for (int more = 1; more != 0;) {
        zmq_msg_t frame;
        zmq_msg_init(&frame);
        if (zmq_msg_recv(&frame, socket_, 0) < 0) {
            zmq_msg_close(&frame);
            return std::nullopt;
        }
        const auto* bytes = static_cast<const std::uint8_t*>(zmq_msg_data(&frame));
        frames.emplace_back(bytes, bytes + zmq_msg_size(&frame));
        more = zmq_msg_more(&frame);
        zmq_msg_close(&frame);
    }
    BLOCKPUB_CHECK(frames.size() == 3 && frames[2].size() == 4);
    return Message{.topic = {frames[0].begin(), frames[0].end()},
                   .body = std::move(frames[1]),
                   .counter = read_le<std::uint32_t>(frames[2].data())};
}

std::vector<std::pair<std::string, std::vector<std::uint8_t>>> connect_messages(const BuiltBlock& block) {
    std::vector<std::pair<std::string, std::vector<std::uint8_t>>> out;
    const auto parsed = ParsedBlock::parse(block.raw);
    BLOCKPUB_CHECK(parsed.has_value());
    for (std::size_t i = 0; i < parsed->transactions().size(); ++i) {
        out.emplace_back("hashtx", display(parsed->transactions()[i].txid));
        const SharedBytes raw = parsed->raw_transaction(i);
        out.emplace_back("rawtx", copy(raw.bytes()));
    }
    auto connected = display(block.hash);
    connected.push_back('C');
    out.emplace_back("sequence", std::move(connected));
    out.emplace_back("hashblock", display(block.hash));
    out.emplace_back("rawblock", copy(block.raw.bytes()));
    return out;
}

void FlushFaults::fail_at(Point point, int code) {
    const MutexLock lock(mutex_);
    point_ = point;
    code_ = code;
}

void FlushFaults::hold() {
    const MutexLock lock(mutex_);
    held_ = true;
}

void FlushFaults::release() {
    const MutexLock lock(mutex_);
    held_ = false;
    changed_.notify_all();
}

bool FlushFaults::holding() const {
    const MutexLock lock(mutex_);
    return waiting_;
}

int FlushFaults::at(Point point) noexcept {
    const MutexLock lock(mutex_);
    while (held_ && point == Point::coin_put) {
        waiting_ = true;
        changed_.wait(mutex_);
    }
    waiting_ = false;
    return point == point_ ? code_ : 0;
}

NodeParts::NodeParts(const std::filesystem::path& directory, std::uint64_t coin_bytes)
    : tip(regtest_genesis()) {
    clock.set_fixed(static_cast<std::int64_t>(tip.time) + 4'000'000);
    auto opened = Store::open(store_options(directory, logger, faults));
    REQUIRE_MESSAGE(opened.has_value(), opened.error().context);
    store = std::move(*opened);
    if (coin_bytes != 0) {
        auto opened_coins = CoinStore::open(coin_options(directory, coin_bytes, logger, flush_faults));
        REQUIRE_MESSAGE(opened_coins.has_value(), opened_coins.error().context);
        coins = std::move(*opened_coins);
        ledger = std::make_unique<CoinsLedger>(chain_params(ChainKind::regtest), *coins);
    }
    EventIndex next = 0;
    {
        const auto snapshot = store->snapshot();
        REQUIRE(snapshot.has_value());
        next = snapshot->next_event().value();
    }
    bus = std::make_unique<Bus>(BusOptions{.log = store.get(), .next_index = next, .logger = &logger});
    cache = std::make_unique<BlockCache>(BlockCache::Options{.capacity_bytes = std::size_t{4} << 20});
    blocks = std::make_unique<CachedReader>(store->block_reader(), *cache);
    reader = std::make_unique<FaultyReader>(*blocks);
    publisher = make_publisher(*reader);
    ChainOptions options;
    options.params = &chain_params(ChainKind::regtest);
    options.store = store.get();
    options.bus = bus.get();
    options.cache = cache.get();
    options.clock = &clock;
    options.logger = &logger;
    options.coins = ledger.get();
    options.max_tip_age = std::chrono::hours(24 * 365);
    options.commit_retry_first = std::chrono::milliseconds(5);
    options.commit_retry_longest = std::chrono::milliseconds(20);
    auto started = Chain::start(options);
    REQUIRE_MESSAGE(started.has_value(), started.error().context);
    chain = std::move(*started);
}

NodeParts::~NodeParts() {
    close();
}

void NodeParts::close() {
    if (chain) chain->stop();
    publisher.reset();
    if (bus) bus->stop();
    chain.reset();
    bus.reset();
    reader.reset();
    blocks.reset();
    cache.reset();
    flush_faults.release();
    ledger.reset();
    coins.reset();
    store.reset();
}

std::unique_ptr<Publisher> NodeParts::make_publisher(BlockReader& block_reader) {
    PublisherOptions options;
    options.endpoint = "tcp://127.0.0.1:*";
    options.high_water_mark = 0;
    options.retry_first = std::chrono::milliseconds(5);
    options.retry_longest = std::chrono::milliseconds(20);
    for (const char* topic : {"hashblock", "hashtx", "rawblock", "rawtx", "sequence"}) {
        auto notifier = make_core_notifier(topic);
        REQUIRE(notifier.has_value());
        options.notifiers.push_back(std::move(*notifier));
    }
    auto bound = Publisher::bind(std::move(options), *bus, block_reader, logger);
    REQUIRE_MESSAGE(bound.has_value(), bound.error().context);
    return std::move(*bound);
}

BuiltBlock NodeParts::next_block() {
    return child_of(tip, ++salt_);
}

BuiltBlock NodeParts::next_block_with(std::size_t coins_made) {
    BlockSpec spec = child_spec(tip, ++salt_);
    spec.coinbase_amount = kCoin;
    TransactionSpec coinbase = detail::make_coinbase(spec);
    coinbase.outputs.insert(coinbase.outputs.begin(), coins_made, {.amount = 1, .script = {0x51}});
    spec.coinbase = std::move(coinbase);
    return build_block(spec);
}

void NodeParts::connect(const BuiltBlock& block) {
    const auto outcome = chain->submit_block(block.raw);
    REQUIRE_MESSAGE(outcome.has_value(), outcome.error().context);
    REQUIRE_MESSAGE(outcome->kind == BlockOutcome::Kind::connected, outcome->reason);
    tip = block;
}

void NodeParts::synchronize(TestSubscriber& subscriber) {
    for (int attempt = 0; attempt < 300; ++attempt) {
        connect(next_block());
        auto message = subscriber.receive(200);
        while (message) {
            counters_[message->topic] = message->counter + 1;
            if (message->topic == "rawblock" && message->body == copy(tip.raw.bytes())) return;
            message = subscriber.receive(kPatienceMs);
        }
    }
    FAIL("the subscriber hears nothing");
}

void NodeParts::expect_block(TestSubscriber& subscriber, const BuiltBlock& block) {
    for (const auto& [topic, body] : connect_messages(block)) {
        const auto message = subscriber.receive(kPatienceMs);
        REQUIRE_MESSAGE(message.has_value(), topic, " of height ", block.height.value, " does not come");
        CHECK(message->topic == topic);
        CHECK((message->body == body));
        CHECK(message->counter == counters_[topic]++);
    }
}

}  // namespace blockpub::test
