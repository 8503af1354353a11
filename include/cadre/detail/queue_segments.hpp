// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include <cadre/detail/recycled_memory.hpp>
#include <cadre/task.hpp>

namespace cadre::detail {

/// The place of an element, which outlives it. Whether it is occupied matters only to those who
/// want to use the memory again: they must know that the one who took the element has moved it
/// away. In fresh memory that is not known, and not asked.
template <class T>
class alignas(sizeof(T) < 64 ? alignof(T) : std::max(alignof(T), alignof(void*))) segment_slot {
public:
    T& value() noexcept { return value_; }
    void fill(T&& x) noexcept {
        std::construct_at(std::addressof(value_), std::move(x));
        occupied_ = true;
    }
    T take() noexcept {
        struct vacate {
            segment_slot& slot;
            ~vacate() {
                std::destroy_at(std::addressof(slot.value_));
                // release: pairs with is_vacant().
                std::atomic_ref(slot.occupied_).store(false, std::memory_order_release);
            }
        } const at_the_end{*this};
        return std::move(value_);
    }
    /// take() into a variable.
    void take_to(T& x) noexcept { x = take(); }
    bool is_vacant() noexcept {
        return !std::atomic_ref(occupied_).load(std::memory_order_acquire);
    }

private:
    union {
        T value_;
    };
    bool occupied_;
};

/// A task says itself that it has been moved away: nothing need be kept beside it.
template <>
class alignas(64) segment_slot<task> {
public:
    task& value() noexcept { return value_; }
    void fill(task&& x) noexcept { std::construct_at(&value_, std::move(x)); }
    task take() noexcept {
        task x;
        task_access::relocate(value_, x);
        return x;
    }
    void take_to(task& x) noexcept { task_access::relocate(value_, x); }
    bool is_vacant() noexcept { return task_access::was_relocated(value_); }

private:
    union {
        task value_;
    };
};

/// Slots for the indices [first, last) of a queue, in segments that are used again when all their
/// elements have left. `first` only grows, `last` may go back by one at a time. All members but
/// at() and is_wasteful() are for one thread at a time.
///
/// at() may be called by any thread for an index that it owns: one whose element it has put or is
/// to take. It finds the segment through the directory, a ring of pointers, which is replaced by
/// a larger one when it is full. The old one is kept, for a reader may be about to use it; what
/// that reader looks for is in there, and stays there.
template <class T>
class segment_store {
public:
    using slot = segment_slot<T>;

    /// Grows without bound.
    segment_store() : segment_store(most_slots, 16) {}
    /// Has memory for `capacity` elements beforehand, and needs no more as long as takers are not
    /// held up in the middle of a take.
    explicit segment_store(std::size_t capacity)
        : segment_store(std::min(most_slots, std::bit_ceil(std::max<std::size_t>(capacity, 8))),
                        0) {
        const std::size_t count = (capacity - 1) / slots() + 3;
        grow_directory(std::bit_ceil(count));
        block_ = allocate(count * slots());
        block_end_ = block_ + count * slots();
        unused_ = block_;
    }
    segment_store(const segment_store&) = delete;
    segment_store& operator=(const segment_store&) = delete;
    ~segment_store() {
        for (auto s = first_segment_; s != end_segment_; ++s) release(segment(s));
        trim();
        if (block_)
            std::allocator<slot>().deallocate(block_,
                                              static_cast<std::size_t>(block_end_ - block_));
        for (directory* d = directory_.load(); d;) delete std::exchange(d, d->smaller);
    }

    slot& at(std::uint64_t index) noexcept {
        // acquire: pairs with grow_directory(). The entry was set before the index was published.
        const directory& d = *directory_.load(std::memory_order_acquire);
        return d.entries[(index >> shift_) & d.mask].load(
            std::memory_order_relaxed)[index & (slots() - 1)];
    }

    /// True if the slot for `last` needs a segment first.
    bool needs_segment(std::uint64_t last) const noexcept { return last >> shift_ == end_segment_; }
    /// The elements before `first` have been taken, or are about to be moved away by those who
    /// took them. May throw bad_alloc; nothing has changed then.
    void append_segment(std::uint64_t first) {
        reclaim(first, 2);
        const std::size_t size = directory_.load(std::memory_order_relaxed)->mask + 1;
        if (end_segment_ - first_segment_ == size) grow_directory(2 * size);
        slot* s = take_spare();
        if (!s && unused_ != block_end_) s = std::exchange(unused_, unused_ + slots());
        if (!s) s = allocate_segment();
        directory& d = *directory_.load(std::memory_order_relaxed);
        d.entries[end_segment_ & d.mask].store(s, std::memory_order_relaxed);
        last_segment_ = s;
        ++end_segment_;
    }
    /// The slot for `last`, which is in the last segment.
    slot& back(std::uint64_t last) noexcept {
        slot* const place = last_segment_ + (last & (slots() - 1));
        __builtin_prefetch(place + 4, 1);  // taken by another processor the last time
        return *place;
    }
    /// True if so many segments are behind `first` that it is time to reclaim some.
    bool is_wasteful(std::uint64_t first) const noexcept {
        return (first & (slots() - 1)) == 0 &&
               (first >> shift_) > first_hint_.load(std::memory_order_relaxed) + 2 * most_spares();
    }
    /// Looks for up to `count` segments that are no longer needed. One whose last element is
    /// being moved away right now is left for the next time.
    void reclaim(std::uint64_t first, std::size_t count) noexcept {
        for (; count > 0 && first_segment_ < first >> shift_; --count) {
            slot* const s = segment(first_segment_);
            for (std::size_t i = 0; i < slots(); ++i)
                if (!s[i].is_vacant()) return;
            first_hint_.store(++first_segment_, std::memory_order_relaxed);
            keep_or_release(s);
        }
    }
    /// The slot for `last`, of the element that was put last, is the next to be filled again.
    void move_back(std::uint64_t last) noexcept {
        if (last >> shift_ == end_segment_ - 1) return;
        keep_or_release(segment(--end_segment_));
        last_segment_ = segment(end_segment_ - 1);
    }
    /// Gives spare memory back.
    void trim() noexcept {
        spare* kept = nullptr;
        std::size_t kept_count = 0;
        while (slot* s = take_spare()) {
            if (is_in_block(s)) {
                kept = ::new (static_cast<void*>(s)) spare{kept};
                ++kept_count;
            } else {
                release(s);
            }
        }
        spares_ = kept;
        spare_count_ = kept_count;
    }

private:
    struct spare {
        spare* next;
    };
    static_assert(sizeof(slot) >= sizeof(spare) || sizeof(slot) * 8 >= sizeof(spare));
    struct directory {
        explicit directory(std::size_t size)
            : mask(size - 1), entries(std::make_unique<std::atomic<slot*>[]>(size)) {}
        const std::size_t mask;
        const std::unique_ptr<std::atomic<slot*>[]> entries;
        directory* smaller = nullptr;  // the one before
    };

    // So many that a segment takes 16 KB, unless that is less than one.
    static constexpr std::size_t most_slots =
        std::bit_floor(std::clamp<std::size_t>((std::size_t{1} << 14) / sizeof(slot), 1, 256));

    segment_store(std::size_t slots, std::size_t directory_size) : shift_(std::countr_zero(slots)) {
        if (directory_size != 0) grow_directory(directory_size);
    }

    std::size_t slots() const noexcept { return std::size_t{1} << shift_; }
    std::size_t most_spares() const noexcept {
        return std::max<std::size_t>((std::size_t{1} << 20) / (sizeof(slot) << shift_), 1);
    }
    slot* segment(std::uint64_t number) const noexcept {
        const directory& d = *directory_.load(std::memory_order_relaxed);
        return d.entries[number & d.mask].load(std::memory_order_relaxed);
    }
    bool is_in_block(const slot* s) const noexcept {
        return !std::less<>()(s, block_) && std::less<>()(s, block_end_);
    }
    // Memory only: slots live from fill() to take().
    static slot* allocate(std::size_t count) { return std::allocator<slot>().allocate(count); }
    bool is_recycled() const noexcept {
        return sizeof(slot) << shift_ == recycled_segment_size && alignof(slot) <= 64;
    }
    slot* allocate_segment() {
        return is_recycled() ? static_cast<slot*>(recycled_segment_new()) : allocate(slots());
    }
    void release(slot* s) noexcept {
        if (is_in_block(s)) return;
        if (is_recycled())
            recycled_segment_delete(s);
        else
            std::allocator<slot>().deallocate(s, slots());
    }
    void keep_or_release(slot* s) noexcept {
        if (spare_count_ < most_spares() || is_in_block(s))
            add_spare(s);
        else
            release(s);
    }
    void add_spare(slot* s) noexcept {
        spares_ = ::new (static_cast<void*>(s)) spare{spares_};
        ++spare_count_;
    }
    slot* take_spare() noexcept {
        if (!spares_) return nullptr;
        --spare_count_;
        return reinterpret_cast<slot*>(std::exchange(spares_, spares_->next));
    }

    void grow_directory(std::size_t size) {
        auto larger = std::make_unique<directory>(size);
        larger->smaller = directory_.load(std::memory_order_relaxed);
        for (std::uint64_t s = first_segment_; s != end_segment_; ++s)
            larger->entries[s & larger->mask].store(segment(s), std::memory_order_relaxed);
        // release: pairs with at().
        directory_.store(larger.release(), std::memory_order_release);
    }

    const int shift_;  // a segment has 2^shift_ slots
    std::atomic<directory*> directory_ = nullptr;

    // Of whoever appends.
    std::uint64_t first_segment_ = 0;  // the oldest that is still needed
    std::uint64_t end_segment_ = 0;    // after the newest
    slot* last_segment_ = nullptr;     // the newest
    spare* spares_ = nullptr;
    std::size_t spare_count_ = 0;
    slot* block_ = nullptr;  // memory had beforehand; segments from unused_ on were never used
    slot* block_end_ = nullptr;
    slot* unused_ = nullptr;

    std::atomic<std::uint64_t> first_hint_ = 0;  // first_segment_, for is_wasteful()
};

}  // namespace cadre::detail
