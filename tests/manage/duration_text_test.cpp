// SPDX-License-Identifier: Apache-2.0
#include <cadre/manage/duration_text.hpp>

#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cadre::manage {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

TEST(duration_text, reads_what_people_write) {
    EXPECT_EQ(parse_duration("60s"), 60s);
    EXPECT_EQ(parse_duration("500ms"), 500ms);
    EXPECT_EQ(parse_duration("1h30m"), 90min);
    EXPECT_EQ(parse_duration("2d"), 48h);
    EXPECT_EQ(parse_duration("7us5ns"), 7005ns);
    EXPECT_EQ(parse_duration("0"), 0ns);
}

TEST(duration_text, refuses_the_rest_with_the_text_and_the_rule) {
    for (const std::string text : {"", "60", "s", "-1s", "1.5s", "1 s", "1S", "s1", "0x1s", "1s2"})
        EXPECT_THROW(parse_duration(text), std::invalid_argument) << text;
    for (const std::string text : {"9223372037s", "99999999999999999999s", "200000d"})
        EXPECT_THROW(parse_duration(text), std::invalid_argument) << text;
    try {
        parse_duration("12parsecs");
        ADD_FAILURE() << "was accepted";
    } catch (const std::invalid_argument& refused) {
        EXPECT_THAT(refused.what(), HasSubstr("12parsecs"));
        EXPECT_THAT(refused.what(), HasSubstr("unit"));
    }
}

TEST(duration_text, writes_the_largest_unit_without_a_rest) {
    EXPECT_EQ(to_text(60s), "1m");
    EXPECT_EQ(to_text(90s), "90s");
    EXPECT_EQ(to_text(1500ms), "1500ms");
    EXPECT_EQ(to_text(0ns), "0s");
    EXPECT_EQ(to_text(1ns), "1ns");
    for (const auto d : {1ns, 999us + 0ns, 3s + 0ns, 100h + 0ns, std::chrono::nanoseconds::max()})
        EXPECT_EQ(parse_duration(to_text(d)), d);
}

}  // namespace
}  // namespace cadre::manage
