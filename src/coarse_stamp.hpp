// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <cadre/task.hpp>

/// An identity with a coarse stamp: above the lowest bit, 32 bits of a number, so that no two that
/// are stamped in the same tick are the same, and then 29 bits of the tick, which is for six days.
namespace cadre::detail {

inline constexpr int coarse_number_bits = 32;
inline constexpr int coarse_tick_bits = 29;

inline constexpr bool has_room_for_coarse_stamp = sizeof(std::uintptr_t) >= sizeof(std::uint64_t);

inline std::uintptr_t coarse_identity(std::uintptr_t number, std::uint64_t tick) noexcept {
    constexpr auto numbers = (std::uint64_t{1} << coarse_number_bits) - 1;
    constexpr auto ticks = (std::uint64_t{1} << coarse_tick_bits) - 1;
    return task_access::stamp_inside | task_access::coarse_stamp |
           static_cast<std::uintptr_t>((tick & ticks) << (coarse_number_bits + 1) |
                                       (number & numbers) << 1 | 1);
}

}  // namespace cadre::detail
