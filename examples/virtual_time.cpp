// SPDX-License-Identifier: Apache-2.0
// A year in an instant: a pool on a clock that the program moves by hand. Every run happens in its
// order and at its time, and the same way each time the program is run.

#include <iostream>

#include <cadre/cadre.hpp>
#include <cadre/testing.hpp>

using namespace std::chrono_literals;
using std::chrono::sys_days;
using std::chrono::year;

int main() {
    cadre::manual_clock clock(sys_days(year(2023) / 1 / 1));  // before the pool: it must outlive it
    cadre::scheduled_thread_pool_executor pool({.core_pool_size = 1, .clock = &clock});
    const auto utc = [](const char* text) {
        return cadre::cron_expression(text, cadre::cron_zone::utc);
    };

    int hours = 0, mornings = 0, fridays_13th = 0, leap_days = 0;
    auto hourly = pool.schedule_at_fixed_rate([&] { ++hours; }, 1h, 1h);
    auto working_days = pool.schedule_cron([&] { ++mornings; }, utc("30 6 * * mon-fri"));
    auto unlucky = pool.schedule_cron(
        [&] {
            // Either day field is enough for cron, so look at the other one here.
            const auto today = std::chrono::floor<std::chrono::days>(clock.wall_now());
            if (std::chrono::weekday(today) == std::chrono::Friday) ++fridays_13th;
        },
        utc("0 0 13 * *"));
    auto rare = pool.schedule_cron([&] { ++leap_days; }, utc("0 0 29 2 *"));

    clock.advance(365 * 24h);  // returns when all that was due has run
    std::cout << "2023 had " << hours << " hours, " << mornings << " working days, " << fridays_13th
              << " Fridays the 13th and " << leap_days << " leap days\n";

    clock.advance_to(sys_days(year(2025) / 1 / 1));
    std::cout << "by the end of 2024: " << leap_days << " leap day\n";

    // Setting the wall clock moves what goes by the calendar, and nothing else.
    const int before = hours;
    const int leap_days_before = leap_days;
    clock.set_wall(sys_days(year(2028) / 3 / 1));
    std::cout << "set to 2028: " << hours - before << " hours passed, "
              << leap_days - leap_days_before << " leap day was passed over and made up for\n";

    const bool right = hours == (365 + 366) * 24 && mornings > 500 && leap_days == 2;
    return right ? 0 : 1;
}
