// SPDX-License-Identifier: Apache-2.0
#include "manage/stop_signal.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <system_error>

namespace cadre::manage::detail {

stop_signal::stop_signal() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

stop_signal::~stop_signal() { ::close(descriptor_); }

void stop_signal::raise() noexcept {
    raised_ = true;
    const std::uint64_t one = 1;
    // Cannot fail: the counter is far from its end.
    [[maybe_unused]] const auto written = ::write(descriptor_, &one, sizeof one);
}

void stop_signal::sleep_for(std::chrono::milliseconds time) const { wait_for(-1, time); }

bool stop_signal::wait_for(int readable, std::chrono::milliseconds time) const {
    const auto deadline = std::chrono::steady_clock::now() +
                          std::min<std::chrono::milliseconds>(time, std::chrono::hours(1000));
    for (;;) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(
            deadline - std::chrono::steady_clock::now());
        const auto wait = std::clamp<std::int64_t>(left.count(), 0, 1'000'000);
        std::array<pollfd, 2> waited{pollfd{descriptor_, POLLIN, 0}, pollfd{readable, POLLIN, 0}};
        const int ready = ::poll(waited.data(), waited.size(), static_cast<int>(wait));
        if (raised()) throw source_stopped();
        if (ready > 0 && waited[1].revents != 0) return true;
        if (ready < 0 && errno != EINTR)
            throw std::system_error(errno, std::generic_category(), "poll");
        if (std::chrono::steady_clock::now() >= deadline) return false;
    }
}

}  // namespace cadre::manage::detail
