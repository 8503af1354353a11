// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <cadre/detail/export.hpp>

namespace cadre {

/// Whose clock a calendar schedule goes by. Local is the zone of the process, as the C library
/// has it: TZ at the first use or at the last tzset(), else the system's zone.
enum class cron_zone { local, utc };

namespace detail {

/// What a cron expression allows: bit n of a field stands for its value n.
struct cron_fields {
    std::uint64_t minutes = 0;
    std::uint64_t hours = 0;
    std::uint64_t days = 0;
    std::uint64_t months = 0;
    std::uint64_t weekdays = 0;  // 0 is Sunday; no 7
    bool either_day = false;     // days or weekdays; else both
    bool fixed_time = false;     // by wall time, each once; else by real time

    bool operator==(const cron_fields&) const = default;
};

}  // namespace detail

/// A calendar schedule, written as for cron: a value, safe to use from any thread.
///
///     cadre::cron_expression weekdays_at_half_past_six("30 6 * * mon-fri");
///     cadre::cron_expression each_quarter_hour("*/15 * * * *", cadre::cron_zone::utc);
///     auto first = each_quarter_hour.next_after(std::chrono::system_clock::now());
///
/// Five fields, with blanks between them:
///
///     minute         0-59
///     hour           0-23
///     day of month   1-31
///     month          1-12 or jan-dec
///     day of week    0-7 or sun-sat; 0 and 7 are Sunday
///
/// A field is `*`, a value or a range (`1-5`, `fri-sun`), or a list of such (`0,15,40-50`). `*`
/// and ranges may have a step: `*/5`, `10-40/10`. Upper and lower case are the same. In the place
/// of all five: `@hourly`, `@daily` or `@midnight`, `@weekly` (Sunday), `@monthly`, `@yearly` or
/// `@annually`.
///
/// A day must match both day fields if one of them starts with `*`, else either: `0 0 13 * *` is
/// every 13th, `0 0 * * fri` every Friday, `0 0 13 * fri` every 13th and every Friday.
///
/// When the local clock is changed, for daylight saving or otherwise, no run is doubled or lost.
/// The hour field says what that means:
///
/// - Without a `*` at its start the schedule is for times of the day. It runs once for each wall
///   time that matches: a time that the clock skips runs at the first instant after the gap
///   (several that it skips, and one due then anyway: one run), a time that comes twice runs the
///   first time only.
/// - With `*` or `*/n` it follows real time. It runs in each real minute that shows a matching
///   wall time: the hour that comes twice has its runs twice, the skipped hour has none.
///
/// In Berlin, where 2:00 to 3:00 is skipped in March and comes twice in October:
///
///                     March                         October
///     30 2 * * *      3:00                          2:30, the first one
///     0,30 2 * * *    3:00, for both                2:00, 2:30, the first ones
///     30 * * * *      1:30, 3:30, an hour later     1:30, 2:30, 2:30, 3:30, an hour apart
///     0 */2 * * *     0:00, 4:00                    0:00, 2:00, 2:00, 4:00
class CADRE_API cron_expression {
public:
    /// Throws std::invalid_argument if the text is no cron expression or has more than 512
    /// characters. The message says where and why, with a caret under the culprit:
    ///
    ///     cron expression refused at character 3: hour must be 0 to 23, not '24'
    ///       0 24 * * *
    ///         ^
    explicit cron_expression(std::string_view text, cron_zone zone = cron_zone::local);

    /// The first run strictly after t. Nothing if there is none, as on 30 February, or none that
    /// a time_point can tell. The search is short, however far off the run is.
    std::optional<std::chrono::system_clock::time_point> next_after(
        std::chrono::system_clock::time_point t) const;

    /// As it was given.
    const std::string& text() const noexcept { return text_; }
    cron_zone zone() const noexcept { return zone_; }

    /// Same text and same zone; `@daily` and `0 0 * * *` differ.
    bool operator==(const cron_expression&) const = default;

private:
    detail::cron_fields fields_;
    cron_zone zone_;
    std::string text_;
};

}  // namespace cadre
