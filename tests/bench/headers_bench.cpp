// SPDX-License-Identifier: MIT
// The start of a store that holds a million headers, all of them in the active chain, after the process that
// wrote it was killed: opening it, the header tree, and the chain thread's readiness. Goal: 10 s.

#include "base/endian.hpp"
#include "bench_support.hpp"
#include "primitives/header.hpp"
#include "primitives/work.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

using namespace blockpub;
using namespace blockpub::bench;

namespace {

constexpr std::uint32_t kHeaders = 1'000'000;
constexpr std::uint32_t kPerCommit = 50'000;
constexpr int kStarts = 5;

StoreOptions options_of(const std::filesystem::path& directory) {
    const ChainParams& params = chain_params(ChainKind::regtest);
    StoreOptions options;
    options.directory = directory;
    options.network_magic = params.magic;
    options.genesis_hash = params.genesis_hash;
    return options;
}

/// What an import of empty blocks would have left in the chain tables. The work in the headers is none: a
/// start trusts what it has checked before.
class Chronicle {
 public:
    explicit Chronicle(const std::filesystem::path& directory)
        : store_(must(Store::open(options_of(directory)))) {}

    void write() {
        const ChainParams& params = chain_params(ChainKind::regtest);
        must(store_->append_blob(SharedBytes::copy_of(params.genesis)));
        add(BlockHeader::decode(ByteSpan(params.genesis).first(BlockHeader::kSize)));
        while (next_.value < kHeaders) {
            BlockHeader header;
            header.version = 4;
            header.previous = tip_.hash;
            write_le(merkle_root_.data(), next_.value);
            header.merkle_root = MerkleRoot(merkle_root_);
            header.time = 1'296'688'602 + next_.value;
            header.bits = 0x207fffff;
            add(header);
        }
        flush();
    }

 private:
    void add(const BlockHeader& header) {
        work_ = work_ + block_work(header.bits);
        HeaderRecord record;
        record.header = header.encode();
        record.height = next_;
        record.chainwork = work_.big_endian();
        record.status = HeaderRecord::kConnected | HeaderRecord::kHasChain;
        record.arrival = next_.value + 1;
        record.tx_count = 1;
        record.chain_tx_count = next_.value + 1;
        record.block = BlobPlace{.segment = 0, .number = 0, .size = 285};
        EventRecord event;
        event.index = next_.value;
        event.hash = header.hash();
        event.previous_hash = tip_.hash;
        event.height = next_;
        if (next_.value > 0) event.step_end = EventRecord::StepEnd{tip_.hash, tip_.height, true};
        tip_ = {event.hash, next_};
        next_ = next_.next();
        changes_.headers.emplace_back(tip_.hash, record);
        changes_.active.emplace_back(tip_.height, tip_.hash);
        changes_.events.push_back(event);
        if (changes_.events.size() == kPerCommit) flush();
    }

    void flush() {
        if (last_leaf_) changes_.tips.emplace_back(*last_leaf_, false);
        changes_.tips.emplace_back(tip_.hash, true);
        last_leaf_ = tip_.hash;
        changes_.tip = tip_;
        store_->apply(std::exchange(changes_, {}));
        must(store_->commit());
    }

    std::unique_ptr<Store> store_;
    StoreChanges changes_;
    Tip tip_;
    Height next_;
    Uint256 work_;
    std::array<std::uint8_t, 32> merkle_root_{};
    std::optional<BlockHash> last_leaf_;
};

/// Writes the store in a process of its own, which does not live to close it.
void write_and_die(const std::filesystem::path& directory) {
    const pid_t child = ::fork();
    if (child < 0) give_up("cannot fork");
    if (child == 0) {
        Chronicle(directory).write();
        ::kill(::getpid(), SIGKILL);
    }
    int status = 0;
    if (::waitpid(child, &status, 0) != child || !WIFSIGNALED(status)) give_up("the store was not written");
}

struct Start {
    double store = 0;
    double whole = 0;
};

Start start_once(const std::filesystem::path& directory) {
    const ChainParams& params = chain_params(ChainKind::regtest);
    NullLogger logger;
    Clock clock;
    const auto begin = SteadyClock::now();
    const auto store = must(Store::open(options_of(directory)));
    Start start{.store = seconds_since(begin)};
    const EventIndex next = must(must(store->snapshot()).next_event());
    Bus bus(BusOptions{.log = store.get(), .next_index = next});
    ChainOptions options;
    options.params = &params;
    options.store = store.get();
    options.bus = &bus;
    options.clock = &clock;
    options.logger = &logger;
    const auto chain = must(Chain::start(options));
    start.whole = seconds_since(begin);
    if (chain->status().tip.height.value + 1 != kHeaders) give_up("not all headers were found");
    chain->stop();
    return start;
}

}  // namespace

int main() {
    const test::TemporaryDirectory directory;
    write_and_die(directory.path());
    std::vector<double> stores;
    std::vector<double> wholes;
    for (int i = 0; i < kStarts; ++i) {
        const Start start = start_once(directory.path());
        stores.push_back(start.store);
        wholes.push_back(start.whole);
    }
    fmt::print(
        "start with {} headers: first {:.2f} s, median {:.2f} s, of which opening the store {:.2f} s\n",
        kHeaders, wholes.front(), median(wholes), median(stores));
    fmt::print(
        "{{\"bench\":\"headers\",\"headers\":{},\"first_s\":{:.3f},\"median_s\":{:.3f},\"store_s\":{:.3f},"
        "\"goal_s\":10}}\n",
        kHeaders, wholes.front(), median(wholes), median(stores));
}
