// SPDX-License-Identifier: MIT
// The hot loops alone: time for each item, and, run under callgrind with one loop named, its instructions.
//
//   bench_loops FILE                 times every loop
//   bench_loops FILE LOOP COUNT      runs one of them COUNT times, for callgrind

#include "base/endian.hpp"
#include "base/hex.hpp"
#include "base/text_appender.hpp"
#include "bench_support.hpp"
#include "chain/block_checks.hpp"
#include "primitives/merkle.hpp"
#include "primitives/sha256.hpp"
#include "query/json_reader.hpp"
#include "query/transaction_json.hpp"
#include "source/file.hpp"

#include <cstring>
#include <functional>
#include <string>
#include <string_view>

using namespace blockpub;
using namespace blockpub::bench;

namespace {

constexpr int kRounds = 40;

/// Keeps the compiler from dropping what computes `value`.
template <class T>
void keep(const T& value) {
    asm volatile("" : : "g"(&value) : "memory");
}

/// The largest block of a file of records.
SharedBytes largest_block(const std::filesystem::path& path) {
    const File file = must(File::open_for_reading(path));
    std::vector<std::uint8_t> bytes(std::filesystem::file_size(path));
    if (must(file.read_at(0, bytes)) != bytes.size()) give_up("the file cannot be read");
    ByteSpan largest;
    constexpr std::size_t kPrefix = 8;  // magic and length
    for (ByteSpan rest = bytes; rest.size() > kPrefix;) {
        const std::size_t size = read_le<std::uint32_t>(rest.data() + 4);
        if (size > rest.size() - kPrefix) give_up("the file is cut short");
        if (size > largest.size()) largest = rest.subspan(kPrefix, size);
        rest = rest.subspan(kPrefix + size);
    }
    return SharedBytes::copy_of(largest);
}

struct Loop {
    const char* name;
    const char* unit;
    std::size_t units;  ///< in one run
    std::function<void()> run;
};

std::vector<Loop> loops_over(const SharedBytes& raw) {
    const auto block = std::make_shared<const ParsedBlock>(must(ParsedBlock::parse(raw)));
    const auto digits = std::make_shared<std::string>(encode_hex(raw.bytes()));
    const auto request = std::make_shared<std::string>("{\"params\":[\"" + *digits + "\"]}");
    const std::size_t count = block->transactions().size();
    std::vector<Digest256> leaves(count);
    for (std::size_t i = 0; i < count; ++i) leaves[i] = block->transactions()[i].txid.wire_bytes();
    const ChainParams& params = chain_params(ChainKind::regtest);
    return {
        {"sha256d_64", "64 bytes", leaves.size() - 1,
         [leaves] {
             for (std::size_t i = 1; i < leaves.size(); ++i) keep(sha256d_pair(leaves[i - 1], leaves[i]));
         }},
        {"sha256d_250", "250 bytes", raw.size() / 250,
         [raw] {
             const ByteSpan bytes = raw.bytes();
             for (std::size_t at = 0; at + 250 <= bytes.size(); at += 250)
                 keep(sha256d(bytes.subspan(at, 250)));
         }},
        {"transaction_parse", "transaction", count,
         [block] {
             for (std::size_t i = 0; i < block->transactions().size(); ++i) keep(block->transaction(i));
         }},
        {"block_parse", "transaction", count, [raw] { keep(must(ParsedBlock::parse(raw))); }},
        {"block_checks", "transaction", count,
         [block, &params] { keep(CheckedBlock::check(*block, params)); }},
        {"merkle_root", "transaction", count, [leaves] { keep(merkle_root(leaves)); }},
        {"hex_encode", "byte", raw.size(), [raw, digits] { encode_hex_to(raw.bytes(), digits->data()); }},
        {"hex_decode", "byte", raw.size(),
         [digits, out = std::vector<std::uint8_t>(raw.size())]() mutable {
             if (!decode_hex_to(*digits, out)) give_up("hexadecimal digits do not decode");
         }},
        {"transaction_json", "transaction", count,
         [block, &params, text = std::string()]() mutable {
             text.clear();
             TextAppender out(text);
             TransactionWriter writer(out, params);
             for (std::size_t i = 0; i < block->transactions().size(); ++i) {
                 const TransactionDetail detail{.txid = block->transactions()[i].txid.wire_bytes()};
                 must(writer.append_members(block->transaction(i), detail));
             }
             keep(out.size());
         }},
        {"json_scan", "byte", request->size(),
         [request, document = std::make_shared<JsonDocument>()] {
             if (!document->parse(*request)) give_up("JSON does not parse");
         }},
    };
}

/// Nanoseconds for one unit, in the best of several runs: the one that was disturbed least.
double time_of(const Loop& loop) {
    double best = 0;
    for (int round = 0; round < kRounds; ++round) {
        const auto begin = SteadyClock::now();
        loop.run();
        const double seconds = seconds_since(begin);
        if (round == 0 || seconds < best) best = seconds;
    }
    return best * 1e9 / static_cast<double>(loop.units);
}

}  // namespace

int main(int argc, char** argv) {
    const SharedBytes raw = largest_block(big_vectors(argc, argv));
    const std::vector<Loop> loops = loops_over(raw);
    if (argc > 3) {
        for (const Loop& loop : loops) {
            if (std::string_view(argv[2]) != loop.name) continue;
            for (int left = std::atoi(argv[3]); left > 0; --left) loop.run();
            fmt::print("{}\n", loop.units);
            return 0;
        }
        give_up("no such loop");
    }
    for (const Loop& loop : loops) {
        const double time = time_of(loop);
        fmt::print("{:18} {:8.2f} ns for each {}, {:.2f} ms for a block of {} bytes\n", loop.name, time,
                   loop.unit, time * static_cast<double>(loop.units) / 1e6, raw.size());
        fmt::print("{{\"bench\":\"loops\",\"loop\":\"{}\",\"unit\":\"{}\",\"ns\":{:.3f},\"units\":{}}}\n",
                   loop.name, loop.unit, time, loop.units);
    }
}
