// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <stdexcept>

namespace bench {

/// A counter for each thread that runs tasks, so that empty tasks can be counted without a shared
/// line of cache. A thread has a place from its first task to its end.
class worker_counters {
    struct alignas(64) place {
        std::atomic<long> value;
        std::atomic<bool> taken;
    };

public:
    static void bump(long by = 1) {
        auto& own = own_place().value;
        own.store(own.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
    }
    static long sum() {
        long all = 0;
        const std::size_t used = used_.load();
        for (std::size_t i = 0; i < used; ++i)
            all += places_[i].value.load(std::memory_order_acquire);
        return all;
    }
    static void reset() {
        for (auto& place : places_) place.value.store(0);
    }

private:
    struct tenancy {
        place& own = take();
        ~tenancy() { own.taken.store(false); }
    };
    static place& take() {
        for (std::size_t i = 0; i < places_.size(); ++i) {
            if (places_[i].taken.exchange(true)) continue;
            std::size_t used = used_.load();
            while (used <= i && !used_.compare_exchange_weak(used, i + 1)) {}
            return places_[i];
        }
        throw std::runtime_error("more threads than places to count in");
    }
    static place& own_place() {
        thread_local const tenancy here;
        return here.own;
    }

    static inline constinit std::array<place, 512> places_;
    static inline constinit std::atomic<std::size_t> used_ = 0;  // places beyond were never taken
};

}  // namespace bench
