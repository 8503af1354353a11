// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include <cadre/detail/export.hpp>

namespace cadre {

/// How many threads a pool wants, by the usual rules. All count from available_processors() (n)
/// unless told otherwise, and throw std::invalid_argument for what cannot be. Rules of thumb:
/// measure, then change the pool while it runs.
namespace sizing {

/// Tasks that compute and never wait: n + 1, one to fill in when another is held up.
CADRE_API int cpu_bound();
CADRE_API int cpu_bound(int processors);

/// Tasks that mostly wait: 2n.
CADRE_API int io_bound();
CADRE_API int io_bound(int processors);

/// Tasks that wait so long for each so long of computing: n * utilisation * (1 + wait / compute),
/// rounded up, at least 1. utilisation is the share of the processors to be used, above 0 up to 1.
///
///     sizing::for_mix(0.9, 80ms, 20ms)  // on 8 processors: 8 * 0.9 * 5 = 36
CADRE_API int for_mix(double utilisation, std::chrono::nanoseconds wait,
                      std::chrono::nanoseconds compute);
CADRE_API int for_mix(int processors, double utilisation, std::chrono::nanoseconds wait,
                      std::chrono::nanoseconds compute);

}  // namespace sizing

}  // namespace cadre
