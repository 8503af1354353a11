// SPDX-License-Identifier: Apache-2.0
//
// Replaces operator new and delete of the whole test program. The array and nothrow forms of the
// standard library come here too.

#include "support/allocations.hpp"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>

#include <cadre/detail/recycled_memory.hpp>

// There in a program that runs under a sanitizer.
extern "C" __attribute__((weak)) std::size_t __sanitizer_get_current_allocated_bytes();

namespace cadre::testing {

namespace {

constexpr int never = -1;

thread_local std::size_t allocations = 0;
thread_local int succeeding_allocations = never;
thread_local failures failing = failures::all;
thread_local bool allocation_failed = false;
std::atomic<long long> blocks = 0;
std::atomic<long long> bytes = 0;

long long size_of(void* block) noexcept {
    return static_cast<long long>(malloc_usable_size(block));
}

}  // namespace

std::size_t allocations_here() noexcept { return allocations; }
long long blocks_in_use() noexcept { return blocks; }
long long bytes_in_use() noexcept { return bytes; }

long long memory_in_use() noexcept {
    const auto kept = static_cast<long long>(detail::recycled_bytes_kept());
    if (__sanitizer_get_current_allocated_bytes)
        return static_cast<long long>(__sanitizer_get_current_allocated_bytes()) - kept;
    const auto all = mallinfo2();
    return static_cast<long long>(all.uordblks + all.hblkhd) - kept;
}

failing_allocation_scope::failing_allocation_scope(int succeeding, failures which) noexcept {
    succeeding_allocations = succeeding;
    failing = which;
    allocation_failed = false;
}
failing_allocation_scope::~failing_allocation_scope() { succeeding_allocations = never; }
bool failing_allocation_scope::fired() noexcept { return allocation_failed; }

static void* allocate(std::size_t size, std::size_t alignment = alignof(std::max_align_t)) {
    if (succeeding_allocations == 0) {
        allocation_failed = true;
        if (failing == failures::one) succeeding_allocations = never;
        throw std::bad_alloc();
    }
    if (succeeding_allocations > 0) --succeeding_allocations;
    const std::size_t rounded = (std::max<std::size_t>(size, 1) + alignment - 1) & -alignment;
    void* block = std::aligned_alloc(alignment, rounded);
    if (!block) throw std::bad_alloc();
    ++allocations;
    blocks.fetch_add(1, std::memory_order_relaxed);  // counts; they pair with nothing
    bytes.fetch_add(size_of(block), std::memory_order_relaxed);
    return block;
}
static void deallocate(void* block) noexcept {
    if (block) {
        blocks.fetch_sub(1, std::memory_order_relaxed);
        bytes.fetch_sub(size_of(block), std::memory_order_relaxed);
    }
    std::free(block);
}

}  // namespace cadre::testing

void* operator new(std::size_t size) { return cadre::testing::allocate(size); }
// As the library's, which AddressSanitizer replaces by one that free() is no match for.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    try {
        return cadre::testing::allocate(size);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}
void operator delete(void* block) noexcept { cadre::testing::deallocate(block); }
void operator delete(void* block, std::size_t) noexcept { cadre::testing::deallocate(block); }
void* operator new(std::size_t size, std::align_val_t alignment) {
    return cadre::testing::allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* block, std::align_val_t) noexcept { cadre::testing::deallocate(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept {
    cadre::testing::deallocate(block);
}
