// SPDX-License-Identifier: Apache-2.0

// Two parts: a calendar, which finds the next wall time that the fields allow and knows no zones,
// and a local clock, which takes wall times to instants and back. Wall times are
// std::chrono::local_time, instants sys_time.
//
// A wall time w runs at the first instant at which the clock shows w or later. That is one
// instant for every w, in the order of w, whatever the clock skips or repeats; and w has run by
// the instant t exactly if w is not later than the latest wall time shown up to t. So a schedule
// for times of the day needs one search in the calendar, from there.
//
// A schedule in real time goes from one change of the clock to the next instead; far from a run it
// leaps, since no change turns the clock back by more than twice `reach`.
//
// mktime() is of no use here: what it does with skipped and repeated times is nobody's promise.

#include <cadre/cron.hpp>

#include <time.h>

#include <algorithm>
#include <bit>
#include <ctime>

#include "cron_parser.hpp"

namespace cadre {

namespace {

using detail::cron_fields;
using std::chrono::days;
using std::chrono::floor;
using std::chrono::local_days;
using std::chrono::local_seconds;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::sys_seconds;

using local_minutes = std::chrono::local_time<minutes>;

/// The lowest bit that is set and not below `from`, at most 63.
std::optional<int> first_bit(std::uint64_t bits, int from) {
    bits = bits >> from << from;
    if (bits == 0) return std::nullopt;
    return std::countr_zero(bits);
}

/// The days of a month that match.
std::uint64_t days_of(const cron_fields& fields, std::chrono::year_month month) {
    using std::chrono::last;
    if ((fields.months >> static_cast<unsigned>(month.month()) & 1) == 0) return 0;
    const auto first_weekday = std::chrono::weekday(local_days(month / 1)).c_encoding();
    std::uint64_t week_after_week = 0;
    for (int week = 0; week < 6; ++week) week_after_week |= fields.weekdays << 7 * week;
    const auto by_weekday = week_after_week >> first_weekday << 1;
    const auto length = static_cast<unsigned>((month / last).day());
    const auto in_month = (std::uint64_t{2} << length) - 2;
    return in_month & (fields.either_day ? fields.days | by_weekday : fields.days & by_weekday);
}

std::optional<local_days> first_day(const cron_fields& fields, local_days from) {
    // 29 February falls on a given weekday once in 40 years at least.
    constexpr int longest_search = 41 * 12;
    const std::chrono::year_month_day start(from);
    auto month = start.year() / start.month();
    auto day = first_bit(days_of(fields, month), static_cast<int>(unsigned(start.day())));
    for (int i = 0; !day && i < longest_search; ++i) {
        month += std::chrono::months(1);
        day = first_bit(days_of(fields, month), 1);
    }
    if (!day) return std::nullopt;
    return local_days(month / *day);
}

std::optional<minutes> first_time_of_day(const cron_fields& fields, minutes from) {
    const int hour = static_cast<int>(from.count()) / 60,
              minute = static_cast<int>(from.count()) % 60;
    const auto at = [](int h, int m) { return std::chrono::hours(h) + minutes(m); };
    if (first_bit(fields.hours, hour) == hour)
        if (const auto m = first_bit(fields.minutes, minute)) return at(hour, *m);
    if (const auto h = first_bit(fields.hours, hour + 1))
        return at(*h, std::countr_zero(fields.minutes));
    return std::nullopt;
}

/// The first wall time that matches and is not before `from`.
std::optional<local_seconds> first_match(const cron_fields& fields, local_seconds from) {
    const local_minutes minute = std::chrono::ceil<minutes>(from);
    const auto today = floor<days>(minute);
    auto day = first_day(fields, today);
    if (day == today) {
        if (const auto time = first_time_of_day(fields, minute - today)) return today + *time;
        day = first_day(fields, today + days(1));
    }
    if (!day) return std::nullopt;
    return *day + *first_time_of_day(fields, minutes(0));
}

/// More than any zone is off UTC. No zone on record has changed its clock twice in less than
/// 95 hours: a change within twice this time shows in its ends.
constexpr auto reach = std::chrono::hours(26);

class local_clock {
public:
    explicit local_clock(cron_zone zone) : zone_(zone) {}

    seconds offset(sys_seconds t) const {
        if (zone_ == cron_zone::utc) return seconds(0);
        const std::time_t time = t.time_since_epoch().count();
        std::tm fields{};
        localtime_r(&time, &fields);
        return seconds(fields.tm_gmtoff);
    }

    local_seconds shown(sys_seconds t) const {
        return local_seconds((t + offset(t)).time_since_epoch());
    }

    /// The first instant in (after, until], at most twice `reach`, with another offset.
    std::optional<sys_seconds> first_change(sys_seconds after, sys_seconds until) const {
        const auto old = offset(after);
        if (offset(until) == old) return std::nullopt;
        while (until - after > seconds(1)) {
            const auto middle = after + (until - after) / 2;
            (offset(middle) == old ? after : until) = middle;
        }
        return until;
    }

    local_seconds latest_shown(sys_seconds until) const {
        const auto now = shown(until);
        const auto change = first_change(until - reach, until);
        return change ? std::max(now, shown(*change - seconds(1))) : now;
    }

    /// The first instant that shows `wall` or later.
    sys_seconds first_reaching(local_seconds wall) const {
        sys_seconds t(wall.time_since_epoch() - reach);
        for (;;) {
            const auto reached = std::max(t, t + (wall - shown(t)));
            const auto change = first_change(t, reached);
            if (!change) return reached;
            t = *change;
        }
    }

private:
    cron_zone zone_;
};

std::optional<sys_seconds> next_by_wall_time(const cron_fields& fields, const local_clock& clock,
                                             sys_seconds after) {
    const auto wall = first_match(fields, clock.latest_shown(after) + seconds(1));
    if (!wall) return std::nullopt;
    return clock.first_reaching(*wall);
}

std::optional<sys_seconds> next_by_real_time(const cron_fields& fields, const local_clock& clock,
                                             sys_seconds after) {
    auto from = after + seconds(1);
    for (;;) {
        const auto now = clock.shown(from);
        const auto wall = first_match(fields, now);
        if (!wall) return std::nullopt;
        const auto run = from + (*wall - now);
        const auto horizon = std::min<sys_seconds>(run, from + 2 * reach);
        if (const auto change = clock.first_change(from, horizon))
            from = *change;
        else if (run == horizon)
            return run;
        else
            from = sys_seconds(wall->time_since_epoch() - reach);
    }
}

}  // namespace

cron_expression::cron_expression(std::string_view text, cron_zone zone)
    : fields_(detail::parsed_cron(text)), zone_(zone), text_(text) {}

std::optional<std::chrono::system_clock::time_point> cron_expression::next_after(
    std::chrono::system_clock::time_point t) const {
    using std::chrono::system_clock;
    const local_clock clock(zone_);
    const auto after = floor<seconds>(t);
    const auto run = fields_.fixed_time ? next_by_wall_time(fields_, clock, after)
                                        : next_by_real_time(fields_, clock, after);
    if (!run || *run > floor<seconds>(system_clock::time_point::max())) return std::nullopt;
    return *run;
}

}  // namespace cadre
