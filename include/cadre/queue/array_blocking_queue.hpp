// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <ranges>
#include <stdexcept>
#include <string>
#include <utility>

#include <cadre/detail/queue_monitor.hpp>
#include <cadre/detail/queue_ring.hpp>
#include <cadre/queue/blocking_queue.hpp>
#include <cadre/task.hpp>

namespace cadre {

/// A bounded FIFO queue in an array that is allocated once. All members may be called from any
/// thread.
///
/// A fair queue serves waiting putters, and waiting takers, strictly in the order in which they
/// came; nobody overtakes. That costs throughput; without it a thread that comes at the right
/// moment may be served before one that waits.
///
///     cadre::array_blocking_queue<std::string> lines(1024);
///     lines.put("first");                      // waits while 1024 lines are in it
///     if (!lines.offer("second")) drop();      // does not wait
///     std::string line = lines.take();
template <class T>
class array_blocking_queue final : public detail::monitor_queue<T, detail::ring<T>> {
    using monitor = detail::monitor_queue<T, detail::ring<T>>;

public:
    /// Throws std::invalid_argument if the capacity is less than 1, std::bad_alloc if there is no
    /// memory for it. Memory is reserved at once, but touched only where elements are.
    explicit array_blocking_queue(int capacity, bool fair = false)
        : monitor(detail::ring<T>(checked(capacity)), checked(capacity), fair) {}
    /// With these elements; throws std::invalid_argument if they do not fit.
    template <std::ranges::input_range Range>
    array_blocking_queue(int capacity, bool fair, Range&& elements)
        : array_blocking_queue(capacity, fair) {
        for (auto&& x : elements)
            if (!this->offer(T(std::forward<decltype(x)>(x))))
                throw std::invalid_argument("elements: more than capacity (" +
                                            std::to_string(capacity) + ")");
    }

private:
    static std::size_t checked(int capacity) {
        if (capacity < 1)
            throw std::invalid_argument("capacity (" + std::to_string(capacity) +
                                        ") must be at least 1");
        return static_cast<std::size_t>(capacity);
    }
};

}  // namespace cadre

extern template class cadre::detail::monitor_queue<cadre::task, cadre::detail::ring<cadre::task>>;
extern template class cadre::array_blocking_queue<cadre::task>;
