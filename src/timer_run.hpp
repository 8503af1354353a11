// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <cadre/detail/duration.hpp>

namespace cadre::detail {

/// Timers that came in the order of their times, or nearly so, as those with one delay or period
/// do: a ring, whose ends are found without a search. Positions count up and never change while a
/// timer is in the ring, save when a late one is put between the last few. Slots of removed timers
/// are empty until they are at an end of the ring.
/// Whenever a member function returns: the first and the last slot are not empty, unless all are.
template <class Entry>
class timer_run {
public:
    /// Positions are counted modulo this.
    static constexpr std::uint32_t positions = std::uint32_t{1} << 30;

    bool empty() const noexcept { return begin_ == end_; }
    std::size_t size() const noexcept { return live_; }
    const Entry& front() const noexcept { return at(begin_); }
    Entry& at(std::uint32_t position) const noexcept { return ring_[position & (capacity_ - 1)]; }

    /// True if `added` can be put at the end or not far from it. Here and below, `before` tells the
    /// order of two that are not empty.
    template <class Before>
    bool accepts(const Entry& added, Before before) const noexcept {
        if (length() >= most) return false;
        return length() <= most_moved || !passes(added, at(end_ - 1 - most_moved), before);
    }
    /// After accepts(). Strong guarantee. Calls moved(entry, position) for each that has another
    /// position now, the new one among them.
    template <class Before, class Moved>
    void insert(const Entry& added, Before before, Moved moved) {
        if (length() == capacity_) grow();
        std::uint32_t position = end_++;
        for (; position != begin_ && passes(added, at(position - 1), before); --position) {
            at(position) = at(position - 1);
            if (at(position).timer) moved(at(position), position % positions);
        }
        at(position) = added;
        moved(added, position % positions);
        ++live_;
    }
    /// Before all others. There is room: the first was just removed.
    std::uint32_t put_first(const Entry& first) noexcept {
        at(--begin_) = first;
        ++live_;
        return begin_ % positions;
    }
    void remove(std::uint32_t position) noexcept {
        at(position).timer = nullptr;
        --live_;
        while (begin_ != end_ && !at(begin_).timer) ++begin_;
        while (begin_ != end_ && !at(end_ - 1).timer) --end_;
    }
    template <class Visit>
    void for_each(Visit visit) const {
        for (std::uint32_t i = begin_; i != end_; ++i)
            if (at(i).timer) visit(at(i));
    }
    void swap(timer_run& other) noexcept {
        std::swap(ring_, other.ring_);
        std::swap(capacity_, other.capacity_);
        std::swap(begin_, other.begin_);
        std::swap(end_, other.end_);
        std::swap(live_, other.live_);
    }

private:
    static constexpr std::uint32_t most = 4096;
    static constexpr std::uint32_t most_moved = 8;

    /// Whether it is to be before the one in this slot. An empty slot of the same time is passed,
    /// for there may be one behind it that must be.
    template <class Before>
    static bool passes(const Entry& added, const Entry& slot, Before before) noexcept {
        return slot.timer ? before(added, slot) : added.due <= slot.due;
    }
    std::uint32_t length() const noexcept { return end_ - begin_; }
    void grow() {
        const std::uint32_t capacity = std::max<std::uint32_t>(16, 2 * capacity_);
        std::unique_ptr<Entry[]> ring(new Entry[capacity]);
        for (std::uint32_t i = begin_; i != end_; ++i) ring[i & (capacity - 1)] = at(i);
        ring_ = std::move(ring);
        capacity_ = capacity;
    }

    std::unique_ptr<Entry[]> ring_;
    std::uint32_t capacity_ = 0;  // a power of two
    std::uint32_t begin_ = 0;
    std::uint32_t end_ = 0;
    std::size_t live_ = 0;
};

}  // namespace cadre::detail
