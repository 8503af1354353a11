// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>

namespace cadre::testing {

/// An object that counts how many of its type are alive. Move-only, and as aligned as is asked.
template <std::size_t alignment = alignof(int)>
class alignas(alignment) counted {
public:
    explicit counted(int v = 0) : value(v) { ++alive; }
    counted(counted&& other) noexcept : value(other.value) { ++alive; }
    counted& operator=(counted&&) = delete;
    ~counted() { --alive; }

    int value;
    inline static std::atomic<int> alive = 0;
};

}  // namespace cadre::testing
