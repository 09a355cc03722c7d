// SPDX-License-Identifier: MIT
#include "notify/counting_sink.hpp"

#include "base/endian.hpp"

#include <array>

namespace blockpub {
namespace {

ByteSpan as_bytes(std::string_view text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace

void CountingSink::begin_point(std::size_t notifier) {
    notifier_ = notifier;
    position_ = 0;
    sent_ = 0;
}

Result<void> CountingSink::send(std::string_view topic, ByteSpan body) {
    return send_frames(topic, body, body.size());
}

Result<void> CountingSink::send(std::string_view topic, const SharedBytes& body) {
    if (body.size() < kCopiedBody) return send_frames(topic, body.bytes(), body.size());
    return send_frames(topic, body, body.size());
}

template <class Body>
Result<void> CountingSink::send_frames(std::string_view topic, const Body& body, std::size_t size) {
    if (position_ < sent_) {
        ++position_;
        return {};
    }
    if (broken_) {
        failed_ = true;
        return fail(Errc::io, "the socket is to be replaced");
    }
    std::array<std::uint8_t, 4> counter{};
    {
        MutexLock lock(mutex_);
        write_le(counter.data(), row_locked(notifier_, topic).counter);
    }
    Result<void> sent = socket_.send_frame(as_bytes(topic), true);
    if (sent) {
        sent = socket_.send_frame(body, true);
        if (sent) sent = socket_.send_frame(ByteSpan(counter), false);
        broken_ = !sent;
    }
    if (!sent) {
        failed_ = true;
        return sent;
    }
    ++position_;
    ++sent_;
    MutexLock lock(mutex_);
    Row& row = row_locked(notifier_, topic);
    ++row.counter;
    ++row.messages;
    row.bytes += size;
    return {};
}

void CountingSink::skip(std::size_t notifier, std::string_view topic) {
    MutexLock lock(mutex_);
    ++row_locked(notifier, topic).counter;
}

CountingSink::Row& CountingSink::row_locked(std::size_t notifier, std::string_view topic) {
    for (Row& row : rows_[notifier]) {
        if (row.topic == topic) return row;
    }
    return rows_[notifier].emplace_back(Row{.topic = std::string(topic), .counter = first_counter_});
}

std::vector<PublisherStatus::Topic> CountingSink::topics() const {
    MutexLock lock(mutex_);
    std::vector<PublisherStatus::Topic> topics;
    for (const auto& rows : rows_) {
        for (const Row& row : rows) topics.push_back({row.topic, row.messages, row.bytes});
    }
    return topics;
}

}  // namespace blockpub
