// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ctime>

#include <cadre/task.hpp>

/// The steady clock, some milliseconds behind, at a quarter of its price: the kernel moves it at
/// each tick.
namespace cadre::detail {

inline std::int64_t coarse_now() noexcept {
    std::timespec t{};
    ::clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

/// An identity with a coarse stamp: above the lowest bit, 32 bits of a number, so that no two that
/// are stamped at the same time are the same, and then 29 bits of the time in units of 2^20 ns,
/// which is for six days.
inline constexpr int coarse_number_bits = 32;
inline constexpr int coarse_time_bits = 29;
inline constexpr int coarse_unit_bits = 20;

inline constexpr bool has_room_for_coarse_stamp = sizeof(std::uintptr_t) >= sizeof(std::uint64_t);

inline std::uintptr_t coarse_identity(std::uintptr_t number) noexcept {
    constexpr auto numbers = (std::uint64_t{1} << coarse_number_bits) - 1;
    constexpr auto times = (std::uint64_t{1} << coarse_time_bits) - 1;
    const auto units = static_cast<std::uint64_t>(coarse_now() >> coarse_unit_bits);
    return task_access::stamp_inside | task_access::coarse_stamp |
           static_cast<std::uintptr_t>((units & times) << (coarse_number_bits + 1) |
                                       (number & numbers) << 1 | 1);
}

}  // namespace cadre::detail
