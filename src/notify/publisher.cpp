// SPDX-License-Identifier: MIT
#include "notify/endpoint.hpp"
#include "notify/pub_socket.hpp"
#include "notify/publisher_thread.hpp"

#include <blockpub/publisher.hpp>

namespace blockpub {

Result<std::unique_ptr<Publisher>> Publisher::bind(PublisherOptions options, Bus& bus, BlockReader& reader,
                                                   Logger& logger) {
    auto endpoint = parse_endpoint(options.endpoint);
    if (!endpoint) return forward_error(endpoint);
    if (options.high_water_mark < 0) {
        return fail(Errc::invalid_argument, options.endpoint + ": the high water mark is negative");
    }
    auto socket = make_pub_socket({.endpoint = *endpoint, .high_water_mark = options.high_water_mark});
    if (!socket) return forward_error(socket);
    return PublisherThread::start(std::move(options), bus, reader, logger, std::move(*socket));
}

}  // namespace blockpub
