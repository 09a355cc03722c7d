// SPDX-License-Identifier: MIT
#include "query/rpc_dispatch.hpp"

#include <blockpub/hash.hpp>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <stdexcept>
#include <string>

using namespace blockpub;

namespace {

std::vector<RpcMethod> test_methods() {
    std::vector<RpcMethod> methods;
    methods.push_back({.category = "testing",
                       .name = "add",
                       .arguments = {{.names = "first", .type = ArgumentType::number, .text = "a number"},
                                     {.names = "second|other",
                                      .type = ArgumentType::number,
                                      .required = false,
                                      .fallback = "0",
                                      .text = "another"}},
                       .description = "Adds.",
                       .result = "Result:\nn    (numeric) the sum\n",
                       .example = "1 2",
                       .json_example = "1, 2",
                       .handler = [](const RpcCall& call) -> RpcOutcome {
                           const auto first = int_argument(call.arguments[0]);
                           if (!first) return std::unexpected(first.error());
                           const auto second = call.arguments.has(1) ? int_argument(call.arguments[1]) : 0;
                           if (!second) return std::unexpected(second.error());
                           call.result.integer(std::int64_t{*first} + *second);
                           return {};
                       }});
    methods.push_back({.category = "testing",
                       .name = "half",
                       .description = "Fails half-way.",
                       .handler = [](const RpcCall& call) -> RpcOutcome {
                           call.result.begin_array();
                           call.result.integer(1);
                           return rpc_fail(RpcCode::invalid_parameter, "half");
                       }});
    methods.push_back({.category = "testing", .name = "nothing", .handler = [](const RpcCall&) -> RpcOutcome {
                           return {};
                       }});
    methods.push_back({.category = "hidden", .name = "throws", .handler = [](const RpcCall&) -> RpcOutcome {
                           throw std::runtime_error("thrown \"text\"");
                       }});
    methods.push_back({.category = "another",
                       .name = "list",
                       .arguments = {{.names = "a", .type = ArgumentType::string, .required = false},
                                     {.names = "b", .type = ArgumentType::string, .required = false},
                                     {.names = "c", .type = ArgumentType::string, .required = false}},
                       .description = "Lists.",
                       .handler = [](const RpcCall& call) -> RpcOutcome {
                           call.result.begin_array();
                           for (std::size_t i = 0; i < call.arguments.size(); ++i)
                               call.result.copy(call.arguments[i]);
                           call.result.end_array();
                           return {};
                       }});
    methods.push_back({.category = "testing",
                       .name = "waits",
                       .lane = Lane::chain,
                       .handler = [](const RpcCall& call) -> RpcOutcome {
                           call.result.string("waited");
                           return {};
                       }});
    methods.push_back(
        {.category = "testing",
         .name = "check",
         .arguments = {{.names = "hash", .type = ArgumentType::hex},
                       {.names = "flag|alias", .type = ArgumentType::boolean, .required = false},
                       {.names = "rest", .type = ArgumentType::array, .required = false, .element = "\"x\""}},
         .handler = [](const RpcCall& call) -> RpcOutcome {
             const auto hash = hash_argument<BlockHash>(call.arguments[0], "hash");
             if (!hash) return std::unexpected(hash.error());
             call.result.string(hash->display_hex());
             return {};
         }});
    return methods;
}

struct DispatchFixture {
    explicit DispatchFixture(std::size_t batch_limit = std::size_t{128} << 20, RpcWhitelist whitelist = {})
        : dispatcher(logger, std::move(whitelist), batch_limit) {
        dispatcher.set_ready(std::make_unique<const RpcMethods>(test_methods()));
    }

    HttpResponse post(std::string body) {
        HttpRequest request;
        request.body = std::move(body);
        request.user = "someone";
        HttpAnswer answer = dispatcher.answer(request);
        if (auto* response = std::get_if<HttpResponse>(&answer)) {
            lane = Lane::here;
            return std::move(*response);
        }
        auto& job = std::get<HttpJob>(answer);
        lane = job.lane;
        return job.run();
    }

    NullLogger logger;
    RpcDispatcher dispatcher;
    Lane lane = Lane::here;
};

}  // namespace

TEST_SUITE_BEGIN("query.rpc_dispatch");

TEST_CASE("requests of each version are answered to the byte") {
    struct Case {
        const char* name;
        const char* request;
        int status;
        const char* reply;  // without its line feed
    };
    static constexpr Case kCases[] = {
        {"1.0", R"({"jsonrpc":"1.0","id":1,"method":"add","params":[1,2]})", 200,
         R"({"result":3,"error":null,"id":1})"},
        {"no version", R"({"id":"a","method":"add","params":[1,2]})", 200,
         R"({"result":3,"error":null,"id":"a"})"},
        {"1.1's own key", R"({"version":"1.1","id":1,"method":"add","params":[1,2]})", 200,
         R"({"result":3,"error":null,"id":1})"},
        {"2.0", R"({"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]})", 200,
         R"({"jsonrpc":"2.0","result":3,"id":1})"},
        {"1.0 error", R"({"id":1,"method":"half"})", 500,
         R"({"result":null,"error":{"code":-8,"message":"half"},"id":1})"},
        {"2.0 error", R"({"jsonrpc":"2.0","id":1,"method":"half"})", 200,
         R"({"jsonrpc":"2.0","error":{"code":-8,"message":"half"},"id":1})"},
        {"1.0 unknown method", R"({"id":1,"method":"nosuch"})", 404,
         R"({"result":null,"error":{"code":-32601,"message":"Method not found"},"id":1})"},
        {"2.0 unknown method", R"({"jsonrpc":"2.0","id":1,"method":"nosuch"})", 200,
         R"({"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"},"id":1})"},
        {"1.0 without id", R"({"method":"add","params":[1]})", 200, R"({"result":1,"error":null})"},
        {"null result", R"({"id":1,"method":"nothing"})", 200, R"({"result":null,"error":null,"id":1})"},
        {"2.0 null result", R"({"jsonrpc":"2.0","id":1,"method":"nothing"})", 200,
         R"({"jsonrpc":"2.0","result":null,"id":1})"},
        {"2.0 null id is no notification", R"({"jsonrpc":"2.0","id":null,"method":"add","params":[1]})", 200,
         R"({"jsonrpc":"2.0","result":1,"id":null})"},
        {"null params", R"({"id":1,"method":"add","params":null})", 500, nullptr},
        {"throws", R"({"id":1,"method":"throws"})", 500,
         R"({"result":null,"error":{"code":-1,"message":"thrown \"text\""},"id":1})"},
        {"not JSON", "this is bad", 500,
         R"({"result":null,"error":{"code":-32700,"message":"Parse error"},"id":null})"},
        {"empty", "", 500, R"({"result":null,"error":{"code":-32700,"message":"Parse error"},"id":null})"},
        {"a string", "\"x\"", 500,
         R"({"result":null,"error":{"code":-32700,"message":"Top-level object parse error"},"id":null})"},
        {"null", "null", 500,
         R"({"result":null,"error":{"code":-32700,"message":"Top-level object parse error"},"id":null})"},
        {"no method", R"({"id":5})", 400,
         R"({"result":null,"error":{"code":-32600,"message":"Missing method"},"id":5})"},
        {"method null", R"({"id":5,"method":null})", 400,
         R"({"result":null,"error":{"code":-32600,"message":"Missing method"},"id":5})"},
        {"method a number", R"({"id":5,"method":7})", 400,
         R"({"result":null,"error":{"code":-32600,"message":"Method must be a string"},"id":5})"},
        {"params a string", R"({"id":5,"method":"add","params":"x"})", 400,
         R"({"result":null,"error":{"code":-32600,"message":"Params must be an array or object"},"id":5})"},
        {"2.0 params a string", R"({"jsonrpc":"2.0","id":5,"method":"add","params":"x"})", 400,
         R"({"jsonrpc":"2.0","error":{"code":-32600,"message":"Params must be an array or object"},"id":5})"},
        {"version a number", R"({"jsonrpc":2,"method":"add"})", 400,
         R"({"result":null,"error":{"code":-32600,"message":"jsonrpc field must be a string"}})"},
        {"version unknown", R"({"jsonrpc":"3.0","method":"add"})", 400,
         R"({"result":null,"error":{"code":-32600,"message":"JSON-RPC version not supported"}})"},
        {"empty batch", "[]", 200, "[]"},
        {"batch",
         R"([{"id":1,"method":"add","params":[1,2]},{"jsonrpc":"2.0","id":2,"method":"half"},{"id":3,"method":"nosuch"}])",
         200,
         R"([{"result":3,"error":null,"id":1},{"jsonrpc":"2.0","error":{"code":-8,"message":"half"},"id":2},)"
         R"({"result":null,"error":{"code":-32601,"message":"Method not found"},"id":3}])"},
        {"batch with what is no request",
         R"([{"id":1,"method":"add","params":[1]},7,{"pizza":"sausage"},[]])", 200,
         R"([{"result":1,"error":null,"id":1},{"result":null,"error":{"code":-32600,"message":"Invalid Request object"},"id":1},)"
         R"({"result":null,"error":{"code":-32600,"message":"Missing method"}},)"
         R"({"result":null,"error":{"code":-32600,"message":"Invalid Request object"}}])"},
        {"batch that begins with what is no request", "[7,[]]", 200,
         R"([{"result":null,"error":{"code":-32600,"message":"Invalid Request object"},"id":null},)"
         R"({"result":null,"error":{"code":-32600,"message":"Invalid Request object"},"id":null}])"},
        {"batch with what is no request behind a call and a notification of 2.0",
         R"([{"jsonrpc":"2.0","id":"a","method":"add","params":[1]},7,{"jsonrpc":"2.0","method":"add"},8])",
         200,
         R"([{"jsonrpc":"2.0","result":1,"id":"a"},)"
         R"({"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid Request object"},"id":"a"}])"},
        {"batch with notifications",
         R"([{"jsonrpc":"2.0","method":"add","params":[1]},{"jsonrpc":"2.0","id":1,"method":"add","params":[1]},)"
         R"({"jsonrpc":"2.0","method":"nosuch"}])",
         200, R"([{"jsonrpc":"2.0","result":1,"id":1}])"},
    };
    DispatchFixture fixture;
    for (const Case& c : kCases) {
        CAPTURE(c.name);
        const HttpResponse response = fixture.post(c.request);
        CHECK(response.status == c.status);
        CHECK(response.content_type == "application/json");
        CHECK(response.text.ends_with('\n'));
        if (c.reply != nullptr) CHECK(response.text == std::string(c.reply) + "\n");
    }
}

TEST_CASE("notifications are carried out and not answered") {
    DispatchFixture fixture;
    for (const char* request :
         {R"({"jsonrpc":"2.0","method":"add","params":[1,2]})", R"({"jsonrpc":"2.0","method":"nosuch"})",
          R"([{"jsonrpc":"2.0","method":"add","params":[1,2]},{"jsonrpc":"2.0","method":"half"}])"}) {
        CAPTURE(request);
        const HttpResponse response = fixture.post(request);
        CHECK(response.status == 204);
        CHECK(response.content_type.empty());
        CHECK(response.text.empty());
    }
}

TEST_CASE("an id comes back as it came, whatever it is") {
    DispatchFixture fixture;
    for (const char* id :
         {"1", "1.0", "-0", "1e3", "0.10", "123456789012345678901234567890", "\"\"", "\"a b\"", "null",
          "true", "[1,{\"a\":[]}]", "{\"b\":1,\"a\":2}", "\"\xc3\xa9\"", "\"\\u0001\""}) {
        CAPTURE(id);
        CHECK(fixture.post(fmt::format(R"({{"id":{},"method":"add","params":[1]}})", id)).text ==
              fmt::format("{{\"result\":1,\"error\":null,\"id\":{}}}\n", id));
        CHECK(fixture.post(fmt::format(R"([{{"jsonrpc":"2.0","id":{},"method":"add","params":[1]}}])", id))
                  .text == fmt::format("[{{\"jsonrpc\":\"2.0\",\"result\":1,\"id\":{}}}]\n", id));
    }
}

TEST_CASE("a batch whose replies outgrow their bound is refused whole, in words that clients can parse") {
    DispatchFixture fixture(std::size_t{1} << 20);
    for (const char* element : {"7,", R"({"id":1,"method":"nosuch"},)"}) {
        std::string request = "[";
        for (int i = 0; i < 20'000; ++i) request += element;
        request.back() = ']';
        const HttpResponse response = fixture.post(std::move(request));
        CHECK(response.status == 503);
        CHECK(response.fields == "Retry-After: 1\r\n");
        CHECK(response.content_type == "application/json");
        CHECK(
            response.text ==
            "{\"result\":null,\"error\":{\"code\":-1,\"message\":\"The replies of the batch would take more "
            "than 1048576 bytes; ask for less at a time, or give -rpcbuffer a larger "
            "value\"},\"id\":null}\n");
    }
}

TEST_CASE("fifty thousand entries with one id are answered in order") {
    DispatchFixture fixture;
    std::string request = "[";
    for (int i = 0; i < 50'000; ++i)
        request += fmt::format(R"({{"id":"same","method":"add","params":[{}]}},)", i);
    request.back() = ']';
    const HttpResponse response = fixture.post(std::move(request));
    std::string wanted = "[";
    for (int i = 0; i < 50'000; ++i) wanted += fmt::format(R"({{"result":{},"error":null,"id":"same"}},)", i);
    wanted.back() = ']';
    CHECK(response.text == wanted + "\n");
}

TEST_CASE("parameters may be named, and positional ones lead them as args") {
    struct Case {
        const char* name;
        const char* method;
        const char* params;
        const char* outcome;  // result, or error object
    };
    static constexpr Case kCases[] = {
        {"all named", "add", R"({"second":2,"first":1})", "3"},
        {"by another name", "add", R"({"first":1,"other":2})", "3"},
        {"args alone", "add", R"({"args":[1,2]})", "3"},
        {"args and names", "add", R"({"args":[1],"second":2})", "3"},
        {"a hole", "list", R"({"c":"z"})", R"([null,null,"z"])"},
        {"a hole behind args", "list", R"({"args":["x"],"c":"z"})", R"(["x",null,"z"])"},
        {"nothing", "list", "{}", "[]"},
        {"empty args", "list", R"({"args":[],"a":"x"})", R"(["x"])"},
        {"unknown", "add", R"({"first":1,"third":3})",
         R"({"code":-8,"message":"Unknown named parameter third"})"},
        {"args not a list", "add", R"({"first":1,"args":5})",
         R"({"code":-8,"message":"Unknown named parameter args"})"},
        {"twice", "add", R"({"first":1,"first":2})",
         R"({"code":-8,"message":"Parameter first specified multiple times"})"},
        {"two names of one", "add", R"({"first":1,"second":1,"other":2})",
         R"({"code":-8,"message":"Unknown named parameter other"})"},
        {"named and in args", "add", R"({"args":[1,2],"other":2})",
         R"({"code":-8,"message":"Parameter second|other specified twice both as positional and named argument"})"},
        {"wrong type", "add", R"({"first":"x"})",
         R"({"code":-3,"message":"Wrong type passed:\n{\n    \"Position 1 (first)\": \"JSON value of type string is not of expected type number\"\n}"})"},
    };
    DispatchFixture fixture;
    for (const Case& c : kCases) {
        CAPTURE(c.name);
        const std::string text =
            fixture
                .post(fmt::format(R"({{"jsonrpc":"2.0","id":1,"method":"{}","params":{}}})", c.method,
                                  c.params))
                .text;
        const bool error = std::string_view(c.outcome).starts_with("{\"code\"");
        CHECK(text == fmt::format("{{\"jsonrpc\":\"2.0\",\"{}\":{},\"id\":1}}\n", error ? "error" : "result",
                                  c.outcome));
    }
}

TEST_CASE("wrong arguments are told in bitcoind's words") {
    const std::string hash(64, 'a');
    struct Case {
        const char* method;
        std::string params;
        const char* code;
        std::string message;  // as it stands in JSON
    };
    const Case kCases[] = {
        {"add", "[\"x\"]", "-3",
         R"(Wrong type passed:\n{\n    \"Position 1 (first)\": \"JSON value of type string is not of expected type number\"\n})"},
        {"add", "[null]", "-3",
         R"(Wrong type passed:\n{\n    \"Position 1 (first)\": \"JSON value of type null is not of expected type number\"\n})"},
        {"add", "[true,[]]", "-3",
         R"(Wrong type passed:\n{\n    \"Position 1 (first)\": \"JSON value of type bool is not of expected type number\",\n)"
         R"(    \"Position 2 (second|other)\": \"JSON value of type array is not of expected type number\"\n})"},
        {"add", "[1.5]", "-1", "JSON integer out of range"},
        {"add", "[1e2]", "-1", "JSON integer out of range"},
        {"add", "[2147483648]", "-1", "JSON integer out of range"},
        {"add", "[99999999999999999999]", "-1", "JSON integer out of range"},
        {"check", "[\"xyz\"]", "-8", "hash must be of length 64 (not 3, for 'xyz')"},
        {"check", "[\"\"]", "-8", "hash must be of length 64 (not 0, for '')"},
        {"check", "[\"" + std::string(63, 'a') + "g\"]", "-8",
         "hash must be hexadecimal string (not '" + std::string(63, 'a') + "g')"},
        {"check", "[5]", "-3",
         R"(Wrong type passed:\n{\n    \"Position 1 (hash)\": \"JSON value of type number is not of expected type string\"\n})"},
        {"check", "[\"" + hash + "\",1]", "-3",
         R"(Wrong type passed:\n{\n    \"Position 2 (flag|alias)\": \"JSON value of type number is not of expected type bool\"\n})"},
        {"check", "[\"" + hash + "\",true,{}]", "-3",
         R"(Wrong type passed:\n{\n    \"Position 3 (rest)\": \"JSON value of type object is not of expected type array\"\n})"},
    };
    DispatchFixture fixture;
    for (const Case& c : kCases) {
        CAPTURE(c.params);
        const std::string text =
            fixture.post(fmt::format(R"({{"id":1,"method":"{}","params":{}}})", c.method, c.params)).text;
        CHECK(text ==
              fmt::format("{{\"result\":null,\"error\":{{\"code\":{},\"message\":\"{}\"}},\"id\":1}}\n",
                          c.code, c.message));
    }
    CHECK(fixture
              .post(fmt::format(R"({{"id":1,"method":"check","params":["{}",null,null]}})",
                                std::string(64, 'A')))
              .text == fmt::format("{{\"result\":\"{}\",\"error\":null,\"id\":1}}\n", hash));
}

TEST_CASE("a wrong number of arguments is answered with the help page") {
    DispatchFixture fixture;
    const std::string page = help_page(*RpcMethods(test_methods()).find("add"));
    std::string wanted;
    JsonWriter(wanted).string(page);
    for (const char* params :
         {"[]", "[1,2,3]", "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]", "{}", "{\"second\":2}"}) {
        CAPTURE(params);
        const std::string text =
            fixture.post(fmt::format(R"({{"id":1,"method":"add","params":{}}})", params)).text;
        if (std::string_view(params).find("second") != std::string_view::npos) {
            // The hole before it counts as given: its type is what is wrong then.
            CHECK(text.find("JSON value of type null is not of expected type number") != std::string::npos);
        } else {
            CHECK(text ==
                  fmt::format("{{\"result\":null,\"error\":{{\"code\":-1,\"message\":{}}},\"id\":1}}\n",
                              wanted));
        }
    }
}

TEST_CASE("help lists methods by section and explains each in bitcoind's layout") {
    const RpcMethods methods(test_methods());
    CHECK(methods.help("") ==
          "== Another ==\nlist ( \"a\" \"b\" \"c\" )\n\n== Testing ==\nadd first ( second )\ncheck \"hash\" "
          "( flag [\"x\",...] )\nhalf\nnothing\nwaits");
    CHECK(methods.help("add") ==
          "add first ( second )\n\nAdds.\n\nArguments:\n1. first     (numeric, required) a number\n2. second "
          "   (numeric, optional, default=0) another\n\n"
          "Result:\nn    (numeric) the sum\n\nExamples:\n> bitcoin-cli add 1 2\n"
          "> curl --user myusername --data-binary '{\"jsonrpc\": \"2.0\", \"id\": \"curltest\", \"method\": "
          "\"add\", \"params\": [1, 2]}'"
          " -H 'content-type: application/json' http://127.0.0.1:8372/");
    CHECK(methods.help("nosuch") == "help: unknown command: nosuch");
}

TEST_CASE("a batch is answered where its most patient method is") {
    DispatchFixture fixture;
    CHECK(fixture.post(R"({"id":1,"method":"waits"})").text ==
          "{\"result\":\"waited\",\"error\":null,\"id\":1}\n");
    CHECK(fixture.lane == Lane::chain);
    (void)fixture.post(R"([{"id":1,"method":"add","params":[1]},{"id":2,"method":"waits"},5])");
    CHECK(fixture.lane == Lane::chain);
    (void)fixture.post(R"([{"id":1,"method":"add","params":[1]},{"id":2,"method":"nosuch"}])");
    CHECK(fixture.lane == Lane::here);
}

TEST_CASE("a user with a list calls what is on it and nothing else") {
    DispatchFixture fixture(1 << 20, RpcWhitelist({"someone:add,half"}, true));
    CHECK(fixture.post(R"({"id":1,"method":"add","params":[1]})").status == 200);
    struct Case {
        const char* name;
        const char* request;
        int status;
        const char* reply;
    };
    static constexpr Case kCases[] = {
        {"another method", R"({"id":1,"method":"list"})", 403, ""},
        {"a method that is not there", R"({"id":1,"method":"nosuch"})", 403, ""},
        {"a batch with one that may not be called",
         R"([{"id":1,"method":"add","params":[1]},{"id":2,"method":"list"}])", 403, ""},
        {"a batch with what is no object", R"([{"id":1,"method":"add","params":[1]},5])", 400,
         "{\"result\":null,\"error\":{\"code\":-32600,\"message\":\"Invalid Request "
         "object\"},\"id\":null}\n"},
        {"a batch with what names no method", R"([{"id":1}])", 500,
         "{\"result\":null,\"error\":{\"code\":-32700,\"message\":\"JSON value of type null is not of "
         "expected "
         "type string\"},\"id\":null}\n"},
    };
    for (const Case& c : kCases) {
        CAPTURE(c.name);
        const HttpResponse response = fixture.post(c.request);
        CHECK(response.status == c.status);
        CHECK(response.text == c.reply);
    }
    CHECK(DispatchFixture(1 << 20, RpcWhitelist({"another:add"}, true)).post("{").status == 403);
    CHECK(DispatchFixture(1 << 20, RpcWhitelist({"another:add"}, false))
              .post(R"({"id":1,"method":"list"})")
              .status == 200);
}

TEST_CASE("until there are methods every call is told what is being waited for") {
    NullLogger logger;
    RpcDispatcher dispatcher(logger);
    const auto post = [&](const char* body) {
        HttpRequest request;
        request.body = body;
        return std::get<HttpResponse>(dispatcher.answer(request));
    };
    dispatcher.set_warmup("Loading block index…");
    auto response = post(R"({"id":1,"method":"nosuch"})");
    CHECK(response.status == 500);
    CHECK(response.text ==
          "{\"result\":null,\"error\":{\"code\":-28,\"message\":\"Loading block index…\"},\"id\":1}\n");
    dispatcher.set_warmup("Verifying blocks…");
    response = post(R"({"jsonrpc":"2.0","id":1,"method":"stop"})");
    CHECK(response.status == 200);
    CHECK(response.text ==
          "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-28,\"message\":\"Verifying blocks…\"},\"id\":1}\n");
}

TEST_SUITE_END();
