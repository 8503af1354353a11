// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace cadre::detail {

/// Pointers of one owner, who pushes and pops them at the bottom; thieves take them from the top.
/// So the owner works on what is newest, and a thief gets what is oldest: as a rule the largest
/// piece of work, and the farthest from the owner's hands. It grows as needed, and never shrinks.
///
/// The deque of Chase and Lev, in the form that Lê, Pop, Cohen and Zappa Nardelli proved for weak
/// memory ("Correct and efficient work-stealing for weak memory models", 2013), with sequentially
/// consistent operations in place of their fences, which ThreadSanitizer cannot follow.
///
/// The elements have the indices [top_, bottom_). Only the owner moves bottom_; top_ only grows,
/// by a compare-exchange: whoever moves it on from an index has the element there. The owner pops
/// without one, unless the element is the last: it takes back bottom_ first and looks at top_
/// after that, while a thief reads top_ first and bottom_ after that, so that one of them sees the
/// other.
///
/// A full ring is copied into one of twice its size. Thieves may still read the old one: it is kept
/// to the end, for all the old ones together are smaller than the last.
template <class T>
class work_stealing_deque {
public:
    work_stealing_deque() = default;
    work_stealing_deque(const work_stealing_deque&) = delete;
    work_stealing_deque& operator=(const work_stealing_deque&) = delete;

    /// How many there are, or were a moment ago. Never 0 while there is one that nobody is taking.
    std::size_t size() const noexcept {
        const std::int64_t top = top_.load();
        const std::int64_t bottom = bottom_.load();
        return bottom > top ? static_cast<std::size_t>(bottom - top) : 0;
    }

    // For the owner.

    /// Makes sure that the next push() has a place. Throws std::bad_alloc, with nothing changed.
    void make_room() {
        const std::int64_t bottom = bottom_.load(std::memory_order_relaxed);  // the owner's own
        if (bottom - known_top_ < capacity_) return;
        known_top_ = top_.load(std::memory_order_acquire);  // pairs with the exchange in steal()
        if (bottom - known_top_ >= capacity_) grow(bottom);
    }
    /// After make_room(). Sequentially consistent: whoever looks after that sees the element, or is
    /// seen by what the owner does next.
    void push(T* element) noexcept {
        const std::int64_t bottom = bottom_.load(std::memory_order_relaxed);
        ring* const now = ring_.load(std::memory_order_relaxed);
        now->at(bottom).store(element,
                              std::memory_order_release);  // pairs with the load in steal()
        bottom_.store(bottom + 1);
    }
    /// The newest; null if there is none.
    T* pop() noexcept {
        const std::int64_t bottom = bottom_.load(std::memory_order_relaxed) - 1;
        if (top_.load(std::memory_order_relaxed) > bottom) return nullptr;  // only ever grows
        ring* const now = ring_.load(std::memory_order_relaxed);
        bottom_.store(bottom);
        std::int64_t top = top_.load();
        if (top < bottom) return now->at(bottom).load(std::memory_order_relaxed);
        T* element = nullptr;
        if (top == bottom && top_.compare_exchange_strong(top, top + 1))
            element = now->at(bottom).load(std::memory_order_relaxed);
        bottom_.store(bottom + 1, std::memory_order_relaxed);  // empty, for whoever looks
        return element;
    }

    // For anybody.

    /// The oldest; null if there is none, or, with `lost` set, if somebody else was faster.
    T* steal(bool& lost) noexcept {
        std::int64_t top = top_.load();
        if (top >= bottom_.load()) return nullptr;
        ring* const now = ring_.load(std::memory_order_acquire);  // pairs with grow()
        // acquire: pairs with push(). If the owner has put another element into this place since,
        // top_ has moved on, and the exchange fails.
        T* const element = now->at(top).load(std::memory_order_acquire);
        if (top_.compare_exchange_strong(top, top + 1)) return element;
        lost = true;
        return nullptr;
    }

private:
    static constexpr std::int64_t first_capacity = 64;

    class ring {
    public:
        explicit ring(std::int64_t capacity)
            : mask_(static_cast<std::size_t>(capacity) - 1),
              places_(std::make_unique<std::atomic<T*>[]>(mask_ + 1)) {}
        std::atomic<T*>& at(std::int64_t index) noexcept {
            return places_[static_cast<std::size_t>(index) & mask_];
        }

    private:
        const std::size_t mask_;
        const std::unique_ptr<std::atomic<T*>[]> places_;
    };

    void grow(std::int64_t bottom) {
        const std::int64_t larger = capacity_ == 0 ? first_capacity : 2 * capacity_;
        auto made = std::make_unique<ring>(larger);
        rings_.reserve(rings_.size() + 1);
        ring* const old = ring_.load(std::memory_order_relaxed);
        for (std::int64_t i = known_top_; i < bottom; ++i)
            made->at(i).store(old->at(i).load(std::memory_order_relaxed),
                              std::memory_order_relaxed);
        ring_.store(made.get(), std::memory_order_release);  // pairs with the load in steal()
        rings_.push_back(std::move(made));
        capacity_ = larger;
    }

    // What thieves write, what the owner writes and what is the owner's alone lie apart.
    alignas(64) std::atomic<std::int64_t> top_ = 0;
    alignas(64) std::atomic<std::int64_t> bottom_ = 0;
    std::atomic<ring*> ring_ = nullptr;
    std::int64_t known_top_ = 0;                // the owner's: top_, or an earlier one
    std::int64_t capacity_ = 0;                 // the owner's
    std::vector<std::unique_ptr<ring>> rings_;  // the owner's; the last one is in use
};

}  // namespace cadre::detail
