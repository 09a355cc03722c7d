// SPDX-License-Identifier: MIT
#include "query/http_core.hpp"

#include <algorithm>
#include <utility>

namespace blockpub {

bool ByteBudget::take(std::size_t bytes, std::function<void()> granted) {
    bytes = std::min(bytes, limit_);
    MutexLock lock(mutex_);
    if (waiters_.empty() && bytes <= left_) {
        left_ -= bytes;
        return true;
    }
    waiters_.push_back({bytes, std::move(granted)});
    return false;
}

void ByteBudget::give_back(std::size_t bytes) {
    std::vector<std::function<void()>> ready;
    {
        MutexLock lock(mutex_);
        left_ += std::min(bytes, limit_);
        while (!waiters_.empty() && waiters_.front().bytes <= left_) {
            left_ -= waiters_.front().bytes;
            ready.push_back(std::move(waiters_.front().granted));
            waiters_.pop_front();
        }
    }
    for (const auto& granted : ready) granted();
}

void ByteBudget::drop_waiters() {
    std::deque<Waiter> dropped;
    MutexLock lock(mutex_);
    dropped.swap(waiters_);
    lock.unlock();
    dropped.clear();
}

bool ReplyBudget::take(std::size_t bytes, std::function<void()> granted) {
    MutexLock lock(mutex_);
    if (waiters_.empty() && held_ < limit_) {
        held_ += bytes;
        return true;
    }
    waiters_.push_back({bytes, std::move(granted)});
    return false;
}

void ReplyBudget::change(std::size_t before, std::size_t after) {
    std::vector<std::function<void()>> ready;
    {
        MutexLock lock(mutex_);
        held_ += after;
        held_ -= before;
        while (!waiters_.empty() && held_ < limit_) {
            held_ += waiters_.front().bytes;
            ready.push_back(std::move(waiters_.front().granted));
            waiters_.pop_front();
        }
    }
    for (const auto& granted : ready) granted();
}

void ReplyBudget::drop_waiters() {
    std::deque<Waiter> dropped;
    MutexLock lock(mutex_);
    dropped.swap(waiters_);
    lock.unlock();
    dropped.clear();
}

std::size_t ReplyBudget::held() const {
    MutexLock lock(mutex_);
    return held_;
}

void HttpConnections::add(HttpConnection* connection, std::weak_ptr<HttpConnection> handle) {
    MutexLock lock(mutex_);
    open_.emplace(connection, std::move(handle));
}

std::size_t HttpConnections::remove(HttpConnection* connection) {
    MutexLock lock(mutex_);
    open_.erase(connection);
    if (open_.empty()) gone_.notify_all();
    return open_.size();
}

std::size_t HttpConnections::size() const {
    MutexLock lock(mutex_);
    return open_.size();
}

std::vector<std::shared_ptr<HttpConnection>> HttpConnections::all() const {
    std::vector<std::shared_ptr<HttpConnection>> result;
    MutexLock lock(mutex_);
    result.reserve(open_.size());
    for (const auto& [address, handle] : open_) {
        if (auto connection = handle.lock()) result.push_back(std::move(connection));
    }
    return result;
}

bool HttpConnections::wait_until_empty(std::chrono::steady_clock::time_point deadline) {
    MutexLock lock(mutex_);
    while (!open_.empty()) {
        if (!gone_.wait_until(mutex_, deadline)) return open_.empty();
    }
    return true;
}

}  // namespace blockpub
