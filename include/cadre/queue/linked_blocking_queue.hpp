// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <ranges>
#include <stdexcept>
#include <string>
#include <utility>

#include <cadre/detail/export.hpp>
#include <cadre/detail/queue_fifo.hpp>
#include <cadre/queue/blocking_queue.hpp>
#include <cadre/task.hpp>

namespace cadre {

/// A FIFO queue that takes memory as it grows, bounded or not; the bound can be changed while it
/// is in use. All members may be called from any thread.
///
/// A queue without a bound never makes its producers wait: if they are faster than its consumers
/// for long, it fills the memory. Elements lie in segments; a few megabytes of segments that are
/// no longer needed are kept, so that a queue which has seen its usual length allocates nothing.
///
///     cadre::linked_blocking_queue<int> queue(100);
///     queue.put(1);
///     queue.set_capacity(200);  // lets waiting putters in
///     int x = queue.take();
template <class T>
class CADRE_API linked_blocking_queue final : public detail::fifo_queue<T> {
    using fifo = detail::fifo_queue<T>;

public:
    /// Throws std::invalid_argument if the capacity is less than 1.
    explicit linked_blocking_queue(int capacity = unbounded) : fifo(checked(capacity)) {}
    /// With these elements, and no bound.
    template <std::ranges::input_range Range>
    explicit linked_blocking_queue(Range&& elements) : linked_blocking_queue() {
        this->add_all(std::forward<Range>(elements));
    }
    /// Two or more in braces: ({1, 2}). No initializer_list, to which {1} would be an element.
    template <std::size_t count>
    explicit linked_blocking_queue(T (&&elements)[count]) : linked_blocking_queue() {
        for (T& x : elements) this->add(std::move(x));
    }

    /// The bound; `unbounded` if there is none.
    int capacity() const {
        const std::size_t bound = this->bound();
        return bound == fifo::npos ? unbounded : static_cast<int>(bound);
    }
    /// Changes the bound. A larger one lets as many waiting putters in as there is new room. A
    /// smaller one drops nothing: the queue refuses further elements until enough have left.
    /// Throws std::invalid_argument, and changes nothing, if it is less than 1.
    void set_capacity(int capacity) { this->set_bound(checked(capacity)); }

private:
    static std::size_t checked(int capacity) {
        if (capacity < 1)
            throw std::invalid_argument("capacity (" + std::to_string(capacity) +
                                        ") must be at least 1");
        return capacity == unbounded ? fifo::npos : static_cast<std::size_t>(capacity);
    }
};

}  // namespace cadre

extern template class cadre::detail::fifo_queue<cadre::task>;
extern template class cadre::linked_blocking_queue<cadre::task>;
