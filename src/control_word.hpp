// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include <cadre/detail/schedule_point.hpp>
#include <cadre/thread_pool_executor.hpp>

namespace cadre::detail {

/// The run state of a pool (3 bits), the number of its workers and that of successions (29 bits
/// each), in one atomic word, so that "may a worker be added?" and "was the last one removed?" are
/// answered together. A worker is counted from before its thread is made until it has decided to
/// leave; a succession from when a worker has died, or the last one's time was up, until somebody
/// has looked after what it left behind.
class control_word {
public:
    static constexpr int most_workers = (1 << 29) - 1;

    /// All parts as they were at one instant.
    class value {
    public:
        run_state state() const noexcept { return static_cast<run_state>(bits_ >> state_at); }
        /// True if a worker has gone whose successor, if it has one, is on the way.
        bool awaits_successor() const noexcept { return (bits_ & successions) != 0; }
        int workers() const noexcept { return static_cast<int>(bits_ & count_mask); }
        bool is_running() const noexcept { return state() == run_state::running; }
        bool at_least(run_state s) const noexcept { return state() >= s; }

    private:
        friend class control_word;
        explicit value(std::uint64_t bits) noexcept : bits_(bits) {}
        std::uint64_t bits_;
    };

    value load() const noexcept {
        CADRE_SCHEDULE_POINT("a look at the state");
        return value(bits_.load());
    }

    /// One worker more or less, if nothing has changed since `seen`.
    bool try_add_worker(value& seen) noexcept { return exchange(seen, seen.bits_ + 1); }
    bool try_remove_worker(value& seen) noexcept { return exchange(seen, seen.bits_ - 1); }
    /// The same with one succession more.
    bool try_retire_worker(value& seen) noexcept {
        return exchange(seen, seen.bits_ - 1 + one_succession);
    }
    void remove_worker() noexcept {
        CADRE_SCHEDULE_POINT("a worker less");
        bits_.fetch_sub(1);
    }
    /// One worker less and one succession more, in one step.
    void remove_dead_worker() noexcept {
        CADRE_SCHEDULE_POINT("a worker less");
        bits_.fetch_add(one_succession - 1);
    }
    void end_succession() noexcept {
        CADRE_SCHEDULE_POINT("a succession less");
        bits_.fetch_sub(one_succession);
    }

    /// Moves the state to `target` unless it is there or past it. True for the one that moved it.
    bool advance(run_state target) noexcept {
        std::uint64_t seen = bits_.load();
        while (value(seen).state() < target)
            if (bits_.compare_exchange_weak(seen, with_state(seen, target))) return true;
        return false;
    }
    /// From `seen`, which has no workers, to tidying. True for the one that moved it.
    bool try_tidy(value& seen) noexcept {
        return exchange(seen, with_state(seen.bits_, run_state::tidying));
    }

private:
    static constexpr int successions_at = 32;
    static constexpr int state_at = 61;
    static constexpr std::uint64_t one_succession = std::uint64_t{1} << successions_at;
    static constexpr std::uint64_t count_mask = most_workers;
    static constexpr std::uint64_t successions = count_mask << successions_at;

    static constexpr std::uint64_t with_state(std::uint64_t bits, run_state s) noexcept {
        return (bits & (count_mask | successions)) | static_cast<std::uint64_t>(s) << state_at;
    }
    bool exchange(value& seen, std::uint64_t next) noexcept {
        CADRE_SCHEDULE_POINT("an exchange of the state");
        return bits_.compare_exchange_strong(seen.bits_, next);
    }

    std::atomic<std::uint64_t> bits_ = with_state(0, run_state::running);
};

}  // namespace cadre::detail
