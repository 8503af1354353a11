// SPDX-License-Identifier: Apache-2.0
//
// The wall clock of this process jumps by days and decades while the library waits: the program
// stands in for clock_gettime(). No wait notices, but a task that was scheduled by the wall clock
// is due when that has passed its time.

#include <cadre/cadre.hpp>

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <thread>

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace {
std::atomic<long> jump = 0;  // seconds
std::atomic<int> jumps_made = 0;
}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
    const int result = static_cast<int>(syscall(SYS_clock_gettime, clock, time));
    if (clock == CLOCK_REALTIME) time->tv_sec += jump.load();
    return result;
}

using namespace std::chrono_literals;

namespace {

void expect(bool fact, const char* what) {
    if (fact) return;
    std::cerr << "failed: " << what << '\n';
    std::_Exit(1);
}

/// That a wait takes its time, and not one of the days by which the clock jumps. Waits again if
/// that did not jump meanwhile, which a busy machine may bring about.
template <class Wait>
void expect_right_time(std::chrono::nanoseconds wanted, Wait wait, const char* what) {
    for (const int before = jumps_made; jumps_made == before;) {
        const auto began = std::chrono::steady_clock::now();
        wait();
        const auto taken = std::chrono::steady_clock::now() - began;
        expect(taken >= wanted && taken < 60s, what);
    }
}

void expect_waits_as_ever() {
    cadre::scheduled_thread_pool_executor timers({.core_pool_size = 2});
    cadre::thread_pool_executor pool({.core_pool_size = 1});
    cadre::linked_blocking_queue<int> empty;
    const auto sleeps = [] { cadre::this_thread::sleep_for(30ms); };  // one wait of each kind
    expect_right_time(30ms, sleeps, "a sleep");
    expect_right_time(
        30ms, [&] { expect(!empty.poll_for(30ms), "nothing comes"); }, "a poll");
    expect_right_time(
        30ms, [&] { timers.schedule([] {}, 30ms).get(); }, "a delay");
    expect_right_time(
        30ms, [&] { expect(!pool.await_termination(30ms), "it runs"); }, "an end");
    // Until it is cancelled.
    auto held = pool.submit([] { cadre::this_thread::sleep_for(1h); });
    expect_right_time(
        30ms, [&] { expect(!held.wait_for(30ms), "it sleeps"); }, "a timed wait");
    held.cancel(true);
    expect_right_time(
        50ms,
        [&] {  // the periods are counted from here
            const auto beats = std::make_shared<std::atomic<int>>(0);
            const auto beat = [beats] {
                ++*beats;
                beats->notify_one();
            };
            auto periodic = timers.schedule_at_fixed_rate(beat, 5ms, 5ms);
            for (int seen = *beats; seen < 10; seen = *beats) beats->wait(seen);
            periodic.cancel();
        },
        "ten periods");
}

}  // namespace

int main() {
    expect(
        std::chrono::system_clock::now() + 1h <
            [] {
                jump = 86400;
                const auto later = std::chrono::system_clock::now();
                jump = 0;
                return later;
            }(),
        "the clock can be set");

    std::atomic<bool> over = false;
    std::thread jumper([&] {
        constexpr long day = 86400;
        while (!over)
            for (const long to : {day, -day, 0L, 36500 * day, -20000 * day, 0L}) {
                jump = to;
                ++jumps_made;
                std::this_thread::sleep_for(3ms);  // several of them in each wait
            }
        jump = 0;
    });
    for (int round = 0; round < 3; ++round) expect_waits_as_ever();
    over = true;
    jumper.join();

    cadre::scheduled_thread_pool_executor timers({.core_pool_size = 1});
    auto tomorrow = timers.schedule_at([] {}, std::chrono::system_clock::now() + 12h);
    expect(!tomorrow.wait_for(20ms), "not yet");
    jump = 86400;
    expect(tomorrow.wait_for(60s), "the wall clock has passed its time");
    std::cout << "3 rounds of 6 kinds of wait, and one time of the wall clock\n";
}
