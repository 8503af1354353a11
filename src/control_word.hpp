// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include <cadre/detail/schedule_point.hpp>
#include <cadre/thread_pool_executor.hpp>

namespace cadre::detail {

/// The run state of a pool (3 bits) and the number of its workers (29 bits), in one atomic word,
/// so that "may a worker be added?" and "was the last one removed?" are answered together.
/// A worker is counted from before its thread is made until it has decided to leave.
class control_word {
public:
    static constexpr int most_workers = (1 << 29) - 1;

    /// Both parts as they were at one instant.
    class value {
    public:
        run_state state() const noexcept { return static_cast<run_state>(bits_ >> count_bits); }
        int workers() const noexcept { return static_cast<int>(bits_ & count_mask); }
        bool is_running() const noexcept { return state() == run_state::running; }
        bool at_least(run_state s) const noexcept { return state() >= s; }

    private:
        friend class control_word;
        explicit value(std::uint32_t bits) noexcept : bits_(bits) {}
        std::uint32_t bits_;
    };

    value load() const noexcept {
        CADRE_SCHEDULE_POINT("a look at the state");
        return value(bits_.load());
    }

    /// One worker more or less, if nothing has changed since `seen`.
    bool try_add_worker(value& seen) noexcept { return exchange(seen, seen.bits_ + 1); }
    bool try_remove_worker(value& seen) noexcept { return exchange(seen, seen.bits_ - 1); }
    void remove_worker() noexcept {
        CADRE_SCHEDULE_POINT("a worker less");
        bits_.fetch_sub(1);
    }

    /// Moves the state to `target` unless it is there or past it. True for the one that moved it.
    bool advance(run_state target) noexcept {
        std::uint32_t seen = bits_.load();
        while (value(seen).state() < target)
            if (bits_.compare_exchange_weak(seen, pack(target) | (seen & count_mask))) return true;
        return false;
    }
    /// From `seen`, which has no workers, to tidying. True for the one that moved it.
    bool try_tidy(value& seen) noexcept { return exchange(seen, pack(run_state::tidying)); }

private:
    static constexpr int count_bits = 29;
    static constexpr std::uint32_t count_mask = (std::uint32_t{1} << count_bits) - 1;

    static constexpr std::uint32_t pack(run_state s) noexcept {
        return static_cast<std::uint32_t>(s) << count_bits;
    }
    bool exchange(value& seen, std::uint32_t next) noexcept {
        CADRE_SCHEDULE_POINT("an exchange of the state");
        return bits_.compare_exchange_strong(seen.bits_, next);
    }

    std::atomic<std::uint32_t> bits_ = pack(run_state::running);
};

}  // namespace cadre::detail
