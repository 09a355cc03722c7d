// SPDX-License-Identifier: MIT
#include "unit/notify/notify_fixture.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

using namespace blockpub;
using namespace blockpub::test;

namespace {

Errc bind_error(Scene& scene, const std::string& endpoint) {
    auto publisher = Publisher::bind(publisher_options(endpoint), scene.bus, scene.reader, scene.logger);
    REQUIRE_FALSE(publisher.has_value());
    CHECK(publisher.error().context.find(endpoint) != std::string::npos);
    CHECK(publisher.error().context.find('\n') == std::string::npos);
    return publisher.error().code;
}

}  // namespace

TEST_SUITE("notify.ipc") {
    TEST_CASE("blocks go over an ipc path in each spelling, and socket and lock go with the publisher") {
        const TempDirectory directory;
        for (const std::string prefix : {"ipc://", "unix:", "unix://"}) {
            CAPTURE(prefix);
            Scene scene;
            auto publisher = scene.publish(publisher_options(prefix + directory.file("s")));
            CHECK(publisher->status().endpoint == "ipc://" + directory.file("s"));
            CHECK(std::filesystem::exists(directory.file("s.lock")));
            Subscriber subscriber(publisher->status().endpoint);
            scene.join(subscriber);
            scene.connect(block170());
            CHECK(scene.messages(subscriber).size() == 7);
            publisher.reset();
            CHECK_FALSE(std::filesystem::exists(directory.file("s")));
            CHECK_FALSE(std::filesystem::exists(directory.file("s.lock")));
        }
    }

    TEST_CASE("abstract sockets need no file") {
        Scene scene;
        const std::string endpoint = "ipc://@blockpub-test-" + std::to_string(getpid());
        const auto publisher = scene.publish(publisher_options(endpoint));
        Subscriber subscriber(endpoint);
        scene.join(subscriber);
        CHECK(bind_error(scene, endpoint) == Errc::busy);
    }

    TEST_CASE("a path that another publisher holds is busy, and the holder does not notice") {
        const TempDirectory directory;
        Scene scene;
        const std::string endpoint = "ipc://" + directory.file("s");
        const auto holder = scene.publish(publisher_options(endpoint));
        CHECK(bind_error(scene, endpoint) == Errc::busy);
        CHECK(bind_error(scene, endpoint) == Errc::busy);
        Subscriber subscriber(endpoint);
        scene.join(subscriber);
        scene.connect(block170());
        CHECK(scene.messages(subscriber).size() == 7);
    }

    TEST_CASE("a path that a process without our lock listens at is busy too") {
        const TempDirectory directory;
        Scene scene;
        zmq::context_t context;
        zmq::socket_t other(context, zmq::socket_type::pub);
        other.bind("ipc://" + directory.file("s"));
        CHECK(bind_error(scene, "ipc://" + directory.file("s")) == Errc::busy);
        CHECK(std::filesystem::exists(directory.file("s")));
    }

    TEST_CASE("what a killed process left behind is taken over") {
        const TempDirectory directory;
        const std::string path = directory.file("s");
        // A socket and a lock file that nobody holds any longer are all that a killed process leaves.
        const pid_t child = fork();
        if (child == 0) {
            const int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
            sockaddr_un address{};
            address.sun_family = AF_UNIX;
            path.copy(address.sun_path, sizeof address.sun_path - 1);
            bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address);
            listen(descriptor, 1);
            raise(SIGKILL);
        }
        waitpid(child, nullptr, 0);
        std::ofstream(path + ".lock").close();
        REQUIRE(std::filesystem::exists(path));
        Scene scene;
        const auto publisher = scene.publish(publisher_options("ipc://" + path));
        Subscriber subscriber("ipc://" + path);
        scene.join(subscriber);
    }

    TEST_CASE("a file that is no socket is not touched") {
        const TempDirectory directory;
        std::ofstream(directory.file("precious")) << "text";
        Scene scene;
        CHECK(bind_error(scene, "ipc://" + directory.file("precious")) == Errc::busy);
        CHECK(std::filesystem::file_size(directory.file("precious")) == 4);
        CHECK_FALSE(std::filesystem::exists(directory.file("precious.lock")));
    }

    TEST_CASE("a directory that is not there is an error, and a path too long is a limit") {
        const TempDirectory directory;
        Scene scene;
        CHECK(bind_error(scene, "ipc://" + directory.file("no/such")) == Errc::io);
        CHECK(bind_error(scene, "ipc:///tmp/" + std::string(120, 'x')) == Errc::limit);
    }
}
