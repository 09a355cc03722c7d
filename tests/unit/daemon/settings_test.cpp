// SPDX-License-Identifier: MIT
#include "daemon/settings.hpp"

#include "daemon/option_table.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

using namespace blockpub;

namespace {

/// Settings of a command line (words parted by blanks) and a file, for one network.
Result<Settings> make(const std::string& command_line, const std::string& file, const std::string& network) {
    std::vector<std::string> words;
    for (std::size_t at = 0; at < command_line.size();) {
        const std::size_t end = std::min(command_line.find(' ', at), command_line.size());
        words.push_back(command_line.substr(at, end - at));
        at = end + 1;
    }
    std::vector<const char*> arguments;
    for (const auto& word : words) arguments.push_back(word.c_str());
    auto settings = Settings::from_command_line(arguments);
    if (!settings) return settings;
    const auto config = parse_config(file, "x.conf");
    if (!config) return std::unexpected(config.error());
    if (auto added = settings->add_file(*config, network); !added) return forward_error(added);
    settings->select_network(network);
    return settings;
}

std::string joined(const std::vector<Setting>& values) {
    std::string out;
    for (const Setting& value : values) out += value.value + ";";
    return out;
}

}  // namespace

TEST_SUITE("daemon.settings") {
    TEST_CASE("the value that counts is bitcoind's") {
        struct Case {
            const char* name;
            const char* command_line;
            const char* file;
            const char* network;
            const char* rpcport;
        };
        constexpr Case kCases[] = {
            {"nothing given", "", "", "main", "none"},
            {"one dash", "-rpcport=1", "", "main", "1"},
            {"two dashes", "--rpcport=1", "", "main", "1"},
            {"the last on the command line", "-rpcport=1 -rpcport=2", "", "main", "2"},
            {"the first in a file", "", "rpcport=1\nrpcport=2", "main", "1"},
            {"the command line before a file", "-rpcport=1", "rpcport=2", "main", "1"},
            {"a section before the rest of the file", "", "rpcport=1\n[regtest]\nrpcport=2", "regtest", "2"},
            {"another chain's section is not looked at", "", "[test]\nrpcport=2", "regtest", "none"},
            {"a dotted name is in its section", "", "regtest.rpcport=2", "regtest", "2"},
            {"outside a section it counts for main only", "", "rpcport=1", "regtest", "none"},
            {"section main counts for main", "", "[main]\nrpcport=3", "main", "3"},
            {"ours overrides the node's own", "", "rpcport=1\n[blockpub]\nrpcport=2", "main", "2"},
            {"ours overrides the chain's section", "", "[regtest]\nrpcport=1\n[blockpub]\nrpcport=2",
             "regtest", "2"},
            {"ours counts on every chain", "", "[blockpub]\nrpcport=2", "signet", "2"},
            {"the command line before ours", "-rpcport=9", "[blockpub]\nrpcport=2", "main", "9"},
            {"a negation hides a file", "-norpcport", "rpcport=2", "main", "negated"},
            {"a later value undoes a negation", "-norpcport -rpcport=2", "", "main", "2"},
            {"a later negation undoes a value", "-rpcport=2 -norpcport", "", "main", "negated"},
            {"a negation in a file", "", "norpcport=1", "main", "negated"},
            {"not no is yes", "-norpcport=0", "", "main", "1"},
        };
        for (const Case& c : kCases) {
            SUBCASE(c.name) {
                const auto settings = make(c.command_line, c.file, c.network);
                REQUIRE(settings);
                const Setting* found = settings->find("rpcport");
                CHECK((found == nullptr ? "none" : found->negated ? "negated" : found->value) == c.rpcport);
            }
        }
    }

    TEST_CASE("every value of a list counts, up to a negation") {
        struct Case {
            const char* name;
            const char* command_line;
            const char* file;
            const char* values;
        };
        constexpr Case kCases[] = {
            {"nothing given", "", "", ""},
            {"repeated", "-zmqpubrawtx=a -zmqpubrawtx=b", "", "a;b;"},
            {"command line and file add up", "-zmqpubrawtx=a", "zmqpubrawtx=b", "a;b;"},
            {"a section and the rest add up", "", "zmqpubrawtx=b\n[regtest]\nzmqpubrawtx=c", "c;b;"},
            {"ours replaces the node's", "", "zmqpubrawtx=b\n[blockpub]\nzmqpubrawtx=c", "c;"},
            {"ours replaces the node's with nothing", "", "zmqpubrawtx=b\n[blockpub]\nnozmqpubrawtx=1", ""},
            {"the command line adds to ours", "-zmqpubrawtx=a", "zmqpubrawtx=b\n[blockpub]\nzmqpubrawtx=c",
             "a;c;"},
            {"a negation forgets", "-zmqpubrawtx=a -nozmqpubrawtx", "zmqpubrawtx=b", ""},
            {"what follows a negation counts", "-zmqpubrawtx=a -nozmqpubrawtx -zmqpubrawtx=c",
             "zmqpubrawtx=b", "c;"},
        };
        for (const Case& c : kCases) {
            SUBCASE(c.name) {
                const auto settings = make(c.command_line, c.file, "regtest");
                REQUIRE(settings);
                CHECK(joined(settings->list("zmqpubrawtx")) == c.values);
            }
        }
    }

    TEST_CASE("a flag is on when given bare or with another number than 0") {
        struct Case {
            const char* given;
            bool on;
        };
        constexpr Case kCases[] = {{"", false},         {"-rest", true},      {"-rest=1", true},
                                   {"-rest=2", true},   {"-rest=0", false},   {"-norest", false},
                                   {"-norest=0", true}, {"-norest=1", false}, {"--rest", true},
                                   {"-rest=", true},    {"-norest=2", false}, {"-rest -norest", false}};
        for (const Case& c : kCases) {
            CAPTURE(c.given);
            const auto settings = make(c.given, "", "main");
            REQUIRE(settings);
            CHECK(settings->flag("rest", false) == c.on);
        }
    }

    TEST_CASE("what is wrong is refused in one sentence that names the option") {
        struct Case {
            const char* name;
            const char* command_line;
            const char* file;
            const char* error;
        };
        constexpr Case kCases[] = {
            {"an unknown option", "-foo", "", "Error parsing command line arguments: Invalid parameter -foo"},
            {"an unknown option with a value", "-foo=1", "",
             "Error parsing command line arguments: Invalid parameter -foo"},
            {"a near miss", "-rpcprot=1", "",
             "Error parsing command line arguments: Invalid parameter -rpcprot; did you mean rpcport?"},
            {"no option at all", "stop", "",
             "Command line contains unexpected token 'stop', see blockpubd -h for a list of options."},
            {"an include on the command line", "-includeconf=x", "",
             "Error parsing command line arguments: -includeconf cannot be used from commandline; "
             "-includeconf=\"x\""},
            {"a misspelt topic on the command line", "-zmqpuawtx=tcp://127.0.0.1:1", "",
             "Error parsing command line arguments: Invalid parameter -zmqpuawtx; did you mean zmqpubrawtx?"},
            {"a misspelt topic in a file", "", "zmqpuawtx=tcp://127.0.0.1:1",
             "Unknown option zmqpuawtx (x.conf line 1); did you mean zmqpubrawtx?"},
            {"a misspelt topic in another chain's section", "", "\n[test]\nzmqpuawtx=1",
             "Unknown option zmqpuawtx (x.conf line 3); did you mean zmqpubrawtx?"},
            {"a misspelt topic in an unknown section", "", "[foo]\nzmqpuawtx=1",
             "Unknown option zmqpuawtx (x.conf line 2); did you mean zmqpubrawtx?"},
            {"a negated misspelt topic", "", "nozmqpuawtx=1",
             "Unknown option nozmqpuawtx (x.conf line 1); did you mean zmqpubrawtx?"},
            {"conf in a file", "", "conf=x",
             "Error reading configuration file: conf cannot be set in the configuration file; use "
             "includeconf= if you want to include "
             "additional config "
             "files"},
        };
        for (const Case& c : kCases) {
            SUBCASE(c.name) {
                const auto settings = make(c.command_line, c.file, "main");
                REQUIRE_FALSE(settings);
                CHECK(settings.error().context == c.error);
            }
        }
    }

    TEST_CASE("a value out of kind or range is refused") {
        struct Case {
            const char* given;
            const char* error;
        };
        constexpr Case kCases[] = {
            {"-rpcport=x", "Invalid port specified in -rpcport: 'x'"},
            {"-rpcport=", "Invalid port specified in -rpcport: ''"},
            {"-rpcport", "Invalid port specified in -rpcport: ''"},
            {"-rpcport=80x", "Invalid port specified in -rpcport: '80x'"},
            {"-rpcport=65536", "Invalid port specified in -rpcport: '65536'"},
            {"-rpcport=-1", "Invalid port specified in -rpcport: '-1'"},
            {"-rpcport=99999999999999999999", "Invalid port specified in -rpcport: '99999999999999999999'"},
            {"-maxtipage=0", "-maxtipage: 0 is less than 1."},
            {"-nomaxtipage", "-nomaxtipage: it cannot be turned off."},
            {"-segmentsize=15", "-segmentsize: 15 is not between 16 and 4096."},
            {"-server=true", "-server: 'true' is neither 1 (yes) nor 0 (no)."},
            {"-zmqpubrawtxhwm=-1", "-zmqpubrawtxhwm: -1 is not between 0 and 2147483647."},
            {"-zmqpubrawtxhwm=1k", "-zmqpubrawtxhwm: '1k' is not a whole number."},
        };
        for (const Case& c : kCases) {
            CAPTURE(c.given);
            const auto settings = make(c.given, "", "main");
            REQUIRE(settings);
            const auto valid = settings->validate();
            REQUIRE_FALSE(valid);
            CHECK(valid.error().context == c.error);
        }
    }

    TEST_CASE("a value in range passes") {
        for (const char* given :
             {"-rpcport=0", "-rpcport=65535", "-rpcport=+80", "-segmentsize=16", "-segmentsize=4096",
              "-zmqpubrawtxhwm=0", "-mocktime=1610000000", "-server=0"}) {
            CAPTURE(given);
            const auto settings = make(given, "", "main");
            REQUIRE(settings);
            CHECK(settings->validate());
        }
    }

    TEST_CASE("unknown names and sections in a file are warned of") {
        const auto settings = make("", "foo=1\n[bar]\nrpcport=1\nrpcuser=x\n[test]\nzap=1\n", "main");
        REQUIRE(settings);
        CHECK(settings->warnings() ==
              std::vector<std::string>{"Ignoring unknown configuration value foo (x.conf line 1)",
                                       "x.conf:3 Section [bar] is not recognized.",
                                       "Ignoring unknown configuration value test.zap (x.conf line 6)"});
        CHECK_FALSE(settings->given("rpcport"));
    }

    TEST_CASE(
        "bitcoind's options that do nothing here are named once, but for what is off and not here anyway") {
        const auto settings = make(
            "-blockversion -par=2",
            "blockversion=1\nwallet=w\nnatpmp=0\nupnp=1\nrpcworkqueue=64\nlistenonion=0\n", "main");
        REQUIRE(settings);
        CHECK(settings->foreign_names() ==
              std::vector<std::string>{"blockversion", "par", "rpcworkqueue", "upnp", "wallet"});
    }

    TEST_CASE("an option of one network outside its section is reported, unless another place gives it") {
        CHECK(make("", "rpcport=1", "regtest")->ignored_network_options() ==
              std::vector<std::string>{"rpcport"});
        CHECK(make("-rpcport=2", "rpcport=1", "regtest")->ignored_network_options().empty());
        CHECK(make("", "rpcport=1", "main")->ignored_network_options().empty());
    }
}

TEST_SUITE("daemon.option_table") {
    TEST_CASE("every name stands once, and no name is both ours and foreign") {
        std::set<std::string_view> names;
        for (const OptionSpec& option : option_table()) {
            CAPTURE(option.name);
            CHECK(names.insert(option.name).second);
            CHECK_FALSE(is_foreign_option(option.name));
            CHECK_FALSE(option.help.empty());
            CHECK((option.kind == OptionKind::flag) == option.value.empty());
            CHECK_FALSE(option.name.starts_with("no"));
        }
    }

    TEST_CASE("options that hold credentials are secret") {
        for (const char* name : {"rpcuser", "rpcpassword", "rpcauth"}) CHECK(find_option(name)->secret);
    }

    TEST_CASE("the help names every option and keeps to the width of a terminal") {
        const std::string help = help_text();
        for (const OptionSpec& option : option_table()) {
            CAPTURE(option.name);
            CHECK(help.find("\n  -" + std::string(option.name) + (option.value.empty() ? "\n" : "=")) !=
                  std::string::npos);
        }
        std::size_t longest = 0;
        for (std::size_t at = 0; at < help.size();) {
            const std::size_t end = help.find('\n', at);
            longest = std::max(longest, end - at);
            at = end + 1;
        }
        CHECK(longest <= 100);
    }

    TEST_CASE("a near name is suggested, a far one is not") {
        CHECK(closest_option("zmqpuawtx") == "zmqpubrawtx");
        CHECK(closest_option("datdir") == "datadir");
        CHECK(closest_option("x").empty());
        CHECK(closest_option("entirelyelse").empty());
        CHECK(closest_option(std::string(5000, 'z')).empty());
    }
}
