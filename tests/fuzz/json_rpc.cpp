// SPDX-License-Identifier: MIT
#include "base/check.hpp"
#include "query/json_reader.hpp"
#include "query/json_writer.hpp"
#include "query/rpc_context.hpp"
#include "query/rpc_dispatch.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace blockpub;

namespace {

/// The methods that need nothing behind them: echo, help, uptime, stop; and one with arguments of every type.
class Server {
 public:
    Server() {
        context_.request_stop = [] {};
        std::vector<RpcMethod> methods;
        add_control_methods(methods, context_);
        methods.push_back(
            {.category = "testing",
             .name = "typed",
             .arguments = {{.names = "hash", .type = ArgumentType::hex},
                           {.names = "number|n", .type = ArgumentType::number, .required = false},
                           {.names = "flag", .type = ArgumentType::boolean, .required = false},
                           {.names = "list", .type = ArgumentType::array, .required = false},
                           {.names = "map", .type = ArgumentType::object, .required = false}},
             .handler = [](const RpcCall& call) -> RpcOutcome {
                 const auto hash = hash_argument<BlockHash>(call.arguments[0], "hash");
                 if (!hash) return std::unexpected(hash.error());
                 const auto number = int_argument(call.arguments[1]);
                 if (!number) return std::unexpected(number.error());
                 call.result.begin_array();
                 call.result.string(hash->display_hex());
                 call.result.integer(*number);
                 call.result.copy(call.arguments[4]);
                 if (call.arguments[2].is_true()) {
                     return rpc_fail(RpcCode::invalid_parameter, "half-way");
                 }
                 call.result.end_array();
                 return {};
             }});
        dispatcher_.set_ready(std::make_unique<const RpcMethods>(std::move(methods)));
    }

    HttpResponse post(std::string body) {
        HttpRequest request;
        request.body = std::move(body);
        return std::get<HttpResponse>(dispatcher_.answer(request));
    }

 private:
    NullLogger logger_;
    RpcContext context_;
    RpcDispatcher dispatcher_{logger_};
};

std::string compact(const JsonDocument& document) {
    std::string out;
    JsonWriter(out).copy(document.root());
    return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const std::string body(reinterpret_cast<const char*>(bytes), size);
    JsonDocument document;
    if (document.parse(body)) {
        // Written out and read again it is the same, and writing it is stable.
        const std::string once = compact(document);
        JsonDocument again;
        BLOCKPUB_CHECK(again.parse(once), "{}", once);
        BLOCKPUB_CHECK(compact(again) == once);
    }
    Server server;
    const HttpResponse response = server.post(body);
    if (response.status == 204) {
        BLOCKPUB_CHECK(response.text.empty());
        return 0;
    }
    BLOCKPUB_CHECK(response.status == 200 || response.status == 400 || response.status == 404 ||
                   response.status == 500);
    BLOCKPUB_CHECK(response.text.ends_with('\n') && response.text.find('\n') == response.text.size() - 1);
    // The reply nests a little deeper than the request, which may have been at the reader's limit.
    if (std::ranges::count_if(body, [](char c) { return c == '[' || c == '{'; }) > 500) return 0;
    JsonDocument reply;
    BLOCKPUB_CHECK(reply.parse(response.text), "{}", response.text);
    return 0;
}
