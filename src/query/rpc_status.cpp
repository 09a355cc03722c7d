// SPDX-License-Identifier: MIT
#include "query/rpc_context.hpp"

namespace blockpub {

namespace {

RpcOutcome get_zmq_notifications(const RpcContext& context, const RpcCall& call) {
    call.result.begin_array();
    if (context.notifications != nullptr) {
        for (const NotificationRow& row : context.notifications->rows()) {
            call.result.begin_object();
            call.result.member("type", std::string_view(row.type));
            call.result.member("address", std::string_view(row.address));
            call.result.member("hwm", row.high_water_mark);
            call.result.member("effective_hwm", row.effective_high_water_mark);
            call.result.end_object();
        }
    }
    call.result.end_array();
    return {};
}

void write_store(JsonWriter& out, const StoreStatus& status) {
    out.key("store");
    out.begin_object();
    out.member("commits", status.commits);
    out.member("failed_commits", status.failed_commits);
    out.member("write_stopped", status.write_stopped);
    out.member("last_error", std::string_view(status.last_error));
    out.member("read_failures", status.read_failures);
    out.member("last_read_error", std::string_view(status.last_read_error));
    out.member("pending_bytes", status.pending_bytes);
    out.member("segments", status.segments);
    out.member("open_segments", status.open_segments);
    out.member("block_bytes_on_disk", status.blob_bytes_on_disk);
    out.end_object();
}

void write_cache(JsonWriter& out, const BlockCache& cache) {
    const BlockCacheCounters counters = cache.counters();
    out.key("block_cache");
    out.begin_object();
    out.member("hits", counters.hits);
    out.member("misses", counters.misses);
    out.member("joined_loads", counters.joined_loads);
    out.member("insertions", counters.insertions);
    out.member("evictions", counters.evictions);
    out.member("exclusive_acquisitions", counters.exclusive_acquisitions);
    out.member("waits", counters.waits);
    out.member("parts", counters.parts);
    out.member("bytes", counters.bytes);
    out.member("capacity_bytes", static_cast<std::uint64_t>(cache.capacity()));
    out.member("segments", counters.segments);
    out.end_object();
}

void write_coins(JsonWriter& out, const CoinStoreStatus& status) {
    out.key("coins");
    out.begin_object();
    out.member("height", status.tip.height.value);
    out.member("flushed_height", status.flushed.height.value);
    out.member("flushes", status.flushes);
    out.member("failed_flushes", status.failed_flushes);
    out.member("flushing", status.flushing);
    out.member("failing", status.failing);
    out.member("write_stopped", status.write_stopped);
    out.member("last_error", std::string_view(status.last_error));
    out.member("bytes_in_memory", status.bytes);
    out.member("budget_bytes", status.budget_bytes);
    out.member("bytes_on_disk", status.disk_bytes);
    out.end_object();
}

void write_chain(JsonWriter& out, const Chain& chain) {
    const ChainStatus status = chain.status();
    out.key("chain");
    out.begin_object();
    out.member("height", status.tip.height.value);
    out.member("best_header_height", status.best_header.height.value);
    out.member("initial_download", status.initial_download);
    out.member("importing", status.importing);
    out.member("durable_events", status.durable_events);
    out.member("write_error", std::string_view(status.write_error));
    out.member("read_error", std::string_view(status.read_error));
    out.member("write_stopped", status.write_stopped);
    out.member("halted", std::string_view(status.halted));
    if (status.filling) {
        out.key("filling");
        out.begin_object();
        out.member("blocks_below", status.filling->blocks_below.value);
        out.member("coins_height", status.filling->coins.value);
        out.end_object();
    }
    out.end_object();

    const ImportCounters counters = chain.import_counters();
    out.key("import");
    out.begin_object();
    out.member("accepted", counters.accepted);
    out.member("known", counters.known);
    out.member("waiting", counters.waiting);
    out.member("turned_away", counters.turned_away);
    out.member("invalid", counters.invalid);
    out.end_object();
}

void write_following(JsonWriter& out, const PeerList& peers) {
    const PeerList::Lag lag = peers.lag();
    const PeerList::Counters counters = peers.counters();
    out.key("following");
    out.begin_object();
    out.member("nodes", std::uint64_t{lag.nodes});
    out.member("connected", std::uint64_t{lag.connected});
    out.member("seconds_alone", std::int64_t{lag.alone_for.count()});
    out.member("best_height", lag.best_height);
    out.member("blocks_behind", lag.blocks);
    out.member("seconds_behind", std::int64_t{lag.behind_for.count()});
    out.member("blocks_in_flight", counters.blocks_in_flight);
    out.member("bytes_waiting", counters.bytes_waiting);
    out.member("blocks_received", counters.blocks_received);
    out.member("sessions", counters.sessions);
    out.member("lost", counters.lost);
    out.member("silent", counters.silent);
    out.member("faulty", counters.faulty);
    out.end_object();
}

void write_publisher(JsonWriter& out, const PublisherStatus& status) {
    out.begin_object();
    out.member("endpoint", std::string_view(status.endpoint));
    out.member("next_event", status.next_index);
    out.member("connections", status.connections);
    out.member("failing", status.failing);
    out.member("read_failures", status.read_failures);
    out.member("send_failures", status.send_failures);
    out.member("blocks_given_up", status.blocks_given_up);
    out.member("mempool_events_lost", status.mempool_events_lost);
    out.member("last_error", std::string_view(status.last_error));
    out.key("topics");
    out.begin_array();
    for (const PublisherStatus::Topic& topic : status.topics) {
        out.begin_object();
        out.member("topic", std::string_view(topic.topic));
        out.member("messages", topic.messages);
        out.member("bytes", topic.bytes);
        out.end_object();
    }
    out.end_array();
    out.end_object();
}

void write_http(JsonWriter& out, const HttpServerStatus& status) {
    out.key("rpc");
    out.begin_object();
    out.member("connections", status.connections);
    out.member("accepted", status.accepted);
    out.member("requests", status.requests);
    out.member("malformed", status.malformed);
    out.member("timeouts", status.timeouts);
    out.member("evicted", status.evicted);
    out.member("reply_bytes", status.reply_bytes);
    out.end_object();
}

RpcOutcome get_blockpub_info(const RpcContext& context, const RpcCall& call) {
    JsonWriter& out = call.result;
    out.begin_object();
    out.member("version", std::string_view(context.version));
    write_chain(out, *context.chain);
    write_store(out, context.store->status());
    if (context.cache != nullptr) write_cache(out, *context.cache);
    if (context.coins != nullptr) write_coins(out, context.coins->status());
    if (context.peers != nullptr) write_following(out, *context.peers);
    out.key("publishers");
    out.begin_array();
    if (context.publishers != nullptr) {
        for (const PublisherStatus& status : context.publishers->statuses()) write_publisher(out, status);
    }
    out.end_array();
    if (context.http_status) write_http(out, context.http_status());
    out.end_object();
    return {};
}

}  // namespace

void add_status_methods(std::vector<RpcMethod>& methods, const RpcContext& context) {
    methods.push_back({
        .category = "zmq",
        .name = "getzmqnotifications",
        .description = "The ZeroMQ notifications that are published, one row an option.",
        .result =
            "Result:\n"
            "[                              (json array)\n"
            "  {                            (json object)\n"
            "    \"type\" : \"str\",            (string) kind of notification, pubhashblock for instance\n"
            "    \"address\" : \"str\",         (string) where it is published\n"
            "    \"hwm\" : n,                 (numeric) high water mark asked for with this option, in "
            "messages; 0 is no limit\n"
            "    \"effective_hwm\" : n        (numeric) high water mark of the endpoint, which all its "
            "topics share\n"
            "  },\n"
            "  ...\n"
            "]\n",
        .handler = [&context](const RpcCall& call) { return get_zmq_notifications(context, call); },
    });
    methods.push_back({
        .category = "blockpub",
        .name = "getblockpubinfo",
        .description =
            "What the daemon itself is doing: the chain thread, the store, the publishers, this server.\n"
            "Counters begin at 0 with each start.",
        .result =
            "Result:\n"
            "{                                  (json object)\n"
            "  \"version\" : \"str\",               (string) version of blockpub\n"
            "  \"chain\" : {                      (json object)\n"
            "    \"height\" : n,                  (numeric) height of the tip\n"
            "    \"best_header_height\" : n,      (numeric) height of the header with the most work\n"
            "    \"initial_download\" : bool,     (boolean) whether initial download holds\n"
            "    \"importing\" : bool,            (boolean) whether an import is under way\n"
            "    \"durable_events\" : n,          (numeric) records of the event log that are on the disk: "
            "the next one's index\n"
            "    \"write_error\" : \"str\",         (string) why nothing can be written just now; empty "
            "when it can\n"
            "    \"read_error\" : \"str\",          (string) why a stored block that the chain needs cannot "
            "be "
            "read just now; likewise\n"
            "    \"write_stopped\" : bool,        (boolean) whether writing has stopped for good\n"
            "    \"halted\" : \"str\",              (string) why no block is taken any more; empty while "
            "all is well\n"
            "    \"filling\" : {                  (json object, optional) while a store that began at the "
            "tip "
            "is made whole\n"
            "      \"blocks_below\" : n,          (numeric) all blocks below this height are here\n"
            "      \"coins_height\" : n           (numeric) height up to which coins have been made\n"
            "    }\n"
            "  },\n"
            "  \"import\" : {                     (json object) blocks of imports, since the start\n"
            "    \"accepted\" : n,                (numeric) taken\n"
            "    \"known\" : n,                   (numeric) there already\n"
            "    \"waiting\" : n,                 (numeric) stored just now without their parent\n"
            "    \"turned_away\" : n,             (numeric) without their parent, and without room to wait\n"
            "    \"invalid\" : n                  (numeric) against a rule\n"
            "  },\n"
            "  \"store\" : {                      (json object)\n"
            "    \"commits\" : n,                 (numeric) synced to the disk\n"
            "    \"failed_commits\" : n,          (numeric) failed, and tried again\n"
            "    \"write_stopped\" : bool,        (boolean) whether a sync failed, after which nothing is "
            "written\n"
            "    \"last_error\" : \"str\",          (string) of the last commit that failed\n"
            "    \"read_failures\" : n,           (numeric) reads of stored blocks that the disk refused, or "
            "that gave other bytes\n"
            "    \"last_read_error\" : \"str\",     (string) of the last of them\n"
            "    \"pending_bytes\" : n,           (numeric) waiting for the next commit\n"
            "    \"segments\" : n,                (numeric) block files\n"
            "    \"open_segments\" : n,           (numeric) of them open\n"
            "    \"block_bytes_on_disk\" : n      (numeric) bytes of the block files\n"
            "  },\n"
            "  \"block_cache\" : {                (json object) parts of blocks in memory, for all readers\n"
            "    \"hits\" : n,                    (numeric) parts that were there\n"
            "    \"misses\" : n,                  (numeric) parts that were not\n"
            "    \"joined_loads\" : n,            (numeric) misses that waited for another's read of the "
            "same "
            "part\n"
            "    \"insertions\" : n,              (numeric) parts taken in\n"
            "    \"evictions\" : n,               (numeric) parts that had to go for them\n"
            "    \"exclusive_acquisitions\" : n,  (numeric) of the lock under which it changes\n"
            "    \"waits\" : n,                   (numeric) of them that had to wait\n"
            "    \"parts\" : n,                   (numeric) there now\n"
            "    \"bytes\" : n,                   (numeric) of memory that they take\n"
            "    \"capacity_bytes\" : n,          (numeric) of -blockcache\n"
            "    \"segments\" : n                 (numeric) that they keep open\n"
            "  },\n"
            "  \"coins\" : {                      (json object)\n"
            "    \"height\" : n,                  (numeric) height of the tip whose coins are shown\n"
            "    \"flushed_height\" : n,          (numeric) of the tip whose coins are on the disk\n"
            "    \"flushes\" : n,                 (numeric) done\n"
            "    \"failed_flushes\" : n,          (numeric) failed, and tried again\n"
            "    \"flushing\" : bool,             (boolean) whether one is under way\n"
            "    \"failing\" : bool,              (boolean) whether the last attempt failed\n"
            "    \"write_stopped\" : bool,        (boolean) whether a sync failed, after which nothing is "
            "written\n"
            "    \"last_error\" : \"str\",          (string) of the last flush that failed\n"
            "    \"bytes_in_memory\" : n,         (numeric) of changes that are not on the disk yet\n"
            "    \"budget_bytes\" : n,            (numeric) of -dbcache\n"
            "    \"bytes_on_disk\" : n            (numeric) of the coins' file\n"
            "  },\n"
            "  \"following\" : {                  (json object) the nodes of -connect and addnode\n"
            "    \"nodes\" : n,                   (numeric) to be connected\n"
            "    \"connected\" : n,               (numeric) of them connected\n"
            "    \"seconds_alone\" : n,           (numeric) since when none is\n"
            "    \"best_height\" : n,             (numeric) of the longest of their chains, as far as its "
            "headers are here\n"
            "    \"blocks_behind\" : n,           (numeric) that the tip is behind it\n"
            "    \"seconds_behind\" : n,          (numeric) since when it is behind\n"
            "    \"blocks_in_flight\" : n,        (numeric) asked for, and not here yet\n"
            "    \"bytes_waiting\" : n,           (numeric) of blocks that are here and wait for the chain\n"
            "    \"blocks_received\" : n,         (numeric) so far\n"
            "    \"sessions\" : n,                (numeric) that came to a handshake\n"
            "    \"lost\" : n,                    (numeric) connections that could not be made, or ended\n"
            "    \"silent\" : n,                  (numeric) ended because the node did not answer in time\n"
            "    \"faulty\" : n                   (numeric) ended because the node sent what no honest one "
            "sends\n"
            "  },\n"
            "  \"publishers\" : [                 (json array) one a ZeroMQ endpoint\n"
            "    {                              (json object)\n"
            "      \"endpoint\" : \"str\",          (string) as bound\n"
            "      \"next_event\" : n,            (numeric) index of the record that it announces next\n"
            "      \"connections\" : n,           (numeric) subscribers connected\n"
            "      \"failing\" : bool,            (boolean) whether its last attempt failed and is being "
            "repeated\n"
            "      \"read_failures\" : n,         (numeric) blocks that could not be read, each tried again\n"
            "      \"send_failures\" : n,         (numeric) messages that could not be sent, each tried "
            "again\n"
            "      \"blocks_given_up\" : n,       (numeric) blocks whose messages were left out: pruned, "
            "say\n"
            "      \"mempool_events_lost\" : n,   (numeric) given up because it was too far behind\n"
            "      \"last_error\" : \"str\",        (string) of the last failure\n"
            "      \"topics\" : [                 (json array)\n"
            "        {                          (json object)\n"
            "          \"topic\" : \"str\",         (string) name\n"
            "          \"messages\" : n,          (numeric) sent\n"
            "          \"bytes\" : n              (numeric) of their bodies\n"
            "        },\n"
            "        ...\n"
            "      ]\n"
            "    },\n"
            "    ...\n"
            "  ],\n"
            "  \"rpc\" : {                        (json object) this server\n"
            "    \"connections\" : n,             (numeric) open\n"
            "    \"accepted\" : n,                (numeric) connections so far\n"
            "    \"requests\" : n,                (numeric) requests so far\n"
            "    \"malformed\" : n,               (numeric) refused as malformed or too large\n"
            "    \"timeouts\" : n,                (numeric) connections closed for making no progress\n"
            "    \"evicted\" : n,                 (numeric) idle connections without a password closed to "
            "make "
            "room\n"
            "    \"reply_bytes\" : n              (numeric) memory of replies being made or sent\n"
            "  }\n"
            "}\n",
        .handler = [&context](const RpcCall& call) { return get_blockpub_info(context, call); },
    });
}

}  // namespace blockpub
