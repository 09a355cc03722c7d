// SPDX-License-Identifier: MIT
// 1 to 16 clients ask for blocks of 1 MB by REST, .bin, over HTTP: once with the chain lock held over each
// read, as nodes did, and once without it. Both read the same bytes into memory; a third run sends them from
// the map as the daemon does. From the time that the lock is held, and the processor time of a request,
// follows what as many clients as it takes would see on eight cores.

#include "base/mapped_read.hpp"
#include "bench_support.hpp"
#include "query/block_material.hpp"
#include "query/http_server.hpp"
#include "query/rest_service.hpp"
#include "query/rpc_dispatch.hpp"
#include "store/cached_reader.hpp"
#include "unit/query/raw_client.hpp"

#include <sys/resource.h>

#include <atomic>
#include <ctime>
#include <latch>
#include <span>
#include <thread>
#include <variant>

using namespace blockpub;
using namespace blockpub::bench;

namespace {

constexpr auto kTime = std::chrono::milliseconds(1500);
constexpr unsigned kOtherCores = 8;

enum class Reading : std::uint8_t { with_lock, without_lock, mapped };

/// In front of the REST service: reads the block into memory, with or without the lock.
class ReadingService final : public HttpService {
 public:
    ReadingService(HttpService& behind, Mutex& chain_lock) : behind_(behind), chain_lock_(chain_lock) {}

    [[nodiscard]] std::optional<HttpRefusal> admit(HttpRequest& request) override {
        return behind_.admit(request);
    }
    [[nodiscard]] HttpAnswer answer(HttpRequest& request) override {
        if (reading != Reading::with_lock) return read(request);
        const MutexLock lock(chain_lock_);
        const auto begin = SteadyClock::now();
        HttpAnswer answer = read(request);
        held_ns.fetch_add(static_cast<std::uint64_t>((SteadyClock::now() - begin).count()),
                          std::memory_order_relaxed);
        return answer;
    }

    std::atomic<Reading> reading{Reading::mapped};
    std::atomic<std::uint64_t> held_ns{0};

 private:
    HttpAnswer read(HttpRequest& request) {
        HttpAnswer answer = behind_.answer(request);
        auto* const response = std::get_if<HttpResponse>(&answer);
        if (response == nullptr || response->status != 200) give_up("REST does not answer at once");
        if (reading == Reading::mapped) return answer;
        for (BodyPiece& piece : response->pieces) {
            const auto* const mapped = std::get_if<MappedBytes>(&piece);
            if (mapped == nullptr) continue;
            const MappedBytes source = *mapped;
            piece = SharedBytes::build(
                source.size(), [&](std::span<std::uint8_t> out) { must(read_mapped(source, 0, out)); });
        }
        return answer;
    }

    HttpService& behind_;
    Mutex& chain_lock_;
};

/// The REST interface of a node, on a port of its own.
struct Server {
    explicit Server(Node& node)
        : reader(node.store->block_reader(), *node.cache),
          material(*node.store, reader),
          service(rest, node.chain->chain_lock()) {
        context.store = node.store.get();
        context.blocks = &reader;
        context.stored_blocks = &node.store->block_reader();
        context.material = &material;
        context.chain = node.chain.get();
        context.coins = node.coins.get();
        context.params = &node.params;
        context.clock = &node.clock;
        context.logger = &node.logger;
        dispatcher.set_ready(std::make_unique<const RpcMethods>(std::vector<RpcMethod>{}));
        HttpServerOptions options;
        options.endpoints = {{.host = "127.0.0.1", .port = 0}};
        http = must(HttpServer::listen(options, service, node.logger));
        http->start();
    }

    NullLogger logger;
    CachedReader reader;
    BlockMaterialReader material;
    RpcContext context;
    RpcDispatcher dispatcher{logger};
    OriginPolicy policy{{}, {}};
    RestService rest{dispatcher, context, policy};
    ReadingService service;
    std::unique_ptr<HttpServer> http;
};

std::vector<std::string> requests_for_big_blocks(const Store& store) {
    const Snapshot snapshot = must(store.snapshot());
    std::vector<std::string> requests;
    for (Height height{0}; height <= must(snapshot.tip()).height; height = height.next()) {
        const BlockHash hash = must(snapshot.active(height));
        if (must(snapshot.header(hash)).block->size < 900'000) continue;
        requests.push_back("GET /rest/block/" + hash.display_hex() +
                           ".bin HTTP/1.1\r\nHost: localhost\r\n\r\n");
    }
    if (requests.empty()) give_up("the file has no block above 900 kB");
    return requests;
}

double processor_seconds() {
    ::rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const ::timeval& t) { return static_cast<double>(t.tv_sec) + t.tv_usec * 1e-6; };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double own_processor_seconds() {
    ::timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// Takes one reply off a socket, and forgets it: a client that costs little.
void take_reply(int socket, std::vector<char>& buffer) {
    constexpr std::string_view kLength = "Content-Length: ";
    std::size_t size = 0;
    std::size_t whole = 0;
    while (whole == 0 || size < whole) {
        const std::size_t at = whole == 0 ? size : 0;  // the head is kept until it is whole
        const ssize_t got = ::recv(socket, buffer.data() + at, buffer.size() - at, 0);
        if (got <= 0) give_up("a reply ended early");
        size += static_cast<std::size_t>(got);
        if (whole != 0) continue;
        const std::string_view text(buffer.data(), size);
        const std::size_t end = text.find("\r\n\r\n");
        if (end == std::string_view::npos) continue;
        const std::size_t length = text.find(kLength);
        if (length > end) give_up("a reply without its length");
        whole = end + 4 + std::strtoull(buffer.data() + length + kLength.size(), nullptr, 10);
    }
}

struct Figures {
    double per_second = 0;  ///< requests
    double processor = 0;   ///< seconds of the server for one
    double lock_held = 0;   ///< likewise, of the lock
};

Figures measure(Server& server, const std::vector<std::string>& requests, unsigned clients, Reading reading) {
    server.service.reading = reading;
    server.service.held_ns = 0;
    std::atomic<bool> end{false};
    std::atomic<std::uint64_t> done{0};
    std::atomic<double> client_processor{0};
    std::latch started(clients + 1);
    const double processor_before = processor_seconds();
    const auto begin = SteadyClock::now();
    {
        std::vector<std::jthread> threads;
        for (unsigned i = 0; i < clients; ++i) {
            threads.emplace_back([&, i] {
                test::RawClient client(server.http->port());
                std::vector<char> buffer(256 * 1024);
                started.arrive_and_wait();
                for (std::size_t next = i; !end.load(std::memory_order_relaxed); ++next) {
                    client.send(requests[next % requests.size()]);
                    take_reply(client.socket(), buffer);
                    done.fetch_add(1, std::memory_order_relaxed);
                }
                client_processor += own_processor_seconds();
            });
        }
        started.arrive_and_wait();
        std::this_thread::sleep_for(kTime);
        end = true;
    }
    const auto count = static_cast<double>(done.load());
    return {.per_second = count / seconds_since(begin),
            .processor = (processor_seconds() - processor_before - client_processor) / count,
            .lock_held = static_cast<double>(server.service.held_ns.load()) * 1e-9 / count};
}

}  // namespace

int main(int argc, char** argv) {
    Node node;
    static_cast<void>(node.import(big_vectors(argc, argv)));
    Server server(node);
    const auto requests = requests_for_big_blocks(*node.store);
    const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
    static_cast<void>(measure(server, requests, 1, Reading::mapped));  // pages in what all others read
    for (const unsigned clients : {1U, 2U, 4U, 8U, 16U}) {
        const Figures locked = measure(server, requests, clients, Reading::with_lock);
        const Figures free = measure(server, requests, clients, Reading::without_lock);
        const Figures mapped = measure(server, requests, clients, Reading::mapped);
        // Eight cores give at most 8 / processor requests a second; with the lock also at most 1 / lock_held.
        const double other = std::max(1.0, kOtherCores * locked.lock_held / free.processor);
        fmt::print(
            "{:2} clients: lock held {:.0f}/s, without {:.0f}/s: {:.2f} times; from the map {:.0f}/s: {:.2f} "
            "times. The lock is held for {:.0f} of {:.0f} us: {:.2f} times on {} cores\n",
            clients, locked.per_second, free.per_second, free.per_second / locked.per_second,
            mapped.per_second, mapped.per_second / locked.per_second, locked.lock_held * 1e6,
            free.processor * 1e6, other, kOtherCores);
        fmt::print(
            "{{\"bench\":\"rest\",\"clients\":{},\"cores\":{},\"locked_s\":{:.1f},\"free_s\":{:.1f},\"mapped_"
            "s\":{:"
            ".1f},\"ratio\":{:.3f},\"mapped_ratio\":{:.3f},\"lock_us\":{:.1f},\"processor_us\":{:.1f},"
            "\"ratio_8_cores\":{:.3f}}}\n",
            clients, cores, locked.per_second, free.per_second, mapped.per_second,
            free.per_second / locked.per_second, mapped.per_second / locked.per_second,
            locked.lock_held * 1e6, free.processor * 1e6, other);
    }
    server.http->stop(std::chrono::milliseconds(1000));
}
