// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <new>

#include <cadre/detail/export.hpp>

namespace cadre::detail {

/// Memory for what comes and goes by the million: the states of tasks, the segments of queues. It
/// comes from malloc, and what is given back is kept for the next to ask, up to 64 MB in
/// the whole process: fresh memory costs a page fault every 4 KB, which is more than all the rest
/// of a task's life. How it works is told in recycled_memory.cpp.
CADRE_API void* recycled_new(std::size_t size);
CADRE_API void recycled_delete(void* block, std::size_t size) noexcept;

/// The size of the blocks below, which are aligned to a line of cache.
inline constexpr std::size_t recycled_segment_size = std::size_t{1} << 14;
CADRE_API void* recycled_segment_new();
CADRE_API void recycled_segment_delete(void* block) noexcept;

/// How much is kept for later, apart from a few kilobytes that each thread keeps to itself.
CADRE_API std::size_t recycled_bytes_kept() noexcept;

/// Base of a class whose objects live in such memory.
struct CADRE_API in_recycled_memory {
    static void* operator new(std::size_t size) { return recycled_new(size); }
    static void operator delete(void* block, std::size_t size) noexcept {
        recycled_delete(block, size);
    }
    static void* operator new(std::size_t size, std::align_val_t alignment) {
        return ::operator new(size, alignment);
    }
    static void operator delete(void* block, std::size_t, std::align_val_t alignment) noexcept {
        ::operator delete(block, alignment);
    }
};

}  // namespace cadre::detail
