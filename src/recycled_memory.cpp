// SPDX-License-Identifier: Apache-2.0
//
// Blocks of one size class that nobody uses lie in chains. Each thread keeps up to two batches of
// each class to itself, and exchanges whole batches with the common store, so that a thread which
// only allocates and one that only frees meet once in a batch.
//
// The common store is never waited for: who finds it locked does without, that is, asks malloc or
// gives back to free. So a process that was forked while another thread held the lock goes on,
// without the store. The store has no destructor: threads may end after everything else.
//
// Under a sanitizer nothing is kept: see keeps_memory.hpp.

#include <cadre/detail/recycled_memory.hpp>

#include <array>
#include <atomic>
#include <cstdlib>
#include <new>
#include <utility>

#include "keeps_memory.hpp"

namespace cadre::detail {

namespace {

// The sizes that malloc has itself: 24 bytes, and 16 more each, with 8 beside them for malloc.
constexpr std::size_t smallest = 24;
constexpr std::size_t step = 16;
constexpr std::size_t classes = 32;
constexpr std::size_t block_size(std::size_t index) { return smallest + index * step; }
constexpr std::size_t largest = block_size(classes - 1);
constexpr std::size_t index_of(std::size_t size) {
    return size <= smallest ? 0 : (size - smallest + step - 1) / step;
}
constexpr std::size_t most_kept = std::size_t{64} << 20;
constexpr std::size_t batch_size = 64;

struct free_block {
    free_block* next;
    // In the first block of a batch that lies in the common store:
    free_block* next_batch;
};
static_assert(sizeof(free_block) <= smallest);

constinit std::atomic<std::size_t> kept_bytes = 0;  // in all common stores

/// Batches of one size class. A chain that is put or taken is linked by `next`.
class common_store {
public:
    /// Null if there is none, or if it is locked. `bytes`, of a batch, are the same each time.
    free_block* take(std::size_t bytes) noexcept {
        if (!keeps_memory || !try_lock()) return nullptr;
        free_block* const batch = batches_;
        if (batch) batches_ = batch->next_batch;
        unlock();
        if (batch) kept_bytes.fetch_sub(bytes, std::memory_order_relaxed);
        return batch;
    }
    /// False if there is enough in all stores, or if it is locked.
    bool put(free_block* batch, std::size_t bytes) noexcept {
        if (!keeps_memory) return false;
        // Counts only, which order nothing.
        const bool enough =
            kept_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes > most_kept;
        if (enough || !try_lock()) {
            kept_bytes.fetch_sub(bytes, std::memory_order_relaxed);
            return false;
        }
        batch->next_batch = std::exchange(batches_, batch);
        unlock();
        return true;
    }

private:
    // acquire and release: what one thread wrote into the chains, the next one sees.
    bool try_lock() noexcept { return !locked_.exchange(true, std::memory_order_acquire); }
    void unlock() noexcept { locked_.store(false, std::memory_order_release); }

    std::atomic<bool> locked_ = false;
    free_block* batches_ = nullptr;
};

constinit std::array<common_store, classes> stores;
constinit common_store segments;

constexpr std::size_t batch_bytes(std::size_t index) {
    return batch_size * (block_size(index) + 8);
}

/// Blocks of one size class that a thread keeps to itself: `current` is filled and emptied, `full`
/// is a batch or null.
struct own_blocks {
    free_block* current = nullptr;
    std::size_t count = 0;
    free_block* full = nullptr;
};
struct own_store {
    std::array<own_blocks, classes> of_class;
    bool closed = false;  // the thread is ending
};
constinit thread_local own_store own;

void* checked(void* memory) {
    if (!memory) throw std::bad_alloc();
    return memory;
}

void free_chain(free_block* chain) noexcept {
    while (chain) std::free(std::exchange(chain, chain->next));
}

/// Gives what the thread has kept to the others when it ends.
struct at_thread_end {
    ~at_thread_end() {
        own.closed = true;
        for (std::size_t i = 0; i < classes; ++i) {
            own_blocks& blocks = own.of_class[i];
            if (blocks.full && !stores[i].put(blocks.full, batch_bytes(i))) free_chain(blocks.full);
            free_chain(blocks.current);
            blocks = {};
        }
    }
    void arm() const noexcept {}
};
thread_local const at_thread_end returner;

void* allocate_slowly(std::size_t index) {
    own_blocks& blocks = own.of_class[index];
    if (!own.closed) {
        if (!blocks.full) blocks.full = stores[index].take(batch_bytes(index));
        if (blocks.full) {
            returner.arm();
            free_block* const first = std::exchange(blocks.full, nullptr);
            blocks.current = first->next;
            blocks.count = batch_size - 1;
            return first;
        }
    }
    return checked(std::malloc(block_size(index)));
}

void make_room(std::size_t index) noexcept {
    own_blocks& blocks = own.of_class[index];
    if (blocks.full && !stores[index].put(blocks.full, batch_bytes(index))) free_chain(blocks.full);
    blocks.full = std::exchange(blocks.current, nullptr);
    blocks.count = 0;
}

}  // namespace

void* recycled_new(std::size_t size) {
    if (size > largest) return checked(std::malloc(size));
    const std::size_t index = index_of(size);
    own_blocks& blocks = own.of_class[index];
    free_block* const block = blocks.current;
    if (!block) return allocate_slowly(index);
    blocks.current = block->next;
    --blocks.count;
    return block;
}

void recycled_delete(void* memory, std::size_t size) noexcept {
    if (!keeps_memory || size > largest || own.closed) return std::free(memory);
    const std::size_t index = index_of(size);
    own_blocks& blocks = own.of_class[index];
    if (blocks.count == batch_size) make_room(index);
    if (blocks.count == 0) returner.arm();
    blocks.current = ::new (memory) free_block{blocks.current, nullptr};
    ++blocks.count;
}

void* recycled_segment_new() {
    if (free_block* block = segments.take(recycled_segment_size)) return block;
    return checked(std::aligned_alloc(64, recycled_segment_size));
}

void recycled_segment_delete(void* memory) noexcept {
    auto* const batch = ::new (memory) free_block{nullptr, nullptr};
    if (!segments.put(batch, recycled_segment_size)) std::free(memory);
}

std::size_t recycled_bytes_kept() noexcept { return kept_bytes.load(std::memory_order_relaxed); }

}  // namespace cadre::detail
