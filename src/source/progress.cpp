// SPDX-License-Identifier: MIT
#include "source/progress.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace blockpub {

namespace {
constexpr std::chrono::seconds kWindow{30};
}  // namespace

ProgressMeter::Rates ProgressMeter::update(const ProgressPoint& point, Time now) {
    while (samples_.size() > 1 && now - samples_.front().time > kWindow) samples_.pop_front();
    const Sample& first = samples_.front();
    const double seconds = std::chrono::duration<double>(now - first.time).count();
    Rates rates;
    if (seconds > 0) {
        rates.blocks_per_second = static_cast<double>(point.blocks - first.point.blocks) / seconds;
        rates.bytes_per_second = static_cast<double>(point.bytes - first.point.bytes) / seconds;
    }
    const std::uint64_t remaining = total_ - std::min(total_, point.bytes);
    if (total_ != 0) rates.fraction = 1 - static_cast<double>(remaining) / static_cast<double>(total_);
    if (remaining == 0) {
        rates.left = std::chrono::seconds(0);
    } else if (rates.bytes_per_second >= 1) {
        rates.left = std::chrono::seconds(
            static_cast<std::int64_t>(static_cast<double>(remaining) / rates.bytes_per_second));
    }
    samples_.push_back({now, point});
    return rates;
}

std::string format_bytes(std::uint64_t bytes) {
    constexpr const char* kUnits[] = {"kB", "MB", "GB", "TB"};
    if (bytes < 1000) return fmt::format("{} bytes", bytes);
    double value = static_cast<double>(bytes) / 1000;
    std::size_t unit = 0;
    while (value >= 999.95 && unit + 1 < std::size(kUnits)) {
        value /= 1000;
        ++unit;
    }
    return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string format_duration(std::chrono::seconds duration) {
    const auto seconds = duration.count();
    if (seconds < 60) return fmt::format("{} s", seconds);
    if (seconds < 3600) return fmt::format("{} min {} s", seconds / 60, seconds % 60);
    return fmt::format("{} h {} min", seconds / 3600, seconds % 3600 / 60);
}

std::string format_progress(std::uint32_t height, const ProgressMeter::Rates& rates,
                            std::uint64_t total_bytes) {
    return fmt::format("height {}, {:.0f} blocks/s, {:.1f} MB/s, {:.1f} % of {}, {} left", height,
                       rates.blocks_per_second, rates.bytes_per_second / 1e6, rates.fraction * 100,
                       format_bytes(total_bytes), rates.left ? format_duration(*rates.left) : "unknown time");
}

}  // namespace blockpub
