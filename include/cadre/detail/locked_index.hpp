// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include <cadre/detail/export.hpp>
#include <cadre/detail/schedule_point.hpp>

namespace cadre::detail {

/// A number and the mutex of those who change it, in one word: unlocking it publishes the number,
/// by one atomic operation for both. Anybody may read the number at any time. Held for a few
/// instructions as a rule; a thread that finds it taken spins a little and then sleeps.
class CADRE_API locked_index {
public:
    locked_index() = default;
    locked_index(const locked_index&) = delete;
    locked_index& operator=(const locked_index&) = delete;

    std::uint64_t load() const noexcept { return word_.load() >> flag_bits; }

    /// Returns the number.
    std::uint64_t lock() noexcept {
        std::uint64_t seen = word_.load(std::memory_order_relaxed);
        // acquire: pairs with unlock(), as in lock_slowly().
        if ((seen & flags) != 0 ||
            !word_.compare_exchange_strong(seen, seen | taken, std::memory_order_acquire))
            return lock_slowly();
        return seen >> flag_bits;
    }
    bool try_lock(std::uint64_t& index) noexcept {
        std::uint64_t seen = word_.load(std::memory_order_relaxed);
        index = seen >> flag_bits;
        return (seen & flags) == 0 &&
               word_.compare_exchange_strong(seen, seen | taken, std::memory_order_acquire);
    }
    void unlock(std::uint64_t index) noexcept {
        CADRE_SCHEDULE_POINT("the tail of a queue");
        if (word_.exchange(index << flag_bits) & contended) wake_one();
    }

    /// For who holds it: the number is less by one, for all to see.
    void move_back() noexcept { word_.fetch_sub(std::uint64_t{1} << flag_bits); }

private:
    static constexpr int flag_bits = 2;
    static constexpr std::uint64_t taken = 1;
    static constexpr std::uint64_t contended = 2;  // with taken: somebody may sleep
    static constexpr std::uint64_t flags = 3;

    std::uint64_t lock_slowly() noexcept;
    void wake_one() noexcept;
    std::atomic<std::uint32_t>& futex_word() noexcept;

    std::atomic<std::uint64_t> word_ = 0;
};

/// Holds a locked_index; `value` is published when the scope ends.
class [[nodiscard]] index_scope {
public:
    explicit index_scope(locked_index& index) noexcept : value(index.lock()), index_(index) {}
    ~index_scope() { index_.unlock(value); }
    index_scope(const index_scope&) = delete;
    index_scope& operator=(const index_scope&) = delete;

    /// Does not wait for the end of the scope.
    void move_back() noexcept {
        --value;
        index_.move_back();
    }

    std::uint64_t value;

private:
    locked_index& index_;
};

}  // namespace cadre::detail
