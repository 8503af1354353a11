// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>

#include <cadre/manage/alarm.hpp>

namespace cadre::manage::detail {

/// Decides for one rule and one pool when to speak. No clock of its own and no lock.
///
///   quiet -> firing     enough occurrences within the window, or the level lasts for long enough
///   firing -> quiet     the level is gone, or nothing happened for a window
///
/// A message is due on the way to firing, and again while it fires after each silence; one that
/// silence swallows is counted. A recovery is told only if the firing was.
class alarm_tracker {
public:
    using time = std::chrono::steady_clock::time_point;
    struct verdict {
        alarm_state state;
        std::uint64_t occurrences;
        std::uint64_t suppressed;
    };

    /// A look at a level.
    std::optional<verdict> look(const alarm_rule& rule, bool reached, time now);
    /// So many occurrences since the last look, maybe none.
    std::optional<verdict> count(const alarm_rule& rule, std::uint64_t times, time now);
    /// It will not be looked at any more.
    std::optional<verdict> end(const alarm_rule& rule) { return recover(rule); }
    bool is_firing() const { return firing_; }
    /// Within the window, at the last look.
    std::uint64_t occurrences() const { return occurrences_; }

private:
    std::uint64_t within_window(const alarm_rule& rule, std::uint64_t times, time now);
    std::optional<verdict> fire(const alarm_rule& rule, std::uint64_t occurrences, time now);
    std::optional<verdict> recover(const alarm_rule& rule);

    struct seen {
        time at;
        std::uint64_t times;
    };
    std::deque<seen> seen_;
    std::optional<time> reached_since_;
    std::optional<time> last_told_;
    bool firing_ = false;
    bool told_ = false;
    std::uint64_t suppressed_ = 0;
    std::uint64_t occurrences_ = 0;
};

}  // namespace cadre::manage::detail
