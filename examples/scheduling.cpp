// SPDX-License-Identifier: Apache-2.0
// Tasks at times: once later, every so often, with a pause between runs, by calendar. One of them
// fails now and then and goes on; at the end the counters tell how they fared.

#include <atomic>
#include <iostream>
#include <latch>

#include <cadre/cadre.hpp>

using namespace std::chrono_literals;

int main() {
    std::atomic<int> polls = 0;
    std::atomic<int> told = 0;
    std::latch five_beats(5);

    cadre::scheduled_thread_pool_executor timers(
        {.core_pool_size = 2,
         .hooks = {.periodic_failed = [&](const cadre::task&, std::exception_ptr) { ++told; }},
         .name = "timers"});

    // Once, with a result.
    auto later = timers.schedule([] { return 6 * 7; }, 30ms);

    // Every 20 ms from now, counted from the start: the times do not drift.
    auto beat = timers.schedule_at_fixed_rate(
        [&, left = 5]() mutable {
            if (left-- > 0) five_beats.count_down();
        },
        0ms, 20ms);

    // With 5 ms of rest after each run, however long that took. Every second one fails.
    auto poll = timers.schedule_with_fixed_delay(
        [&] {
            if (++polls % 2 == 0) throw std::runtime_error("no answer");
        },
        0ms, 5ms, {.on_error = cadre::on_error::keep_going});

    // By calendar: at half past six, Monday to Friday.
    auto report = timers.schedule_cron(
        [] {}, cadre::cron_expression("30 6 * * mon-fri", cadre::cron_zone::utc));

    std::cout << "the answer is " << later.get() << '\n';
    five_beats.wait();
    std::cout << std::boolalpha
              << "the next report is due within three days: " << (report.delay() <= 72h) << '\n';

    beat.cancel();
    poll.cancel();
    timers.close();  // the report, still waiting, is cancelled: it is periodic

    const auto counts = poll.statistics();
    std::cout << "half of the polls failed: " << (counts.failures == counts.runs / 2)
              << ", and each was told: " << (told == counts.failures) << '\n'
              << "the report was cancelled: " << report.is_cancelled() << '\n'
              << timers.to_string() << '\n';
}
