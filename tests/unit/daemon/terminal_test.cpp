// SPDX-License-Identifier: MIT
#include "daemon/terminal.hpp"

#include "daemon/printable.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <string>

using namespace blockpub;

namespace {

/// What would stand on the terminal, as bytes.
class Pipe {
 public:
    Pipe() { REQUIRE(pipe2(ends_.data(), O_NONBLOCK | O_CLOEXEC) == 0); }
    ~Pipe() {
        close(ends_[0]);
        close(ends_[1]);
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    [[nodiscard]] int in() const { return ends_[1]; }
    [[nodiscard]] std::string taken() const {
        std::array<char, 4096> buffer{};
        std::string all;
        for (;;) {
            const ssize_t got = ::read(ends_[0], buffer.data(), buffer.size());
            if (got <= 0) return all;
            all.append(buffer.data(), static_cast<std::size_t>(got));
        }
    }

 private:
    std::array<int, 2> ends_{};
};

}  // namespace

TEST_SUITE("daemon.terminal") {
    TEST_CASE("whole lines stand above the line that is written anew, which goes with the end of the work") {
        const Pipe pipe;
        Terminal terminal(pipe.in());
        terminal.write("first\n");
        CHECK(pipe.taken() == "first\n");
        terminal.show("10 %");
        CHECK(pipe.taken() == "\r\x1b[K10 %");
        terminal.write("second\n");
        CHECK(pipe.taken() == "\r\x1b[Ksecond\n10 %");
        terminal.show("20 %");
        CHECK(pipe.taken() == "\r\x1b[K20 %");
        terminal.show("");
        CHECK(pipe.taken() == "\r\x1b[K");
        terminal.show("");
        terminal.write("third\n");
        CHECK(pipe.taken() == "third\n");
    }

    TEST_CASE("the line is cut so that it never wraps") {
        const Pipe pipe;
        Terminal terminal(pipe.in());
        terminal.show(std::string(200, 'x'));
        CHECK(pipe.taken() == "\r\x1b[K" + std::string(79, 'x'));
    }

    TEST_CASE("a terminal that takes nothing does not hold up the work") {
        const Pipe pipe;
        while (write(pipe.in(), "................", 16) > 0) {
        }
        {
            Terminal terminal(pipe.in());
            terminal.show("10 %");
        }
        CHECK(pipe.taken().find('%') == std::string::npos);
    }
}

TEST_SUITE("daemon.printable") {
    TEST_CASE("control characters are spelt out, all else stays") {
        CHECK(printable("a\x1b[31mb\n\r\t\x7f ü") == "a\\x1b[31mb\\x0a\\x0d\\x09\\x7f ü");
        CHECK(printable({}).empty());
    }
}
