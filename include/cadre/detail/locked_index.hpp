// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include <cadre/detail/export.hpp>
#include <cadre/detail/schedule_point.hpp>

namespace cadre::detail {

/// A number and the mutex of those who change it, in one word. To unlock it publishes the number,
/// by a plain store: an atomic operation there would take as long as the whole of what is done in
/// between. Held for a few instructions as a rule; a thread that finds it taken spins a little and
/// then sleeps.
///
/// Such a store may become visible later than what the same thread reads after it. But that it is
/// taken was visible before. So who sees it taken must not conclude from the number that nothing
/// has been published: settled() waits for what is under way.
class CADRE_API locked_index {
public:
    locked_index() = default;
    locked_index(const locked_index&) = delete;
    locked_index& operator=(const locked_index&) = delete;

    /// The number, or that which is about to be replaced.
    std::uint64_t load() const noexcept { return word_.load() >> flag_bits; }
    /// The number at a moment of this call at which nobody held it.
    std::uint64_t settled() noexcept {
        const std::uint64_t seen = word_.load();
        if ((seen & taken) == 0) return seen >> flag_bits;
        const std::uint64_t index = lock_slowly();
        unlock(index);
        return index;
    }

    /// Returns the number.
    std::uint64_t lock() noexcept {
        std::uint64_t seen = word_.load(std::memory_order_relaxed);
        if ((seen & taken) != 0 || !try_take(seen)) return lock_slowly();
        return seen >> flag_bits;
    }
    void unlock(std::uint64_t index) noexcept {
        CADRE_SCHEDULE_POINT("the tail of a queue");
        // Whoever waits for the number may destroy all this as soon as it is there.
        const bool wakes = take_sleeper();
        // release: pairs with the exchange of whoever takes it next, and with all that read it.
        word_.store(index << flag_bits, std::memory_order_release);
        if (wakes) wake_one();
    }

    /// For who holds it: the number is less by one, for all to see.
    void move_back() noexcept { word_.fetch_sub(std::uint64_t{1} << flag_bits); }

private:
    static constexpr int flag_bits = 1;
    static constexpr std::uint64_t taken = 1;

    /// Sequentially consistent: see above.
    bool try_take(std::uint64_t& seen) noexcept {
        return word_.compare_exchange_strong(seen, seen | taken);
    }
    bool take_sleeper() noexcept {
        return asleep_.load(std::memory_order_relaxed) &&
               asleep_.exchange(false, std::memory_order_relaxed);
    }
    std::uint64_t lock_slowly() noexcept;
    void wake_one() noexcept;
    std::atomic<std::uint32_t>& futex_word() noexcept;

    std::atomic<std::uint64_t> word_ = 0;
    std::atomic<bool> asleep_ = false;  // somebody may be
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
