// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>

#include "counters.hpp"
#include "measure.hpp"

namespace bench {

/// A task that bumps the counter of its worker and carries so many bytes about.
template <std::size_t Capture>
struct carrying {
    std::array<unsigned char, Capture> captured = {};
    void operator()() const {
        if constexpr (Capture == 0)
            worker_counters::bump();
        else
            worker_counters::bump(1 + captured[Capture / 2]);
    }
};

/// Calls `play` with the number of bytes as a constant, for the numbers that are tried.
template <class Play>
auto with_capture(long bytes, Play play) {
    switch (bytes) {
        case 0:
            return play.template operator()<0>();
        case 8:
            return play.template operator()<8>();
        case 40:
            return play.template operator()<40>();
        case 48:
            return play.template operator()<48>();
        case 56:
            return play.template operator()<56>();
        case 200:
            return play.template operator()<200>();
        default:
            break;
    }
    throw std::invalid_argument("capture=" + std::to_string(bytes) +
                                ": can be 0, 8, 40, 48, 56 or 200");
}

/// Work that is counted in turns of a loop, not in time: while a thread waits for a processor it
/// gets nothing done.
inline void turn(long turns) {
    unsigned long x = 88172645463325252u;
    for (long i = 0; i < turns; ++i) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        asm volatile("" : "+r"(x));
    }
}

/// How many turns take a microsecond when nobody disturbs.
inline double turns_per_microsecond() {
    constexpr long turns = 20'000;
    auto least = clock::duration::max();
    for (int i = 0; i < 50; ++i) {
        const auto begin = clock::now();
        turn(turns);
        least = std::min(least, clock::now() - begin);
    }
    return static_cast<double>(turns) / (seconds(least) * 1e6);
}

}  // namespace bench
