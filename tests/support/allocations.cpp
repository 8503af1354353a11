// SPDX-License-Identifier: Apache-2.0
//
// Replaces operator new and delete of the whole test program. The array and nothrow forms of the
// standard library come here too; the forms for large alignments do not.

#include "support/allocations.hpp"

#include <malloc.h>

#include <atomic>
#include <cstdlib>

namespace cadre::testing {

namespace {

constexpr int never = -1;

thread_local std::size_t allocations = 0;
thread_local int succeeding_allocations = never;
std::atomic<long long> blocks = 0;
std::atomic<long long> bytes = 0;

long long size_of(void* block) noexcept {
    return static_cast<long long>(malloc_usable_size(block));
}

}  // namespace

std::size_t allocations_here() noexcept { return allocations; }
long long blocks_in_use() noexcept { return blocks; }
long long bytes_in_use() noexcept { return bytes; }

failing_allocation_scope::failing_allocation_scope(int succeeding) noexcept {
    succeeding_allocations = succeeding;
}
failing_allocation_scope::~failing_allocation_scope() { succeeding_allocations = never; }

static void* allocate(std::size_t size) {
    if (succeeding_allocations == 0) throw std::bad_alloc();
    if (succeeding_allocations > 0) --succeeding_allocations;
    void* block = std::malloc(size == 0 ? 1 : size);
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
void operator delete(void* block) noexcept { cadre::testing::deallocate(block); }
void operator delete(void* block, std::size_t) noexcept { cadre::testing::deallocate(block); }
