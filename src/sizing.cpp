// SPDX-License-Identifier: Apache-2.0

#include <cadre/sizing.hpp>

#include <cmath>
#include <stdexcept>
#include <string>

#include <cadre/thread.hpp>

namespace cadre::sizing {

namespace {

/// As many as a pool can have: more is the rule's, not the pool's.
constexpr int most_threads = (1 << 29) - 1;

void check_processors(int processors) {
    if (processors <= 0)
        throw std::invalid_argument("processors (" + std::to_string(processors) +
                                    ") is not positive");
}

int limited(double threads) {
    if (threads >= most_threads) return most_threads;
    return threads <= 1 ? 1 : static_cast<int>(threads);
}

}  // namespace

int cpu_bound() { return cpu_bound(available_processors()); }

int cpu_bound(int processors) {
    check_processors(processors);
    return limited(processors + 1.0);
}

int io_bound() { return io_bound(available_processors()); }

int io_bound(int processors) {
    check_processors(processors);
    return limited(2.0 * processors);
}

int for_mix(double utilisation, std::chrono::nanoseconds wait, std::chrono::nanoseconds compute) {
    return for_mix(available_processors(), utilisation, wait, compute);
}

int for_mix(int processors, double utilisation, std::chrono::nanoseconds wait,
            std::chrono::nanoseconds compute) {
    check_processors(processors);
    if (!(utilisation > 0 && utilisation <= 1))
        throw std::invalid_argument("utilisation (" + std::to_string(utilisation) +
                                    ") is not above 0 and up to 1");
    if (wait.count() < 0)
        throw std::invalid_argument("wait (" + std::to_string(wait.count()) + " ns) is negative");
    if (compute.count() <= 0)
        throw std::invalid_argument("compute (" + std::to_string(compute.count()) +
                                    " ns) is not positive");
    const double ratio = static_cast<double>(wait.count()) / static_cast<double>(compute.count());
    constexpr double rounding = 1e-9;  // 8 * 0.9 * 5 is 36, not a little more
    return limited(std::ceil(processors * utilisation * (1 + ratio) - rounding));
}

}  // namespace cadre::sizing
