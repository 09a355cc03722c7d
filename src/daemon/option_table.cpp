// SPDX-License-Identifier: MIT
#include "daemon/option_table.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace blockpub {
namespace {

using enum OptionGroup;
using enum OptionKind;

constexpr std::int64_t kNoMinimum = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kNoMaximum = std::numeric_limits<std::int64_t>::max();

constexpr OptionSpec kOptions[] = {
    {"help", "", general, flag, "Print this and exit (also -? and -h)"},
    {"version", "", general, flag, "Print the version and exit"},
    {"conf", "<file>", general, text,
     "Configuration file; a relative path starts at the data directory. May be the node's own bitcoin.conf: "
     "its "
     "[blockpub] section then overrides (default: blockpub.conf, or bitcoin.conf where only that is there)"},
    {"datadir", "<dir>", general, text, "Data directory (default: ~/.blockpub)"},
    {"includeconf", "<file>", general, list,
     "Another configuration file to read; in a configuration file only, a relative path starts at the data "
     "directory"},
    {"daemon", "", general, flag, "Run in the background (default: 0)"},
    {"daemonwait", "", general, flag,
     "As -daemon, and return only when the start is done or has failed (default: 0)"},
    {"pid", "<file>", general, text,
     "File for the process id; a relative path starts at the chain's directory (default: blockpubd.pid)"},
    {"blocknotify", "<cmd>", general, text, "Run a command when the tip changes; %s is the block hash",
     kNoMinimum, kNoMaximum, false, true},
    {"startupnotify", "<cmd>", general, text, "Run a command when the daemon is ready", kNoMinimum,
     kNoMaximum, false, true},
    {"shutdownnotify", "<cmd>", general, text, "Run a command before the daemon stops", kNoMinimum,
     kNoMaximum, false, true},
    {"mocktime", "<n>", general, integer,
     "Fix the clock at a Unix time, in seconds; 0 lets it run (default: 0)", 0, std::int64_t{1} << 33},

    {"chain", "<chain>", chain, text, "One of main, test, testnet4, signet, regtest (default: main)"},
    {"testnet", "", chain, flag, "The same as -chain=test, the third test network"},
    {"testnet4", "", chain, flag, "The same as -chain=testnet4"},
    {"signet", "", chain, flag, "The same as -chain=signet"},
    {"regtest", "", chain, flag, "The same as -chain=regtest"},
    {"minimumchainwork", "<hex>", chain, text,
     "Work below which a chain counts as being in initial download, in hexadecimal (default: bitcoind 28.1's "
     "for the "
     "chain)"},
    {"maxtipage", "<n>", chain, integer,
     "Age of the tip in seconds beyond which initial download lasts (default: 86400)", 1, kNoMaximum},

    {"loadblock", "<file>", source, list,
     "Import blocks from a file of blk*.dat records at start, plain or with the key in the xor.dat beside it "
     "(may be "
     "repeated)"},
    {"importblocks", "<dir>", source, text,
     "Import a bitcoind 'blocks' directory at start, obfuscated or not; takes up where an earlier run "
     "stopped"},
    {"exportblocks", "<dir>", source, text,
     "Write the blocks of the active chain into blk*.dat files in an empty or new directory, then exit"},
    {"exportkey", "<hex>", source, text,
     "Obfuscate exported files with this key of 8 bytes (or the word random), and write it to xor.dat "
     "(default: none)"},
    {"stopafterblockimport", "", source, flag,
     "Exit when -loadblock and -importblocks are done (default: 0)"},
    {"connect", "<ip>", source, list,
     "Follow the node at <host>[:<port>], by its P2P port, and call no other; 0 for none (default: 0; may be "
     "repeated; port: 8333, testnet3 18333, testnet4 48333, signet 38333, regtest 18444)",
     kNoMinimum, kNoMaximum, true},
    {"addnode", "<ip>", source, list,
     "Follow this node, too; as -connect, but the RPC addnode can take it off the list (may be repeated)",
     kNoMinimum, kNoMaximum, true},
    {"networkactive", "", source, flag,
     "Call the nodes of -connect and -addnode; the RPC setnetworkactive changes it (default: 1)"},
    {"bantime", "<n>", source, integer,
     "Seconds that a ban by the RPC setban lasts when it names no end (default: 86400)", 1, 1LL << 32},
    {"startat", "<where>", source, text,
     "Where the blocks of an empty data directory begin: genesis, or tip: all headers, then the last 288 "
     "blocks "
     "and what follows, for notifications within minutes; there are no coins and no mempool then. A start "
     "without it makes the store a whole one (default: genesis)"},
    {"timeout", "<n>", source, integer, "Milliseconds that the connection to a node may take (default: 5000)",
     1, 1 << 30},
    {"peertimeout", "<n>", source, integer,
     "Seconds that nodes and peers may take for the handshake, and a node may be silent when it was asked "
     "for blocks (default: 60)",
     1, 1 << 20},
    {"blocksonly", "", source, flag, "Take no transactions from nodes that are followed (default: 0)"},
    {"maxwaitingblocks", "<n>", source, integer,
     "Disk for blocks whose parent is not here yet, in MiB; more let an import come in a wilder order "
     "(default: 4096)",
     16, 1 << 20},

    {"listen", "", peers, flag,
     "Serve headers, blocks and the mempool's transactions to the nodes and indexers that connect (default: "
     "0, or 1 "
     "with -bind or -whitebind)"},
    {"port", "<port>", peers, integer,
     "Port to listen on for peers (default: 8373, testnet3 18373, testnet4 48373, signet 38373, regtest "
     "18484)",
     0, 65535, true},
    {"bind", "<addr>[:port]", peers, list,
     "Address to listen on for peers, IPv6 as [<addr>]:<port> (default: every address; may be repeated)",
     kNoMinimum, kNoMaximum, true},
    {"whitebind", "<[permissions@]addr:port>", peers, list,
     "Listen on an address, and give permissions to the peers that come to it: noban, mempool, download, "
     "relay, "
     "forcerelay, addr, bloomfilter or all, with commas between (default: download,noban,mempool,relay; may "
     "be "
     "repeated)",
     kNoMinimum, kNoMaximum, true},
    {"whitelist", "<[permissions@]network>", peers, list,
     "Give permissions to the peers that come from an address or a network, such as 1.2.3.0/24; names as for "
     "-whitebind (may be repeated)"},
    {"maxconnections", "<n>", peers, integer,
     "Peers that may be connected here at once; a further one takes the place of the least settled, or is "
     "refused (default: 125)",
     0, 1 << 16},
    {"maxuploadtarget", "<n>", peers, text,
     "Bytes that peers should get in 24 hours, in MiB or with a unit k, K, m, M, g, G, t or T (lower case "
     "counts thousands, "
     "upper case 1024s): beyond it blocks of more than a week ago go to peers with the permission download "
     "alone; 0 "
     "for no limit (default: 0)"},

    {"segmentsize", "<n>", storage, integer,
     "Size of a block segment file in MiB, for new ones; larger ones mean fewer files and coarser pruning "
     "(default: "
     "128, 16 to 4096)",
     16, 4096},
    {"mapsize", "<n>", storage, integer,
     "Address space reserved for the chain tables in MiB; it takes no memory and no disk (default: 1048576)",
     64, std::int64_t{1} << 24},
    {"minfreedisk", "<n>", storage, integer,
     "Free disk in MiB below which writing waits until there is more (default: 50)", 0, 1 << 24},
    {"prune", "<n>", storage, integer,
     "Give up old blocks: 0 keeps all, 1 lets the RPC pruneblockchain do it, 550 or more is how many MiB the "
     "stored "
     "blocks may take; the last 288 always stay (default: 0)",
     kNoMinimum, std::int64_t{1} << 40},
    {"fastprune", "", storage, flag,
     "For tests: prune from height 100 on, and use segments of 16 MiB (default: 0)"},
    {"opensegments", "<n>", storage, integer,
     "Sealed segments kept open, one descriptor and one mapping each, a quarter of them by the block cache "
     "(default: 128)",
     4, 4096},
    {"txindex", "", storage, flag,
     "Remember which block has each transaction, for getrawtransaction and gettxoutproof; made in the "
     "background "
     "for blocks that are here (default: 0)"},
    {"dbcache", "<n>", storage, integer,
     "Memory for changes of coins that are not on disk yet, in MiB; more means fewer and larger flushes "
     "(default: 450)",
     4, 1 << 17},
    {"blockcache", "<n>", storage, integer,
     "Memory for the blocks that came last or are asked for most, with what belongs to them, in MiB; 0 keeps "
     "none (default: 64)",
     0, 1 << 16},
    {"eventmemory", "<n>", storage, integer,
     "Memory for events that a publisher has not taken yet, in MiB; older ones come back from the disk "
     "(default: 64)",
     1, 1 << 16},

    {"maxmempool", "<n>", mempool, integer,
     "Memory for the mempool in MB (millions of bytes); what pays least leaves first (default: 300)", 0,
     1 << 20},
    {"mempoolexpiry", "<n>", mempool, integer,
     "Hours after which a transaction leaves the mempool unmined (default: 336)", 0, 1 << 20},
    {"persistmempool", "", mempool, flag,
     "Keep the mempool in mempool.dat over a restart; bitcoind's own file is read too (default: 1)"},
    {"mempoolfullrbf", "", mempool, flag,
     "Let transactions be replaced that do not say that they may be (default: 1)"},
    {"minrelaytxfee", "<amt>", mempool, text,
     "Least fee rate that the mempool takes, in BTC/kvB (default: 0.00001)"},
    {"incrementalrelayfee", "<amt>", mempool, text,
     "Fee rate by which a replacement must pay more, in BTC/kvB (default: 0.00001)"},
    {"dustrelayfee", "<amt>", mempool, text,
     "Fee rate by which an output counts as too small to be spent, in BTC/kvB (default: 0.00003)"},
    {"acceptnonstdtxn", "", mempool, flag,
     "Take transactions of unusual form; on test chains only (default: 0)"},
    {"permitbaremultisig", "", mempool, flag, "Take outputs that are a bare multisig (default: 1)"},
    {"datacarrier", "", mempool, flag, "Take outputs that carry data (default: 1)"},
    {"datacarriersize", "<n>", mempool, integer, "Largest script of such an output in bytes (default: 83)", 0,
     4'000'000},
    {"bytespersigop", "<n>", mempool, integer,
     "Bytes that a signature operation counts for in a transaction's size (default: 20)", 0, 4'000'000},
    {"limitancestorcount", "<n>", mempool, integer,
     "Unconfirmed transactions that one may depend on, itself included (default: 25)", 0, 1 << 20},
    {"limitancestorsize", "<n>", mempool, integer, "Their virtual size in kB (default: 101)", 0, 1 << 20},
    {"limitdescendantcount", "<n>", mempool, integer,
     "Unconfirmed transactions that may depend on one, itself included (default: 25)", 0, 1 << 20},
    {"limitdescendantsize", "<n>", mempool, integer, "Their virtual size in kB (default: 101)", 0, 1 << 20},

    {"server", "", rpc, flag, "Accept JSON-RPC requests (default: 1)"},
    {"rest", "", rpc, flag,
     "Accept REST requests, without a password, on the port for JSON-RPC (default: 0)"},
    {"rpcport", "<port>", rpc, integer,
     "Port for JSON-RPC (default: 8372, testnet3 18372, testnet4 48372, signet 38372, regtest 18483)", 0,
     65535, true},
    {"rpcbind", "<addr>[:port]", rpc, list,
     "Address to listen on for JSON-RPC; beyond loopback only together with -rpcallowip (default: 127.0.0.1 "
     "and ::1)",
     kNoMinimum, kNoMaximum, true},
    {"rpcallowip", "<ip>", rpc, list,
     "Let clients from an address, an address/netmask or an address/prefix in (default: loopback only)"},
    {"rpcuser", "<user>", rpc, text, "User name for JSON-RPC", kNoMinimum, kNoMaximum, false, true},
    {"rpcpassword", "<pw>", rpc, text, "Password for JSON-RPC", kNoMinimum, kNoMaximum, false, true},
    {"rpcauth", "<userpw>", rpc, list,
     "User, salt and password hash: <user>:<salt>$<hash>, as rpcauth.py makes it", kNoMinimum, kNoMaximum,
     false, true},
    {"rpccookiefile", "<loc>", rpc, text,
     "Where the cookie goes; a relative path starts at the chain's directory (default: .cookie)"},
    {"rpccookieperms", "<readable-by>", rpc, text,
     "Who may read the cookie: owner, group or all (default: owner)"},
    {"rpcthreads", "<n>", rpc, integer, "Threads that serve JSON-RPC (default: 4)", 1, 256},
    {"rpcservertimeout", "<n>", rpc, integer,
     "Seconds without progress after which a connection ends (default: 30)", 1, 86400},
    {"rpcheadtimeout", "<n>", rpc, integer,
     "Seconds that a connection without a password has for the head of a request (default: 10)", 1, 86400},
    {"rpcconnections", "<n>", rpc, integer,
     "Connections at once; a further one takes the place of one that is idle and has shown no password, or "
     "waits. The limit on open files may allow fewer (default: 4096)",
     1, 1 << 16},
    {"rpcmaxrequest", "<n>", rpc, integer, "Largest request body in MiB (default: 32)", 1, 1024},
    {"rpcrequestbuffer", "<n>", rpc, integer,
     "Memory for request bodies at once in MiB; further ones wait unread (default: 128)", 1, 1 << 16},
    {"rpcbuffer", "<n>", rpc, integer,
     "Memory for replies at once in MiB; further large ones wait to be made. A batch may fill half of it "
     "(default: 256)",
     2, 1 << 16},
    {"rpcwhitelist", "<whitelist>", rpc, list,
     "Methods that a user may call: <user>:<method>,<method>; of several lists for one user what is in all "
     "of them"},
    {"rpcwhitelistdefault", "", rpc, flag,
     "Let users without -rpcwhitelist call nothing (default: 1 if -rpcwhitelist is given, else 0)"},
    {"rpcallowhost", "<name>", rpc, list,
     "Name of this machine that a REST client may ask for, beside addresses, names without a dot and "
     "localhost (may be repeated)"},
    {"corsorigin", "<origin>", rpc, list,
     "Web pages that may call REST and JSON-RPC from a browser, as https://example.org, or * for all (may be "
     "repeated)"},
    {"upstreamrpc", "<url>", rpc, text,
     "Pass estimatesmartfee, getblocktemplate, sendrawtransaction, submitpackage and testmempoolaccept on to "
     "the node at http://[<user>:<password>@]<host>[:<port>] (default port: bitcoind's)",
     kNoMinimum, kNoMaximum, false, true},
    {"upstreamcookiefile", "<loc>", rpc, text,
     "Cookie of that node, where the URL has no password; a relative path starts at bitcoind's directory of "
     "the chain (default: .cookie, in ~/.bitcoin)"},
    {"upstreamtimeout", "<n>", rpc, integer, "Seconds in which that node must answer (default: 30)", 1,
     86400},

    {"zmqpubhashblock", "<address>", zmq, list,
     "Publish the hash of each new tip at an endpoint (may be repeated)"},
    {"zmqpubhashblockhwm", "<n>", zmq, integer,
     "Messages queued per subscriber before more are dropped, 0 for no limit; the largest of an endpoint "
     "counts "
     "(default: 1000)",
     0, std::numeric_limits<std::int32_t>::max()},
    {"zmqpubhashtx", "<address>", zmq, list, "Publish the hash of each transaction"},
    {"zmqpubhashtxhwm", "<n>", zmq, integer, "As -zmqpubhashblockhwm (default: 1000)", 0,
     std::numeric_limits<std::int32_t>::max()},
    {"zmqpubrawblock", "<address>", zmq, list, "Publish each new tip's block"},
    {"zmqpubrawblockhwm", "<n>", zmq, integer,
     "As -zmqpubhashblockhwm; a slow subscriber may hold so many blocks in memory (default: 1000)", 0,
     std::numeric_limits<std::int32_t>::max()},
    {"zmqpubrawtx", "<address>", zmq, list, "Publish each transaction"},
    {"zmqpubrawtxhwm", "<n>", zmq, integer, "As -zmqpubhashblockhwm (default: 1000)", 0,
     std::numeric_limits<std::int32_t>::max()},
    {"zmqpubsequence", "<address>", zmq, list,
     "Publish every block connected and disconnected, and every transaction that enters or leaves the "
     "mempool, in order"},
    {"zmqpubsequencehwm", "<n>", zmq, integer, "As -zmqpubhashblockhwm (default: 1000)", 0,
     std::numeric_limits<std::int32_t>::max()},

    {"debug", "<category>", log, list,
     "Log more about a subject: zmq, http, rpc, chain, store, import, bus, net; 1 or all for all (default: "
     "none)"},
    {"debugexclude", "<category>", log, list, "Leave a subject of -debug out"},
    {"debuglogfile", "<file>", log, text,
     "Log file; a relative path starts at the chain's directory, 0 writes none (default: debug.log)"},
    {"printtoconsole", "", log, flag, "Log to standard output too (default: 1 without -daemon, else 0)"},
    {"logtimestamps", "", log, flag, "Begin each line with the time in UTC (default: 1)"},
    {"logtimemicros", "", log, flag, "Show microseconds in times (default: 0)"},
    {"shrinkdebugfile", "", log, flag,
     "Cut the log file to its last 10 MB at start when it is longer (default: 1 without -debug)"},
};

// The rest of what bitcoind 28.1 takes, wallet, GUI and hidden ones included.
constexpr std::string_view kForeign[] = {
    "acceptstalefeeestimates",
    "addresstype",
    "alertnotify",
    "allowignoredconf",
    "asmap",
    "assumevalid",
    "avoidpartialspends",
    "blockfilterindex",
    "blockmaxweight",
    "blockmintxfee",
    "blockreconstructionextratxn",
    "blocksdir",
    "blocksxor",
    "blockversion",
    "capturemessages",
    "changetype",
    "checkaddrman",
    "checkblockindex",
    "checkblocks",
    "checklevel",
    "checkmempool",
    "checkpoints",
    "choosedatadir",
    "cjdnsreachable",
    "coinstatsindex",
    "consolidatefeerate",
    "dbbatchsize",
    "dbcrashratio",
    "dblogsize",
    "deprecatedrpc",
    "disablewallet",
    "discardfee",
    "discover",
    "dns",
    "dnsseed",
    "externalip",
    "fallbackfee",
    "fixedseeds",
    "flushwallet",
    "forcecompactdb",
    "forcednsseed",
    "help-debug",
    "i2pacceptincoming",
    "i2psam",
    "ipcbind",
    "keypool",
    "lang",
    "listenonion",
    "logips",
    "loglevel",
    "loglevelalways",
    "logsourcelocations",
    "logthreadnames",
    "maxapsfee",
    "maxorphantx",
    "maxreceivebuffer",
    "maxsendbuffer",
    "maxsigcachesize",
    "maxtxfee",
    "min",
    "mintxfee",
    "natpmp",
    "onion",
    "onlynet",
    "par",
    "paytxfee",
    "peerblockfilters",
    "peerbloomfilters",
    "persistmempoolv1",
    "printpriority",
    "privdb",
    "proxy",
    "proxyrandomize",
    "reindex",
    "reindex-chainstate",
    "resetguisettings",
    "rpcdoccheck",
    "rpcserialversion",
    "rpcworkqueue",
    "seednode",
    "settings",
    "signer",
    "signetchallenge",
    "signetseednode",
    "spendzeroconfchange",
    "splash",
    "stopatheight",
    "swapbdbendian",
    "test",
    "testactivationheight",
    "torcontrol",
    "torpassword",
    "txconfirmtarget",
    "txreconciliation",
    "uacomment",
    "uiplatform",
    "unsafesqlitesync",
    "upnp",
    "v2transport",
    "vbparams",
    "wallet",
    "walletbroadcast",
    "walletcrosschain",
    "walletdir",
    "walletnotify",
    "walletrbf",
    "walletrejectlongchains",
    "whitelistforcerelay",
    "whitelistrelay",
    "zapwallettxes",
};

// What they turn on is not here: to turn it off is no wish that is missed.
constexpr std::string_view kAbsent[] = {
    "discover",    "dns",    "dnsseed",          "fixedseeds", "forcednsseed",
    "listenonion", "natpmp", "persistmempoolv1", "upnp",
};

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t above = row[j];
            row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
            diagonal = above;
        }
    }
    return row[b.size()];
}

}  // namespace

std::span<const OptionSpec> option_table() {
    return kOptions;
}

const OptionSpec* find_option(std::string_view name) {
    const auto* found = std::ranges::find(kOptions, name, &OptionSpec::name);
    return found == std::end(kOptions) ? nullptr : found;
}

bool is_foreign_option(std::string_view name) {
    return std::ranges::find(kForeign, name) != std::end(kForeign);
}
bool is_absent_feature(std::string_view name) {
    return std::ranges::find(kAbsent, name) != std::end(kAbsent);
}

std::string closest_option(std::string_view name) {
    constexpr std::size_t kNear = 3;
    constexpr std::size_t kLongestName = 64;
    if (name.size() > kLongestName) return {};
    std::string_view best;
    std::size_t best_distance = std::min(kNear, name.size() / 2) + 1;
    for (const OptionSpec& option : kOptions) {
        const std::size_t distance = edit_distance(name, option.name);
        if (distance >= best_distance) continue;
        best = option.name;
        best_distance = distance;
    }
    return std::string(best);
}

}  // namespace blockpub
