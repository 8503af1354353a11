// SPDX-License-Identifier: Apache-2.0

#include <cadre/clock.hpp>

namespace cadre {

namespace {

class system_scheduler_clock final : public scheduler_clock {
public:
    std::chrono::steady_clock::time_point now() const override {
        return std::chrono::steady_clock::now();
    }
    std::chrono::system_clock::time_point wall_now() const override {
        return std::chrono::system_clock::now();
    }
    std::chrono::steady_clock::time_point real_time_of(
        std::chrono::steady_clock::time_point t) const override {
        return t;
    }
    // It is never set; that the wall clock is, a scheduler finds out by looking.
    void subscribe(clock_listener&) override {}
    void unsubscribe(clock_listener&) override {}
};

}  // namespace

scheduler_clock& scheduler_clock::system() {
    static auto* clock = new system_scheduler_clock;  // schedulers may outlive the statics
    return *clock;
}

}  // namespace cadre
