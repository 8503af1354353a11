// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <new>

namespace cadre::testing {

/// How often the calling thread has allocated memory through operator new.
std::size_t allocations_here() noexcept;
/// How many blocks from operator new the process holds.
long long blocks_in_use() noexcept;
/// How many bytes those are, with what the allocator rounds them up to.
long long bytes_in_use() noexcept;

/// How many bytes of memory, however they were allocated, the process uses; what
/// recycled_memory.hpp keeps for later is not in use.
long long memory_in_use() noexcept;

enum class failures { all, one };

/// While it lives, operator new fails on the calling thread, after so many allocations that
/// still succeed: each time, or once.
class [[nodiscard]] failing_allocation_scope {
public:
    explicit failing_allocation_scope(int succeeding, failures which = failures::all) noexcept;
    ~failing_allocation_scope();
    failing_allocation_scope(const failing_allocation_scope&) = delete;
    failing_allocation_scope& operator=(const failing_allocation_scope&) = delete;
    /// True if an allocation has failed.
    static bool fired() noexcept;
};

/// Makes `call` with the first of its allocations failing, then the second, and so on, until it
/// succeeds; `check` is called after each failure. Returns how many there were.
template <class Call, class Check>
int fail_each_allocation(Call call, Check check) {
    for (int succeeding = 0;; ++succeeding) {
        bool failed = false;
        try {
            failing_allocation_scope scope(succeeding);
            call();
        } catch (const std::bad_alloc&) {
            failed = true;
        }
        if (!failed) return succeeding;
        check();
    }
}

}  // namespace cadre::testing
