// SPDX-License-Identifier: Apache-2.0
//
// Plays pools of every kind, with every queue and policy, while they are resized, their tasks
// cancelled and removed, and they are ended in every way; and keeps a ledger of every task.
//
//     ledger_stress [--tasks N] [--seconds S] [--seed X] [--signals R]
//
// Ends when N tasks were accepted, or fails if that takes more than S seconds; without N, plays for
// S seconds. With --signals, it is sent R of them a second, and stopped ten times a second, which
// the shell of a terminal takes for its own affair. The last line has the figures. Anything wrong,
// or nothing moving for a minute: says what, and fails.

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "support/watchdog.hpp"
#include "trust/disturber.hpp"
#include "trust/episode.hpp"

namespace cadre::testing {
namespace {

using namespace std::chrono_literals;

/// In turn, so that every kind is played: most tasks go the way that most go, and most pools are of
/// the other kinds. The pairs of queue and policy begin with another one each time: a short form
/// does not come to all of them.
std::unique_ptr<episode> next_episode(std::size_t number, std::size_t first_pair,
                                      std::mt19937& random) {
    // perturb.so refuses threads: only these expect that a pool may have none to end its work.
    if (std::getenv("CADRE_REFUSE") != nullptr) return pool_episode(first_pair + number, random);
    switch (number % 8) {
        case 0:
        case 3:
        case 6:
            return pool_episode(first_pair + number / 8 * 3 + number % 8 / 3, random);
        case 1:
            return stealing_episode(random);
        case 2:
            return timer_episode(random);
        default:
            return mass_episode(random);
    }
}

int play_all(std::optional<std::size_t> wanted, std::chrono::seconds limit, unsigned seed,
             const std::optional<disturber>& beside) {
    std::cout << "seed " << seed << std::endl;
    std::mt19937 random(seed);
    const std::size_t first_pair = random();
    totals sum;
    const auto began = std::chrono::steady_clock::now();
    const auto enough = [&] { return wanted && sum.accepted >= *wanted; };
    while (!enough() && std::chrono::steady_clock::now() - began < limit) {
        const auto next = next_episode(sum.episodes, first_pair, random);
        std::string error;
        {
            const watchdog dog(
                60s, [&] { return next->progress(); }, [&] { return next->snapshot(); });
            error = next->play();
        }
        if (error.empty()) error = next->close(sum);
        if (!error.empty()) {
            std::cout << "ledger: " << error << " (" << next->snapshot() << ", seed " << seed
                      << ")\n";
            return 1;
        }
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    std::cout << "ledger: " << sum.tasks << " tasks in " << sum.episodes << " pools, "
              << sum.accepted << " accepted = " << sum.ran << " ran (" << sum.failed << " threw) + "
              << sum.called_off << " called off + " << sum.dropped << " returned or discarded; "
              << sum.refused << " refused; " << sum.futures
              << " futures; 0 lost, 0 doubled, 0 pending, " << (beside ? beside->told() + ", " : "")
              << took.count() << " s\n";
    if (!wanted || enough()) return 0;
    std::cout << "ledger: SHORT: " << sum.accepted << " of " << *wanted << " tasks in "
              << limit.count() << " s\n";
    return 1;
}

}  // namespace
}  // namespace cadre::testing

int main(int argc, char** argv) {
    std::optional<std::size_t> tasks;
    long seconds = 60;
    int signals = 0;
    unsigned seed = std::random_device()();
    for (int i = 1; i + 1 < argc; i += 2) {
        if (std::strcmp(argv[i], "--tasks") == 0) tasks = std::stoull(argv[i + 1]);
        if (std::strcmp(argv[i], "--seconds") == 0) seconds = std::stol(argv[i + 1]);
        if (std::strcmp(argv[i], "--signals") == 0) signals = std::stoi(argv[i + 1]);
        if (std::strcmp(argv[i], "--seed") == 0)
            seed = static_cast<unsigned>(std::stoul(argv[i + 1]));
    }
    std::optional<cadre::testing::disturber> beside;
    if (signals > 0) beside.emplace(signals);
    return cadre::testing::play_all(tasks, std::chrono::seconds(seconds), seed, beside);
}
