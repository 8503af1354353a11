// SPDX-License-Identifier: Apache-2.0
#include <cadre/detail/duration.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <ratio>

namespace cadre::testing {
namespace {

using namespace std::chrono_literals;
using detail::saturated;
using std::chrono::nanoseconds;
template <class Rep, class Period = std::ratio<1>>
using duration = std::chrono::duration<Rep, Period>;

constexpr double infinity = std::numeric_limits<double>::infinity();

// What is whole nanoseconds stays what it is, as with duration_cast.
static_assert(saturated(duration<double>(0.3)) == 300ms);
static_assert(saturated(duration<double>(-0.3)) == -300ms);
static_assert(saturated(duration<float>(0.3F)) == 300ms);
static_assert(saturated(duration<long double>(0.3L)) == 300ms);
static_assert(saturated(duration<double, std::milli>(0.7)) == 700us);
static_assert(saturated(duration<double, std::ratio<60>>(0.1)) == 6s);
static_assert(saturated(duration<double>(0)) == 0ns);

// Nothing is shorter than asked.
static_assert(saturated(duration<double, std::pico>(1)) == 1ns);
static_assert(saturated(duration<double, std::nano>(1.25)) == 2ns);
static_assert(saturated(duration<double, std::nano>(-1.25)) == -1ns);

// What does not fit is cut, and what is no number is nothing.
static_assert(saturated(duration<double>(1e300)) == nanoseconds::max());
static_assert(saturated(duration<double>(-1e300)) == nanoseconds::min());
static_assert(saturated(duration<float>(1e30F)) == nanoseconds::max());
static_assert(saturated(duration<double>(infinity)) == nanoseconds::max());
static_assert(saturated(duration<double>(-infinity)) == nanoseconds::min());
static_assert(saturated(duration<double>(std::numeric_limits<double>::quiet_NaN())) == 0ns);

TEST(duration, of_decimal_fractions_of_a_second_is_exact) {
    for (int i = -20'000; i <= 20'000; ++i) {
        EXPECT_EQ(saturated(duration<double>(i / 1e3)), std::chrono::milliseconds(i));
        EXPECT_EQ(saturated(duration<double>(i / 1e6)), std::chrono::microseconds(i));
        EXPECT_EQ(saturated(duration<double>(i / 1e9)), nanoseconds(i));
    }
}

}  // namespace
}  // namespace cadre::testing
