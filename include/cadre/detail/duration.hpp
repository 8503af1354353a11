// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <limits>
#include <ratio>
#include <type_traits>

namespace cadre::detail {

using steady_time = std::chrono::steady_clock::time_point;

/// A number of nanoseconds that fits, as a whole one: itself if it is whole as far as its type can
/// tell, so that 0.3 s are 300 ms; else the next larger one, for no wait is shorter than asked.
template <std::floating_point Rep>
constexpr std::chrono::nanoseconds rounded_up(Rep ns) noexcept {
    const auto whole = static_cast<std::chrono::nanoseconds::rep>(ns);  // towards zero
    const Rep rest = ns - static_cast<Rep>(whole);
    const Rep noise = (ns < 0 ? -ns : ns) * std::numeric_limits<Rep>::epsilon();
    if (rest > noise) return std::chrono::nanoseconds(whole + 1);
    if (rest < 0 && rest < noise - 1) return std::chrono::nanoseconds(whole - 1);
    return std::chrono::nanoseconds(whole);
}

/// Any duration as nanoseconds, with what does not fit cut to the nearest end. NaN is zero.
template <class Rep, class Period>
constexpr std::chrono::nanoseconds saturated(std::chrono::duration<Rep, Period> d) noexcept {
    using std::chrono::nanoseconds;
    using scale = std::ratio_divide<Period, std::nano>;
    if constexpr (std::is_floating_point_v<Rep>) {
        if (d.count() != d.count()) return nanoseconds::zero();
        const long double wide = static_cast<long double>(d.count()) *
                                 static_cast<long double>(scale::num) /
                                 static_cast<long double>(scale::den);
        if (wide >= static_cast<long double>(nanoseconds::max().count())) return nanoseconds::max();
        if (wide <= static_cast<long double>(nanoseconds::min().count())) return nanoseconds::min();
        // In its own type, as duration_cast does: with more digits, 0.3 s are 299999999.99... ns.
        const Rep ns = d.count() * static_cast<Rep>(scale::num) / static_cast<Rep>(scale::den);
        if (ns >= static_cast<Rep>(nanoseconds::max().count())) return nanoseconds::max();
        return rounded_up(ns);
    } else {
        __extension__ using wide = __int128;
        const wide ns = static_cast<wide>(d.count()) * scale::num / scale::den;
        if (ns >= nanoseconds::max().count()) return nanoseconds::max();
        if (ns <= nanoseconds::min().count()) return nanoseconds::min();
        return nanoseconds(static_cast<nanoseconds::rep>(ns));
    }
}

/// a - b, with what does not fit cut to the nearest end.
constexpr std::chrono::nanoseconds saturated_difference(std::chrono::nanoseconds a,
                                                        std::chrono::nanoseconds b) noexcept {
    using std::chrono::nanoseconds;
    if (b.count() < 0 && a.count() > nanoseconds::max().count() + b.count())
        return nanoseconds::max();
    if (b.count() > 0 && a.count() < nanoseconds::min().count() + b.count())
        return nanoseconds::min();
    return a - b;
}

/// The end of time: a wait until then has no time limit.
inline constexpr steady_time forever = steady_time::max();

/// Now plus a timeout, saturating: a timeout past the end of the clock waits for ever.
inline steady_time deadline_after(std::chrono::nanoseconds timeout) noexcept {
    const auto now = std::chrono::steady_clock::now();
    if (timeout <= std::chrono::nanoseconds::zero()) return now;
    return timeout >= forever - now ? forever : now + timeout;
}

/// A point of any clock as a point of the steady clock.
template <class Clock, class Duration>
steady_time steady_deadline(std::chrono::time_point<Clock, Duration> t) {
    if constexpr (std::is_same_v<Clock, std::chrono::steady_clock>) {
        return steady_time(saturated(t.time_since_epoch()));
    } else {
        const auto at = saturated(t.time_since_epoch());
        const auto now = saturated(Clock::now().time_since_epoch());
        if (at <= now) return std::chrono::steady_clock::now();
        // The difference of two saturated values overflows only if now is before the epoch.
        return now.count() < 0 && at.count() > std::chrono::nanoseconds::max().count() + now.count()
                   ? forever
                   : deadline_after(at - now);
    }
}

}  // namespace cadre::detail
