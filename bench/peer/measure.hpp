// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <malloc.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <thread>
#include <utility>
#include <vector>

namespace bench {

using clock = std::chrono::steady_clock;

inline double seconds(clock::duration d) { return std::chrono::duration<double>(d).count(); }

/// What all threads of this process have used of the processors so far.
inline double cpu_seconds() {
    timespec used = {};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

/// What of this process is in memory, after free memory was given back.
inline double resident_bytes() {
    malloc_trim(0);
    std::ifstream statm("/proc/self/statm");
    long all = 0;
    long resident = 0;
    statm >> all >> resident;
    return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

/// Sleeps between looks: a thread that spins would take a core from the workers.
template <class Predicate>
void await(Predicate done, std::chrono::microseconds between = std::chrono::microseconds(20)) {
    while (!done()) std::this_thread::sleep_for(between);
}

/// splitmix64: the same numbers in every peer, whatever its language.
class random_numbers {
public:
    explicit random_numbers(std::uint64_t seed) : state_(seed) {}
    std::uint64_t below(std::uint64_t bound) { return next() % bound; }

private:
    std::uint64_t next() {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return (z ^ (z >> 31)) >> 1;  // without the top bit, which Java would take for a sign
    }
    std::uint64_t state_;
};

inline std::vector<std::size_t> shuffled(std::size_t size, random_numbers& random) {
    std::vector<std::size_t> order(size);
    for (std::size_t i = 0; i < size; ++i) order[i] = i;
    for (std::size_t i = size; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    return order;
}

}  // namespace bench
