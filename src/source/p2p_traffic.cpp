// SPDX-License-Identifier: MIT
#include "source/p2p_traffic.hpp"

#include <algorithm>
#include <array>

namespace blockpub {
namespace {

constexpr std::array<std::string_view, 37> kCountedNames{
    "version",     "verack",      "wtxidrelay",   "sendaddrv2",   "sendheaders", "sendcmpct", "sendtxrcncl",
    "ping",        "pong",        "getheaders",   "headers",      "getblocks",   "inv",       "getdata",
    "notfound",    "block",       "tx",           "feefilter",    "cmpctblock",  "blocktxn",  "getblocktxn",
    "addr",        "addrv2",      "getaddr",      "mempool",      "filterload",  "filteradd", "filterclear",
    "merkleblock", "getcfilters", "getcfheaders", "getcfcheckpt", "cfilter",     "cfheaders", "cfcheckpt",
    "reject",      "alert"};

void count_message(PeerRow::Counts& counts, std::string_view name, std::size_t bytes) {
    if (std::ranges::find(kCountedNames, name) == kCountedNames.end()) name = "*other*";
    const auto found = counts.find(name);
    if (found != counts.end()) {
        found->second += bytes;
    } else {
        counts.emplace(name, bytes);
    }
}

}  // namespace

void PeerTraffic::add_sent(std::string_view message, std::size_t bytes) {
    sent_ += bytes;
    count_message(sent_by_message_, message, bytes);
}

void PeerTraffic::add_received(std::string_view message, std::size_t bytes) {
    count_message(received_by_message_, message, bytes);
}

void PeerTraffic::show(PeerRow& row) const {
    row.bytes_sent = sent_;
    row.bytes_received = received_;
    row.sent_by_message = sent_by_message_;
    row.received_by_message = received_by_message_;
}

}  // namespace blockpub
