// SPDX-License-Identifier: Apache-2.0
#include <cadre/cron.hpp>

#include <gtest/gtest.h>

#include <stdlib.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "support/zone_scope.hpp"

namespace cadre::testing {
namespace {

using namespace std::chrono_literals;
using std::chrono::system_clock;

#if defined(__SANITIZE_THREAD__)
constexpr bool is_slow = true;
#elif defined(__has_feature)
constexpr bool is_slow = __has_feature(thread_sanitizer);
#else
constexpr bool is_slow = false;
#endif

/// "2026-03-29 01:30" or with seconds, in UTC.
system_clock::time_point at(const std::string& utc) {
    std::tm fields{};
    if (strptime(utc.c_str(), utc.size() > 16 ? "%Y-%m-%d %H:%M:%S" : "%Y-%m-%d %H:%M", &fields) ==
        nullptr)
        throw std::invalid_argument(utc);
    return system_clock::from_time_t(timegm(&fields));
}

std::string shown(system_clock::time_point t, const char* format) {
    const std::time_t time = system_clock::to_time_t(t);
    std::tm fields{};
    localtime_r(&time, &fields);
    char text[64];
    return {text, strftime(text, sizeof text, format, &fields)};
}

std::vector<system_clock::time_point> runs(const cron_expression& cron,
                                           system_clock::time_point after, int count) {
    std::vector<system_clock::time_point> result;
    for (auto run = cron.next_after(after); run && count > 0; run = cron.next_after(*run), --count)
        result.push_back(*run);
    return result;
}

/// The runs that follow an instant, in local time with its offset.
std::vector<std::string> local_runs(std::string_view text, const std::string& after_utc, int count,
                                    const char* format = "%d %H:%M %z") {
    std::vector<std::string> result;
    for (const auto run : runs(cron_expression(text), at(after_utc), count))
        result.push_back(shown(run, format));
    return result;
}

using texts = std::vector<std::string>;

TEST(cron_expression, keeps_its_text_and_zone) {
    const cron_expression cron(" */5  * * * * ", cron_zone::utc);
    EXPECT_EQ(cron.text(), " */5  * * * * ");
    EXPECT_EQ(cron.zone(), cron_zone::utc);
    EXPECT_EQ(cron_expression("@daily").zone(), cron_zone::local);
}

TEST(cron_expression, is_equal_by_text_and_zone) {
    const cron_expression cron("0 0 * * *", cron_zone::utc);
    const auto copy = cron;
    EXPECT_EQ(copy, cron);
    EXPECT_NE(cron_expression("0 0 * * *", cron_zone::local), cron);
    EXPECT_NE(cron_expression("@daily", cron_zone::utc), cron);
}

struct example {
    std::string_view text;
    std::string after;
    std::string next;  // empty: none
};

void expect_next(const example& e) {
    const auto next = cron_expression(e.text, cron_zone::utc).next_after(at(e.after));
    if (e.next.empty())
        EXPECT_EQ(next, std::nullopt) << e.text;
    else
        EXPECT_EQ(next, at(e.next)) << e.text << " after " << e.after;
}

TEST(cron_expression, tells_the_next_run) {
    const example table[] = {
        {"* * * * *", "2026-01-01 00:00", "2026-01-01 00:01"},
        {"* * * * *", "2026-01-01 00:00:59", "2026-01-01 00:01"},
        {"*/15 * * * *", "2026-12-31 23:45", "2027-01-01 00:00"},
        {"30 6 * * *", "2026-01-01 06:29:59", "2026-01-01 06:30"},
        {"30 6 * * *", "2026-01-01 06:30", "2026-01-02 06:30"},
        {"30 6 * * mon-fri", "2026-01-02 06:30", "2026-01-05 06:30"},
        {"5,10 1,3 * * *", "2026-01-01 01:10", "2026-01-01 03:05"},
        {"0 0 31 * *", "2026-01-31 00:00", "2026-03-31 00:00"},
        {"0 0 1 1 *", "2026-01-01 00:00", "2027-01-01 00:00"},
        {"0 0 29 2 *", "2026-01-01 00:00", "2028-02-29 00:00"},
        {"0 0 29 2 *", "2096-02-29 00:00", "2104-02-29 00:00"},
        {"0 0 * * *", "1969-12-30 12:00", "1969-12-31 00:00"},
        {"* * * * *", "1969-12-31 23:58:30", "1969-12-31 23:59"},
        {"59 23 31 12 *", "1700-01-01 00:00", "1700-12-31 23:59"},
    };
    for (const auto& entry : table) expect_next(entry);
}

TEST(cron_expression, runs_strictly_after_a_fraction_of_a_second) {
    const cron_expression cron("* * * * *", cron_zone::utc);
    EXPECT_EQ(cron.next_after(at("2026-01-01 00:01") - 1ns), at("2026-01-01 00:01"));
    EXPECT_EQ(cron.next_after(at("2026-01-01 00:01")), at("2026-01-01 00:02"));
    EXPECT_EQ(cron.next_after(at("2026-01-01 00:01") + 1ns), at("2026-01-01 00:02"));
    EXPECT_EQ(cron.next_after(at("1960-01-01 00:01") - 1ns), at("1960-01-01 00:01"));
}

TEST(cron_expression, joins_the_day_fields_by_or_only_if_neither_starts_with_a_star) {
    const example table[] = {
        {"0 0 13 * fri", "2026-01-01 00:00", "2026-01-02 00:00"},
        {"0 0 13 * fri", "2026-01-09 00:00", "2026-01-13 00:00"},
        {"0 0 13 * *", "2026-01-01 00:00", "2026-01-13 00:00"},
        {"0 0 * * fri", "2026-01-02 00:00", "2026-01-09 00:00"},
        {"0 0 */10 * fri", "2026-01-02 00:00", "2026-05-01 00:00"},
        {"0 0 13 * */5", "2026-01-02 00:00", "2026-02-13 00:00"},
        {"0 0 1-31 * fri", "2026-01-02 00:00", "2026-01-03 00:00"},
    };
    for (const auto& entry : table) expect_next(entry);
}

TEST(cron_expression, finds_a_rare_day_and_knows_when_there_is_none) {
    expect_next({"0 0 29 2 */7", "2026-01-01 00:00", "2032-02-29 00:00"});
    expect_next({"0 0 29 2 */7", "2088-02-29 00:00", "2128-02-29 00:00"});
    expect_next({"0 0 30 2 *", "2026-01-01 00:00", ""});
    expect_next({"* * 31 2,4,6,9,11 *", "2026-01-01 00:00", ""});
    expect_next({"0 0 30 2 sun", "2026-01-01 00:00", "2026-02-01 00:00"});
    const zone_scope zone("Europe/Berlin");
    EXPECT_EQ(cron_expression("* * 30 2 *").next_after(at("2026-01-01 00:00")), std::nullopt);
    EXPECT_EQ(cron_expression("0 0 30 2 *").next_after(at("2026-01-01 00:00")), std::nullopt);
    EXPECT_EQ(cron_expression("* * 29 2 *").next_after(at("2028-03-01 00:00")),
              at("2032-02-28 23:00"));
}

TEST(cron_expression, stays_within_what_a_time_point_can_tell) {
    const zone_scope zone("America/New_York");
    for (const auto text : {"* * * * *", "0 0 * * *", "0 0 1 1 *"}) {
        const cron_expression cron(text);
        EXPECT_EQ(cron.next_after(system_clock::time_point::max()), std::nullopt);
        EXPECT_GT(cron.next_after(system_clock::time_point::min()),
                  system_clock::time_point::min());
    }
}

TEST(cron_expression, follows_the_zone_of_the_process_or_utc) {
    const zone_scope zone("America/New_York");
    EXPECT_EQ(cron_expression("0 12 * * *").next_after(at("2026-01-01 00:00")),
              at("2026-01-01 17:00"));
    EXPECT_EQ(cron_expression("0 12 * * *").next_after(at("2026-07-01 00:00")),
              at("2026-07-01 16:00"));
    EXPECT_EQ(cron_expression("0 12 * * *", cron_zone::utc).next_after(at("2026-07-01 00:00")),
              at("2026-07-01 12:00"));
}

// The clock in Berlin goes from 2:00 to 3:00 on 29 March 2026, from 3:00 to 2:00 on 25 October.

TEST(cron_expression, runs_a_skipped_time_of_day_right_after_the_gap) {
    const zone_scope zone("Europe/Berlin");
    EXPECT_EQ(local_runs("30 2 * * *", "2026-03-28 00:00", 3),
              (texts{"28 02:30 +0100", "29 03:00 +0200", "30 02:30 +0200"}));
    EXPECT_EQ(local_runs("0,30 2 * * *", "2026-03-28 12:00", 2),
              (texts{"29 03:00 +0200", "30 02:00 +0200"}));
    EXPECT_EQ(local_runs("0 1-4 * * *", "2026-03-28 23:30", 3),
              (texts{"29 01:00 +0100", "29 03:00 +0200", "29 04:00 +0200"}));
    EXPECT_EQ(local_runs("*/20 2 * * *", "2026-03-28 12:00", 2),
              (texts{"29 03:00 +0200", "30 02:00 +0200"}));
}

TEST(cron_expression, runs_a_repeated_time_of_day_the_first_time_only) {
    const zone_scope zone("Europe/Berlin");
    EXPECT_EQ(local_runs("30 2 * * *", "2026-10-24 12:00", 2),
              (texts{"25 02:30 +0200", "26 02:30 +0100"}));
    EXPECT_EQ(local_runs("0,30 2,3 * * *", "2026-10-24 12:00", 4),
              (texts{"25 02:00 +0200", "25 02:30 +0200", "25 03:00 +0100", "25 03:30 +0100"}));
    // Asked in the midst of the second time.
    EXPECT_EQ(local_runs("40 2 * * *", "2026-10-25 01:20", 1), (texts{"26 02:40 +0100"}));
}

TEST(cron_expression, follows_real_time_if_the_hour_has_a_star) {
    const zone_scope zone("Europe/Berlin");
    EXPECT_EQ(local_runs("30 * * * *", "2026-03-29 00:00", 2),
              (texts{"29 01:30 +0100", "29 03:30 +0200"}));
    EXPECT_EQ(local_runs("30 * * * *", "2026-10-24 23:00", 4),
              (texts{"25 01:30 +0200", "25 02:30 +0200", "25 02:30 +0100", "25 03:30 +0100"}));
    EXPECT_EQ(local_runs("0 */2 * * *", "2026-03-28 22:30", 2),
              (texts{"29 00:00 +0100", "29 04:00 +0200"}));
    EXPECT_EQ(local_runs("0 */2 * * *", "2026-10-24 21:30", 4),
              (texts{"25 00:00 +0200", "25 02:00 +0200", "25 02:00 +0100", "25 04:00 +0100"}));
}

TEST(cron_expression, knows_shifts_of_half_an_hour) {
    const zone_scope zone("Australia/Lord_Howe");
    EXPECT_EQ(local_runs("15 2 * * *", "2026-10-03 00:00", 2),
              (texts{"04 02:30 +1100", "05 02:15 +1100"}));
    EXPECT_EQ(local_runs("45 1 * * *", "2026-04-04 12:00", 2),
              (texts{"05 01:45 +1100", "06 01:45 +1030"}));
    EXPECT_EQ(local_runs("0,30 * * * *", "2026-04-04 14:10", 3),
              (texts{"05 01:30 +1100", "05 01:30 +1030", "05 02:00 +1030"}));
}

TEST(cron_expression, knows_shifts_at_midnight) {
    {
        const zone_scope zone("America/Sao_Paulo");
        EXPECT_EQ(local_runs("0 0 * * *", "2018-11-03 12:00", 2),
                  (texts{"04 01:00 -0200", "05 00:00 -0200"}));
        EXPECT_EQ(local_runs("0 0 4 11 *", "2018-11-03 12:00", 1), (texts{"04 01:00 -0200"}));
        EXPECT_EQ(local_runs("30 0,23 * * *", "2019-02-16 12:00", 3),
                  (texts{"16 23:30 -0200", "17 00:30 -0300", "17 23:30 -0300"}));
        EXPECT_EQ(local_runs("0 0 * * *", "2019-02-16 12:00", 1), (texts{"17 00:00 -0300"}));
    }
    const zone_scope zone("Asia/Beirut");
    EXPECT_EQ(local_runs("30 0 * * *", "2022-03-26 12:00", 2),
              (texts{"27 01:00 +0300", "28 00:30 +0300"}));
}

TEST(cron_expression, knows_a_day_that_was_skipped_and_one_that_came_twice) {
    {
        const zone_scope zone("Pacific/Apia");  // without 30 December 2011
        EXPECT_EQ(local_runs("0 9 * * *", "2011-12-29 12:00", 3),
                  (texts{"29 09:00 -1000", "31 00:00 +1400", "31 09:00 +1400"}));
        EXPECT_EQ(local_runs("0 */12 * * *", "2011-12-29 12:00", 3),
                  (texts{"29 12:00 -1000", "31 00:00 +1400", "31 12:00 +1400"}));
    }
    const zone_scope zone("Pacific/Kwajalein");  // 30 September 1969, but for its first hour
    EXPECT_EQ(local_runs("0 9 * * *", "1969-09-29 12:00", 2),
              (texts{"30 09:00 +1100", "01 09:00 -1200"}));
    EXPECT_EQ(local_runs("0 */12 * * *", "1969-09-29 12:00", 4),
              (texts{"30 00:00 +1100", "30 12:00 +1100", "30 12:00 -1200", "01 00:00 -1200"}));
}

TEST(cron_expression, knows_offsets_with_seconds) {
    const zone_scope zone("Africa/Monrovia");  // -0:44:30 until 7 January 1972
    EXPECT_EQ(local_runs("0 0 * * *", "1972-01-05 12:00", 3, "%d %T %z"),
              (texts{"06 00:00:00 -0044", "07 00:44:30 +0000", "08 00:00:00 +0000"}));
    EXPECT_EQ(local_runs("*/30 * * * *", "1972-01-06 23:50", 3, "%d %T %z"),
              (texts{"06 23:30:00 -0044", "07 01:00:00 +0000", "07 01:30:00 +0000"}));
}

// The comparison with a search minute by minute.

enum class follows { wall_time, real_time };

struct schedule {
    std::string_view text;
    follows kind;
    bool (*matches)(const std::tm&);
};

const schedule schedules[] = {
    {"*/7 * * * *", follows::real_time, [](const std::tm& t) { return t.tm_min % 7 == 0; }},
    {"0 */2 * * *", follows::real_time,
     [](const std::tm& t) { return t.tm_min == 0 && t.tm_hour % 2 == 0; }},
    {"15,45 * 1-7 * *", follows::real_time,
     [](const std::tm& t) { return t.tm_min % 30 == 15 && t.tm_mday <= 7; }},
    {"30 * * mar,apr,oct,nov sun", follows::real_time,
     [](const std::tm& t) {
         const int month = t.tm_mon + 1;
         return t.tm_min == 30 && t.tm_wday == 0 &&
                (month == 3 || month == 4 || month == 10 || month == 11);
     }},
    {"0 0 * * *", follows::wall_time,
     [](const std::tm& t) { return t.tm_min == 0 && t.tm_hour == 0; }},
    {"30 2 * * *", follows::wall_time,
     [](const std::tm& t) { return t.tm_min == 30 && t.tm_hour == 2; }},
    {"*/10 0-3 * * *", follows::wall_time,
     [](const std::tm& t) { return t.tm_min % 10 == 0 && t.tm_hour <= 3; }},
    {"59 1,23 13 * fri", follows::wall_time,
     [](const std::tm& t) {
         return t.tm_min == 59 && (t.tm_hour == 1 || t.tm_hour == 23) &&
                (t.tm_mday == 13 || t.tm_wday == 5);
     }},
    {"0 12 29 2 *", follows::wall_time,
     [](const std::tm& t) {
         return t.tm_min == 0 && t.tm_hour == 12 && t.tm_mday == 29 && t.tm_mon == 1;
     }},
};

using instants = std::vector<std::time_t>;

/// The runs of all schedules, by looking at the clock every minute.
std::vector<instants> searched(std::time_t begin, std::time_t end) {
    std::vector<instants> found(std::size(schedules));
    std::tm now{};
    localtime_r(&begin, &now);
    std::time_t latest_wall = timegm(&now) - 60;
    for (auto t = begin; t < end; t += 60) {
        localtime_r(&t, &now);
        const auto wall = t + now.tm_gmtoff;
        for (std::size_t i = 0; i < found.size(); ++i)
            if (schedules[i].kind == follows::real_time && schedules[i].matches(now))
                found[i].push_back(t);
        for (; latest_wall < wall; latest_wall += 60) {  // once, but for a gap or a repetition
            std::tm reached = now;
            if (const auto next = latest_wall + 60; next != wall) gmtime_r(&next, &reached);
            for (std::size_t i = 0; i < found.size(); ++i)
                if (schedules[i].kind == follows::wall_time && schedules[i].matches(reached))
                    if (found[i].empty() || found[i].back() != t) found[i].push_back(t);
        }
    }
    return found;
}

instants told(std::string_view text, std::time_t begin, std::time_t end) {
    const cron_expression cron(text);
    instants result;
    const auto last = system_clock::from_time_t(end - 1);
    auto run = cron.next_after(system_clock::from_time_t(begin) - 1ns);
    for (; run && *run <= last; run = cron.next_after(*run))
        result.push_back(system_clock::to_time_t(*run));
    return result;
}

struct period {
    std::string zone;
    int first_year;
    int years;
};

class cron_search : public ::testing::TestWithParam<period> {};

TEST_P(cron_search, minute_by_minute_finds_the_same_runs) {
    const auto& [name, first_year, years] = GetParam();
    const zone_scope zone(name);
    const int last_year = first_year + (is_slow ? std::min(years, 2) : years);
    const auto begin = system_clock::to_time_t(at(std::to_string(first_year) + "-01-01 00:00"));
    const auto end = system_clock::to_time_t(at(std::to_string(last_year) + "-01-01 00:00"));
    const auto found = searched(begin, end);
    for (std::size_t i = 0; i < found.size(); ++i) {
        const auto next = told(schedules[i].text, begin, end);
        const auto [a, b] =
            std::mismatch(next.begin(), next.end(), found[i].begin(), found[i].end());
        EXPECT_EQ(next.size(), found[i].size()) << schedules[i].text;
        if (a != next.end() && b != found[i].end())
            ADD_FAILURE() << schedules[i].text << ": " << *a << ", not " << *b;
    }
}

INSTANTIATE_TEST_SUITE_P(
    zones, cron_search,
    ::testing::Values(period{"UTC", 2020, 10}, period{"Europe/Berlin", 2020, 10},
                      period{"America/New_York", 2020, 10}, period{"Australia/Lord_Howe", 2020, 10},
                      period{"America/Asuncion", 2019, 2}, period{"Asia/Beirut", 2022, 2},
                      period{"America/Sao_Paulo", 2018, 2}, period{"Africa/Casablanca", 2023, 2},
                      period{"Pacific/Apia", 2011, 1}, period{"Europe/Berlin", 2036, 3}),
    [](const auto& tested) {
        auto name = tested.param.zone + "_from_" + std::to_string(tested.param.first_year);
        std::replace(name.begin(), name.end(), '/', '_');
        return name;
    });

}  // namespace
}  // namespace cadre::testing
