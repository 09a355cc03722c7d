// SPDX-License-Identifier: MIT
#include "daemon/mempool_settings.hpp"

#include "query/rpc_amount.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace blockpub {
namespace {

constexpr std::int64_t kMegabyte = 1'000'000;
constexpr std::int64_t kKilobyte = 1'000;
/// The largest family must not fill more than a part of it.
constexpr std::int64_t kFewestFamilies = 40;

Result<void> read_rate(const Settings& settings, const char* name, FeeRate& rate) {
    const auto text = settings.text(name);
    if (!text) return {};
    const auto amount = parse_amount(*text);
    if (!amount || *amount < 0 || *amount > kMaxMoney) {
        return fail(Errc::invalid_argument,
                    fmt::format("Invalid amount for -{}=<amount>: '{}'", name, *text));
    }
    rate.per_kvb = *amount;
    return {};
}

Result<void> read_rates(const Settings& settings, MempoolPolicy& policy) {
    if (auto read = read_rate(settings, "incrementalrelayfee", policy.incremental); !read) return read;
    if (settings.text("minrelaytxfee")) {
        if (auto read = read_rate(settings, "minrelaytxfee", policy.min_relay); !read) return read;
    } else {
        // One option for both, as in bitcoind.
        policy.min_relay = std::max(policy.min_relay, policy.incremental);
    }
    return read_rate(settings, "dustrelayfee", policy.dust_relay);
}

void read_limits(const Settings& settings, MempoolFamilyLimits& limits) {
    const auto count = [&](const char* name, std::uint64_t fallback) {
        return static_cast<std::uint64_t>(settings.integer(name, static_cast<std::int64_t>(fallback)));
    };
    limits.ancestor_count = count("limitancestorcount", limits.ancestor_count);
    limits.descendant_count = count("limitdescendantcount", limits.descendant_count);
    limits.ancestor_vsize =
        settings.integer("limitancestorsize", limits.ancestor_vsize / kKilobyte) * kKilobyte;
    limits.descendant_vsize =
        settings.integer("limitdescendantsize", limits.descendant_vsize / kKilobyte) * kKilobyte;
}

Result<void> read_standard(const Settings& settings, const ChainParams& params, MempoolPolicy& policy) {
    policy.require_standard = !settings.flag("acceptnonstdtxn", false);
    if (!policy.require_standard && params.kind == ChainKind::main) {
        return fail(Errc::invalid_argument,
                    fmt::format("acceptnonstdtxn is not currently supported for {} chain", params.name));
    }
    policy.permit_bare_multisig = settings.flag("permitbaremultisig", policy.permit_bare_multisig);
    if (!settings.flag("datacarrier", true)) {
        policy.max_datacarrier_bytes.reset();
    } else {
        policy.max_datacarrier_bytes = static_cast<std::size_t>(
            settings.integer("datacarriersize", static_cast<std::int64_t>(*policy.max_datacarrier_bytes)));
    }
    policy.bytes_per_sigop = static_cast<unsigned>(settings.integer("bytespersigop", policy.bytes_per_sigop));
    return {};
}

}  // namespace

Result<MempoolSettings> read_mempool_settings(const Settings& settings, const ChainParams& params) {
    MempoolSettings mempool;
    read_limits(settings, mempool.policy.limits);
    if (auto read = read_rates(settings, mempool.policy); !read) return forward_error(read);
    if (auto read = read_standard(settings, params, mempool.policy); !read) return forward_error(read);
    mempool.policy.full_replacement = settings.flag("mempoolfullrbf", mempool.policy.full_replacement);
    const std::int64_t megabytes =
        settings.integer("maxmempool", static_cast<std::int64_t>(mempool.max_bytes) / kMegabyte);
    const std::int64_t least = mempool.policy.limits.descendant_vsize * kFewestFamilies;
    if (megabytes < 0 || megabytes * kMegabyte < least) {
        return fail(Errc::invalid_argument,
                    fmt::format("-maxmempool must be at least {} MB", (least + kMegabyte - 1) / kMegabyte));
    }
    mempool.max_bytes = static_cast<std::size_t>(megabytes * kMegabyte);
    mempool.expiry = std::chrono::hours(settings.integer("mempoolexpiry", 336));
    mempool.persist = settings.flag("persistmempool", true);
    return mempool;
}

}  // namespace blockpub
