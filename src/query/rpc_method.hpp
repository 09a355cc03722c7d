// SPDX-License-Identifier: MIT
#pragma once

#include "query/http_server.hpp"
#include "query/json_reader.hpp"
#include "query/json_writer.hpp"
#include "query/rpc_error.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace blockpub {

enum class ArgumentType : std::uint8_t { string, hex, number, amount, boolean, array, object };

/// One row of a method's table of arguments: what is accepted, and what `help` says of it.
struct RpcArgument {
    std::string_view names;  ///< `verbosity|verbose`: the first is shown, all are taken as named parameters
    ArgumentType type = ArgumentType::string;
    bool required = true;
    std::string_view fallback;  ///< what an optional argument is without a value, as shown; may be empty
    std::string_view text;      ///< for help
    bool checked = true;        ///< whether the type is; where not, the method looks for itself
    std::string_view element;   ///< of an array: its element in the usage line, `"rawtx/txid"`
    std::string_view details;   ///< of an array or object: the lines for help, each ending in LF
    bool hidden = false;        ///< neither it nor what follows is shown

    [[nodiscard]] std::string_view name() const { return names.substr(0, names.find('|')); }
};

/// The arguments of a call, in the table's order whatever form they came in.
class RpcArguments {
 public:
    static constexpr std::size_t kMax = 16;
    /// Null where nothing was given.
    [[nodiscard]] JsonValue operator[](std::size_t position) const {
        return position < count_ ? values_[position] : JsonValue();
    }
    [[nodiscard]] std::size_t size() const { return count_; }
    [[nodiscard]] bool has(std::size_t position) const { return !(*this)[position].is_null(); }
    /// Requires: size() < kMax.
    void push_back(JsonValue value) { values_[count_++] = value; }

 private:
    JsonValue values_[kMax];
    std::size_t count_ = 0;
};

class RpcMethods;

/// One call under way.
struct RpcCall {
    const RpcMethods& methods;  ///< all of them, for help
    const RpcArguments& arguments;
    JsonWriter& result;                     ///< exactly one value, unless the call fails
    const std::function<bool()>& departed;  ///< as HttpRequest has it
};

/// A method: what it is called, what it takes, what it does.
/// The handler is called from several threads at once; it must not wait unless `lane` says so.
struct RpcMethod {
    std::string_view category;  ///< as in `help`: blockchain, mining, …; `hidden` is left out of the list
    std::string_view name;
    Lane lane = Lane::here;
    std::vector<RpcArgument> arguments;
    std::string_view description;
    std::string_view result;        ///< help: from `Result:` on, ending in LF
    std::string_view example;       ///< arguments of an example call, as for a command line
    std::string_view json_example;  ///< the same as a JSON list without its brackets
    std::function<RpcOutcome(const RpcCall&)> handler;
    bool large_reply = false;  ///< its result may take megabytes: calls wait until there is room for it
    /// In place of the handler, for calls that another node answers: gets the parameters as they came. May be
    /// empty.
    std::function<RpcOutcome(JsonValue parameters, const RpcCall&)> pass_on;
    /// Where the lane depends on the arguments: it, in place of `lane`. Calls that it answers here have small
    /// replies. May be empty.
    std::function<Lane(const RpcArguments&)> lane_of;
};

/// Brings positional or named parameters into the table's order. Named ones may be led by a list called
/// `args`. Errors: Core's, for a name that is unknown or given twice.
[[nodiscard]] std::expected<RpcArguments, RpcError> order_arguments(const RpcMethod& method,
                                                                    JsonValue parameters);

/// Checks number and types. Errors: -1 with the help text for a wrong number, -3 for wrong types.
[[nodiscard]] RpcOutcome check_arguments(const RpcMethod& method, const RpcArguments& arguments);

// What handlers ask of single values. Errors: Core's texts.

/// A hash of 64 digits. `name` is what the text calls it.
template <class Hash>
[[nodiscard]] std::expected<Hash, RpcError> hash_argument(JsonValue value, std::string_view name);
[[nodiscard]] RpcError bad_hash(std::string_view text, std::string_view name);
[[nodiscard]] std::expected<std::string_view, RpcError> string_argument(JsonValue value);
[[nodiscard]] std::expected<bool, RpcError> boolean_argument(JsonValue value);
[[nodiscard]] std::expected<std::int64_t, RpcError> integer_argument(JsonValue value);
/// An integer that fits an int, as most of Core's methods want it.
[[nodiscard]] std::expected<int, RpcError> int_argument(JsonValue value);
[[nodiscard]] std::expected<std::uint64_t, RpcError> unsigned_argument(JsonValue value);

template <class Hash>
std::expected<Hash, RpcError> hash_argument(JsonValue value, std::string_view name) {
    const auto text = string_argument(value);
    if (!text) return std::unexpected(text.error());
    if (const auto hash = Hash::from_display_hex(*text)) return *hash;
    return std::unexpected(bad_hash(*text, name));
}

/// The whole page that `help <method>` shows, in Core's layout; ends in LF.
[[nodiscard]] std::string help_page(const RpcMethod& method);
/// Its first line.
[[nodiscard]] std::string usage_line(const RpcMethod& method);

}  // namespace blockpub
