// SPDX-License-Identifier: MIT
// Prints every notification of one endpoint, one line each, and what was missed.
//
//     subscriber tcp://127.0.0.1:28332 [count]
//
// With a count it ends after so many messages, and with status 1 when none came for a minute.

#include <zmq.hpp>
#include <zmq_addon.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace {

// Hash bodies are in display order, the one of RPC: never turn them round.
std::string hex(const zmq::message_t& body, std::size_t size) {
    std::string out;
    for (std::size_t i = 0; i < size && i < body.size(); ++i) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02x", body.data<unsigned char>()[i]);
        out += digits;
    }
    return out;
}

std::string readable(const std::string& topic, const zmq::message_t& body) {
    if (topic.starts_with("raw")) return std::to_string(body.size()) + " bytes, begins " + hex(body, 8);
    std::string text = hex(body, 32);
    // C and D are a block's connect and disconnect, A and R a transaction's way into the mempool and out of
    // it.
    if (topic == "sequence" && body.size() > 32) text += std::string(" ") + body.data<char>()[32];
    return text;
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc < 2) {
        std::fprintf(stderr, "usage: subscriber ENDPOINT [COUNT]\n");
        return 2;
    }
    const bool endless = argc < 3;
    long left = endless ? 0 : std::atol(argv[2]);

    zmq::context_t context;
    zmq::socket_t socket(context, zmq::socket_type::sub);
    socket.set(zmq::sockopt::rcvhwm, 0);  // a queue that is full would drop messages on our side
    socket.set(zmq::sockopt::tcp_keepalive, 1);
    if (!endless) socket.set(zmq::sockopt::rcvtimeo, 60'000);
    socket.set(zmq::sockopt::subscribe, "");
    socket.connect(argv[1]);

    std::map<std::string, std::uint32_t> expected;  // the counter that a topic's next message must have
    for (; endless || left > 0; --left) {
        std::vector<zmq::message_t> frames;  // topic, body, little-endian counter
        if (!zmq::recv_multipart(socket, std::back_inserter(frames)) || frames.size() != 3) return 1;
        const std::string topic = frames[0].to_string();
        std::uint32_t counter = 0;
        std::memcpy(&counter, frames[2].data(), sizeof counter);

        const auto [place, first] = expected.try_emplace(topic, counter);
        if (place->second != counter)
            std::printf("%s: missed %u before %u\n", topic.c_str(), counter - place->second, counter);
        place->second = counter + 1;
        std::printf("%-9s %6u %s\n", topic.c_str(), counter, readable(topic, frames[1]).c_str());
        std::fflush(stdout);
    }
} catch (const zmq::error_t& error) {
    std::fprintf(stderr, "%s: %s\n", argv[1], error.what());
    return 1;
}
