// SPDX-License-Identifier: Apache-2.0

#include <cadre/testing.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>

#include <cadre/errors.hpp>

namespace cadre {

namespace {

/// Far from both ends of the clock, so that times before and long after the start can be told.
constexpr std::chrono::steady_clock::time_point steady_start{std::chrono::hours(24)};

}  // namespace

/// While it lives, a listener does not leave, unless the calling thread itself lets it. False if
/// it has left.
class [[nodiscard]] manual_clock::telling_scope {
public:
    telling_scope(manual_clock& clock, clock_listener& listener) : clock_(clock) {
        const std::lock_guard lock(clock_.mutex_);
        const auto& all = clock_.listeners_;
        if (std::find(all.begin(), all.end(), &listener) == all.end()) return;
        clock_.being_told_ = &listener;
        clock_.teller_ = std::this_thread::get_id();
        is_there_ = true;
    }
    ~telling_scope() {
        const std::lock_guard lock(clock_.mutex_);
        clock_.being_told_ = nullptr;
        clock_.not_telling_.notify_all();
    }
    telling_scope(const telling_scope&) = delete;
    telling_scope& operator=(const telling_scope&) = delete;
    explicit operator bool() const noexcept { return is_there_; }

private:
    manual_clock& clock_;
    bool is_there_ = false;
};

/// While it lives, nobody else moves the clock.
class [[nodiscard]] manual_clock::moving_scope {
public:
    moving_scope(manual_clock& clock, const char* what)
        : one_at_a_time_(refused_inside(clock, what).advancing_) {}

private:
    static manual_clock& refused_inside(manual_clock& clock, const char* what) {
        const std::lock_guard lock(clock.mutex_);  // meanwhile no listener leaves
        for (const auto* listener : clock.listeners_)
            if (listener->is_called_inside())
                throw illegal_state(std::string(what) +
                                    " was called by a task that runs on this clock, for whose end "
                                    "it would wait");
        return clock;
    }

    const std::lock_guard<std::mutex> one_at_a_time_;
};

std::chrono::system_clock::time_point manual_clock::default_start() {
    return std::chrono::sys_days(std::chrono::year(2000) / 1 / 1);
}

manual_clock::manual_clock(std::chrono::system_clock::time_point wall_start)
    : wall_start_(wall_start) {}

std::chrono::steady_clock::time_point manual_clock::now() const {
    return steady_start + since_start_.load();
}

std::chrono::system_clock::time_point manual_clock::wall_now() const {
    using wall_time = std::chrono::system_clock::time_point;
    const auto start = wall_start_.load();
    const auto passed = since_start_.load();
    return passed > wall_time::max() - std::max(start, wall_time()) ? wall_time::max()
                                                                    : start + passed;
}

std::chrono::steady_clock::time_point manual_clock::real_time_of(
    std::chrono::steady_clock::time_point t) const {
    return t <= now() ? std::chrono::steady_clock::time_point::min() : detail::forever;
}

void manual_clock::advance(std::chrono::nanoseconds d) {
    if (d.count() < 0)
        throw std::invalid_argument("advance (" + std::to_string(d.count()) + " ns) is negative");
    const moving_scope moving(*this, "advance");
    go_on_by(d);
}

void manual_clock::advance_to(std::chrono::steady_clock::time_point t) {
    const moving_scope moving(*this, "advance_to");
    go_on_to(t);
}

void manual_clock::go_on_by(std::chrono::nanoseconds d) {
    go_on_to(d >= detail::forever - now() ? detail::forever : now() + d);
}

/// Not to the end of time, at which tasks wait that are never to run.
void manual_clock::go_on_to(std::chrono::steady_clock::time_point t) {
    t = std::min(t, detail::forever - std::chrono::nanoseconds(1));
    tell();  // what is due already comes first
    while (now() < t) {
        since_start_.store(std::min(t, std::max(next_due(), now())) - steady_start);
        tell();
    }
}

void manual_clock::advance_to(std::chrono::system_clock::time_point t) {
    const moving_scope moving(*this, "advance_to");
    const auto rest =
        detail::saturated_difference(t.time_since_epoch(), wall_now().time_since_epoch());
    if (rest.count() > 0) go_on_by(rest);
}

void manual_clock::set_wall(std::chrono::system_clock::time_point t) {
    const moving_scope moving(*this, "set_wall");
    wall_start_.store(std::chrono::system_clock::time_point(
        detail::saturated_difference(t.time_since_epoch(), since_start_.load())));
    tell();
}

/// The earliest time that anybody waits for; the end of time if nobody does.
std::chrono::steady_clock::time_point manual_clock::next_due() {
    auto next = detail::forever;
    for (auto* listener : listeners())
        if (const telling_scope telling(*this, *listener); telling)
            next = std::min(next, listener->next_due().value_or(detail::forever));
    return next;
}

/// Has everybody do what is due now; again, for one may have given work to another.
void manual_clock::tell() {
    do {
        for (auto* listener : listeners())
            if (const telling_scope telling(*this, *listener); telling) {
                listener->time_changed();
                listener->await_quiet();
            }
    } while (next_due() <= now());
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
    std::unique_lock lock(mutex_);
    std::erase(listeners_, &listener);
    not_telling_.wait(
        lock, [&] { return being_told_ != &listener || teller_ == std::this_thread::get_id(); });
}

}  // namespace cadre
