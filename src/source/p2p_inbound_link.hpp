// SPDX-License-Identifier: MIT
#pragma once

#include "source/p2p_inbound_connection.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>

#include <cstdint>
#include <memory>

namespace blockpub {

/// The connection on an accepted socket; null when the peer is gone already.
/// Thread safety: the thread of the socket's context only. Blocking: never.
[[nodiscard]] std::unique_ptr<InboundConnection> make_inbound_connection(boost::asio::ip::tcp::socket socket,
                                                                         std::uint32_t permissions);

}  // namespace blockpub
