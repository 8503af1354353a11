// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace cadre::detail {

/// A count of what any thread may do, and one thread does most of the time. The first that adds to
/// it has a part of its own, which needs no atomic operation but a load and a store.
class leaning_count {
public:
    void add_one() noexcept {
        const void* const self = &mark_;
        const void* owner = owner_.load(std::memory_order_relaxed);
        if (owner == self ||
            (!owner && owner_.compare_exchange_strong(owner, self, std::memory_order_relaxed)))
            own_.store(own_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        else
            others_.fetch_add(1, std::memory_order_relaxed);
    }
    std::int64_t load() const noexcept {
        return own_.load(std::memory_order_relaxed) + others_.load(std::memory_order_relaxed);
    }

private:
    // Its address is the thread's as long as that lives; a later thread with the same address
    // inherits the part.
    static inline thread_local const char mark_ = 0;

    std::atomic<const void*> owner_ = nullptr;
    std::atomic<std::int64_t> own_ = 0;
    std::atomic<std::int64_t> others_ = 0;
};

}  // namespace cadre::detail
