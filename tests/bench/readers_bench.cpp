// SPDX-License-Identifier: MIT
// N threads read blocks, once with the chain lock held over each read, once from snapshots without it. Both
// read the same blocks through the same reader. Goal: the second is at least 0.9 times the number of cores as
// fast.

#include "base/thread.hpp"
#include "bench_support.hpp"

#include <atomic>
#include <latch>
#include <thread>

using namespace blockpub;
using namespace blockpub::bench;

namespace {

constexpr auto kTime = std::chrono::milliseconds(1500);

std::vector<BlockHash> big_blocks(const Store& store) {
    const Snapshot snapshot = must(store.snapshot());
    std::vector<BlockHash> hashes;
    for (Height height{0}; height <= must(snapshot.tip()).height; height = height.next()) {
        const BlockHash hash = must(snapshot.active(height));
        if (must(snapshot.header(hash)).block->size > 100'000) hashes.push_back(hash);
    }
    if (hashes.empty()) give_up("the file has no block above 100 kB");
    return hashes;
}

/// Bytes a second that `threads` threads read together.
double measure(Node& node, const std::vector<BlockHash>& hashes, unsigned threads, bool locked) {
    std::atomic<bool> end{false};
    std::atomic<std::uint64_t> bytes{0};
    std::latch started(threads + 1);
    std::vector<std::jthread> readers;
    for (unsigned i = 0; i < threads; ++i) {
        readers.emplace_back([&, i] {
            started.arrive_and_wait();
            for (std::size_t next = i; !end.load(std::memory_order_relaxed); ++next) {
                const auto read = [&] {
                    bytes.fetch_add(
                        must(node.store->block_reader().read_block(hashes[next % hashes.size()])).size(),
                        std::memory_order_relaxed);
                };
                if (locked) {
                    const MutexLock lock(node.chain->chain_lock());
                    read();
                } else {
                    read();
                }
            }
        });
    }
    started.arrive_and_wait();
    const auto begin = SteadyClock::now();
    std::this_thread::sleep_for(kTime);
    end = true;
    const std::uint64_t total = bytes;
    const double seconds = seconds_since(begin);
    readers.clear();
    return static_cast<double>(total) / seconds;
}

}  // namespace

int main(int argc, char** argv) {
    Node node;
    static_cast<void>(node.import(big_vectors(argc, argv)));
    const auto hashes = big_blocks(*node.store);
    const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
    static_cast<void>(measure(node, hashes, 1, false));  // pages in what all others read
    for (const unsigned threads : {1U, 2U, 4U, 8U, 16U}) {
        const double locked = measure(node, hashes, threads, true);
        const double free = measure(node, hashes, threads, false);
        fmt::print(
            "{:2} threads: lock held {:.2f} GB/s, snapshots {:.2f} GB/s: {:.2f} times, {:.2f} a core of {}\n",
            threads, locked / 1e9, free / 1e9, free / locked, free / locked / cores, cores);
        fmt::print(
            "{{\"bench\":\"readers\",\"threads\":{},\"cores\":{},\"locked_gb_s\":{:.3f},\"snapshots_gb_s\":{:"
            ".3f},"
            "\"ratio\":{:.3f}}}\n",
            threads, cores, locked / 1e9, free / 1e9, free / locked);
    }
}
