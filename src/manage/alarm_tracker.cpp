// SPDX-License-Identifier: Apache-2.0
#include "alarm_tracker.hpp"

#include <utility>

namespace cadre::manage::detail {

std::uint64_t alarm_tracker::within_window(const alarm_rule& rule, std::uint64_t times, time now) {
    while (!seen_.empty() && now - seen_.front().at >= rule.window) seen_.pop_front();
    if (times > 0) seen_.push_back({now, times});
    occurrences_ = 0;
    for (const auto& s : seen_) occurrences_ += s.times;
    return occurrences_;
}

std::optional<alarm_tracker::verdict> alarm_tracker::look(const alarm_rule& rule, bool reached,
                                                          time now) {
    if (!reached) {
        reached_since_.reset();
        return recover(rule);
    }
    if (!reached_since_) reached_since_ = now;
    const auto occurrences = within_window(rule, 1, now);
    if (occurrences < rule.count || now - *reached_since_ < rule.lasting) return std::nullopt;
    return fire(rule, occurrences, now);
}

std::optional<alarm_tracker::verdict> alarm_tracker::count(const alarm_rule& rule,
                                                           std::uint64_t times, time now) {
    const auto occurrences = within_window(rule, times, now);
    if (occurrences == 0) return recover(rule);
    if (times == 0 || occurrences < rule.count) return std::nullopt;
    return fire(rule, occurrences, now);
}

std::optional<alarm_tracker::verdict> alarm_tracker::fire(const alarm_rule& rule,
                                                          std::uint64_t occurrences, time now) {
    firing_ = true;
    if (last_told_ && now - *last_told_ < rule.silence) {
        ++suppressed_;
        return std::nullopt;
    }
    last_told_ = now;
    told_ = true;
    return verdict{alarm_state::firing, occurrences, std::exchange(suppressed_, 0)};
}

std::optional<alarm_tracker::verdict> alarm_tracker::recover(const alarm_rule& rule) {
    if (!std::exchange(firing_, false)) return std::nullopt;
    if (!std::exchange(told_, false) || !rule.tell_recovery) return std::nullopt;
    return verdict{alarm_state::recovered, 0, std::exchange(suppressed_, 0)};
}

}  // namespace cadre::manage::detail
