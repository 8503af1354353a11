// SPDX-License-Identifier: Apache-2.0

#include <cadre/testing.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>

#include <cadre/detail/duration.hpp>

namespace cadre {

namespace {

/// Far from both ends of the clock, so that times before and long after the start can be told.
constexpr std::chrono::steady_clock::time_point steady_start{std::chrono::hours(24)};

}  // namespace

std::chrono::system_clock::time_point manual_clock::default_start() {
    return std::chrono::sys_days(std::chrono::year(2000) / 1 / 1);
}

manual_clock::manual_clock(std::chrono::system_clock::time_point wall_start)
    : wall_start_(wall_start) {}

std::chrono::steady_clock::time_point manual_clock::now() const {
    return steady_start + since_start_.load();
}

std::chrono::system_clock::time_point manual_clock::wall_now() const {
    return wall_start_.load() + since_start_.load();
}

std::chrono::steady_clock::time_point manual_clock::real_time_of(
    std::chrono::steady_clock::time_point t) const {
    return t <= now() ? std::chrono::steady_clock::time_point::min() : detail::forever;
}

void manual_clock::advance(std::chrono::nanoseconds d) {
    if (d.count() < 0)
        throw std::invalid_argument("advance (" + std::to_string(d.count()) + " ns) is negative");
    advance_to(d >= detail::forever - now() ? detail::forever - std::chrono::nanoseconds(1)
                                            : now() + d);
}

void manual_clock::advance_to(std::chrono::steady_clock::time_point t) {
    const std::lock_guard one_at_a_time(advancing_);
    tell();  // what is due already comes first
    while (now() < t) {
        auto next = t;
        for (auto* listener : listeners())
            if (const auto due = listener->next_due()) next = std::min(next, std::max(*due, now()));
        since_start_.store(next - steady_start);
        tell();
    }
}

void manual_clock::advance_to(std::chrono::system_clock::time_point t) {
    if (const auto rest = t - wall_now(); rest.count() > 0) advance(detail::saturated(rest));
}

void manual_clock::set_wall(std::chrono::system_clock::time_point t) {
    const std::lock_guard one_at_a_time(advancing_);
    wall_start_.store(t - since_start_.load());
    tell();
}

/// Has everybody do what is due now.
void manual_clock::tell() {
    for (auto* listener : listeners()) {
        listener->time_changed();
        listener->await_quiet();
    }
}

std::vector<clock_listener*> manual_clock::listeners() const {
    std::lock_guard lock(mutex_);
    return listeners_;
}

void manual_clock::subscribe(clock_listener& listener) {
    std::lock_guard lock(mutex_);
    listeners_.push_back(&listener);
}

void manual_clock::unsubscribe(clock_listener& listener) {
    std::lock_guard lock(mutex_);
    std::erase(listeners_, &listener);
}

}  // namespace cadre
