// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace cadre::schedules {

/// What a scenario is played by: the same seed, the same interleaving.
///
/// While a scenario plays, one thread runs at a time. At each point (of CADRE_SCHEDULE_POINT, and
/// wherever a thread locks, unlocks, sleeps on a futex, wakes, makes or joins a thread) the
/// runnable thread of the highest priority goes on. Priorities are drawn from the seed, and at a
/// few points, drawn from the seed as well, the running thread becomes the lowest: a bug that needs
/// d such changes among n threads and k steps shows with probability 1/(n k^(d-1)) at least,
/// however seldom it is by itself ("A randomized scheduler with probabilistic guarantees of finding
/// bugs", 2010).
struct played {
    std::uint64_t steps = 0;
};

/// Plays it. The changes of priority are drawn from its usual steps: of those that come after its
/// end nobody has anything. If nobody can go on, or it takes too many steps, tells the seed and
/// ends the process.
played play(const char* name, void (*scenario)(), std::uint64_t usual_steps, std::uint64_t seed,
            bool trace);

/// If the last two plays were not the same, tells where they parted and ends the process.
void expect_same_play();

/// Of a scenario: if it does not hold, tells the seed and ends the process.
void expect(bool holds, const char* what);

}  // namespace cadre::schedules
