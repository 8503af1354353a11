// SPDX-License-Identifier: Apache-2.0
//
// What pools cost in the long run.
//
//     upkeep churn --seconds S [--strict]   pools, futures, timers and waits that come and go: what
//                                           memory they leave
//     upkeep idle --seconds S               64 threads with nothing to do, and a scheduler without
//                                           core threads that waits: what processor time they take
//
// The last line has the figure. Churn fails if anything that was allocated by operator new between
// a sixth of the time and the end is still there when all pools are gone, or more than 64 KiB on
// the heap, which also has what malloc and recycled_memory.hpp keep for later; --strict, if the
// resident size grew by more than 1 % + 1 MB. Idle fails at 1 % of one processor.

#include <cadre/cadre.hpp>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include "support/allocations.hpp"
#include "support/watchdog.hpp"
#include "support/watched.hpp"

namespace cadre::testing {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

struct memory {
    long long blocks = 0;
    long heap = 0;
    long resident = 0;
    static memory now() {
        malloc_trim(0);
        std::ifstream in("/proc/self/statm");
        long total = 0;
        long pages = 0;
        in >> total >> pages;
        const auto info = mallinfo2();
        return {blocks_in_use(), static_cast<long>(info.uordblks + info.hblkhd),
                pages * sysconf(_SC_PAGESIZE)};
    }
};

/// A pool's whole life, with a bit of everything that allocates.
void one_life(unsigned number) {
    thread_pool_executor pool({.core_pool_size = 2, .name = "churn"});
    scheduled_thread_pool_executor timers(1);
    std::vector<future<int>> results;
    for (int i = 0; i < 200; ++i) results.push_back(pool.submit([i] { return i; }));
    for (std::size_t i = 0; i < results.size(); i += 3) results[i].cancel(true);
    auto after = std::move(results.back()).then([](int i) { return i + 1; });
    for (int i = 0; i < 50; ++i) (void)timers.schedule([] {}, 1h).cancel();
    linked_blocking_queue<int> queue;
    for (int i = 0; i < 5; ++i) (void)queue.poll_for(1us);
    if (number % 2 == 0) (void)pool.shutdown_now();
    (void)after;
}

int churn(std::chrono::seconds time, bool strict) {
    mallopt(M_ARENA_MAX, 2);  // else the resident size tells how many threads met in malloc
    unsigned lives = 0;
    const watchdog dog(
        60s, [&] { return lives; }, [&] { return std::to_string(lives) + " pools"; });
    const auto began = clock::now();
    const auto play_until = [&](clock::time_point t) {
        do one_life(lives++);
        while (clock::now() < t);
    };
    play_until(began + time / 6);
    const auto before = memory::now();
    play_until(began + time);
    // What a thread has for itself may go a moment after the pool. What never goes is seen below.
    const auto until = clock::now() + 30s;
    await_fact([&] { return blocks_in_use() <= before.blocks || clock::now() >= until; });
    const auto after = memory::now();
    const long long blocks = after.blocks - before.blocks;
    const long heap = after.heap - before.heap;
    const long resident = after.resident - before.resident;
    std::cout << "churn: " << lives << " pairs of pools, " << lives * 200UL << " futures, "
              << lives * 50UL << " timers; " << blocks << " blocks and " << heap
              << " bytes of heap more than after a sixth, resident " << after.resident / 1024
              << " KiB, " << resident / 1024 << " KiB more\n";
    if (blocks > 0 || heap > 65'536) return 1;
    return strict && resident > before.resident / 100 + 1'000'000 ? 1 : 0;
}

std::chrono::microseconds processor_time() {
    rusage used = {};
    getrusage(RUSAGE_SELF, &used);
    return std::chrono::seconds(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           std::chrono::microseconds(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

/// True if all threads of the process but this one sleep.
bool all_others_sleep() {
    const std::string self = std::to_string(gettid());
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
        if (thread.path().filename() == self) continue;
        std::ifstream in(thread.path() / "stat");
        std::string text;
        std::getline(in, text);
        const auto name_end = text.rfind(") ");
        if (name_end == std::string::npos || text[name_end + 2] != 'S') return false;
    }
    return true;
}

int idle(std::chrono::seconds time) {
    thread_pool_executor pool({.core_pool_size = 64});
    pool.prestart_all_core_threads();
    scheduled_thread_pool_executor timers(0);
    auto later = timers.schedule([] {}, 1h);
    // Some are still being made. What never sleeps is seen below.
    const auto until = clock::now() + 30s;
    await_fact([&] { return all_others_sleep() || clock::now() >= until; });
    const auto before = processor_time();
    const auto began = clock::now();
    std::this_thread::sleep_for(time);  // what the others use meanwhile is what is measured
    const auto used = processor_time() - before;
    const std::chrono::duration<double> took = clock::now() - began;
    const double share = std::chrono::duration<double>(used) / took * 100;
    std::cout << "idle: 64 threads and a waiting scheduler took " << used.count() << " us in "
              << took.count() << " s, " << share << " % of a processor; the scheduler made "
              << timers.largest_pool_size() << " threads\n";
    later.cancel();
    timers.shutdown_now();
    return share < 1 && timers.largest_pool_size() <= 1 ? 0 : 1;
}

}  // namespace
}  // namespace cadre::testing

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "";
    long seconds = 5;
    bool strict = false;
    for (int i = 2; i < argc; ++i) {
        if (std::strcmp(argv[i], "--seconds") == 0 && i + 1 < argc) seconds = std::atol(argv[++i]);
        if (std::strcmp(argv[i], "--strict") == 0) strict = true;
    }
    if (what == "churn") return cadre::testing::churn(std::chrono::seconds(seconds), strict);
    if (what == "idle") return cadre::testing::idle(std::chrono::seconds(seconds));
    std::cerr << "usage: upkeep churn|idle [--seconds S] [--strict]\n";
    return 2;
}
