// SPDX-License-Identifier: Apache-2.0
#include "cron_parser.hpp"

#include <gtest/gtest.h>

#include <random>
#include <stdexcept>
#include <string>
#include <string_view>

#include <cadre/cron.hpp>

namespace cadre::testing {
namespace {

/// What the refusal says; empty if there is none.
std::string refusal(std::string_view text) {
    try {
        (void)cron_expression(text);
    } catch (const std::invalid_argument& e) {
        return e.what();
    }
    return "";
}

TEST(cron_parser, gives_a_bit_to_each_value) {
    const detail::cron_fields expected{.minutes = 1u << 5 | 1u << 25,
                                       .hours = 0b1110,
                                       .days = 1u << 31,
                                       .months = 0b110,
                                       .weekdays = 0b1000001,
                                       .either_day = true,
                                       .fixed_time = true};
    EXPECT_EQ(detail::parsed_cron("5,25 1-3 31 1-2 sat-sun"), expected);
}

TEST(cron_parser, looks_for_a_star_at_the_start_of_the_hour_and_of_the_days) {
    EXPECT_FALSE(detail::parsed_cron("0 */2 1 * mon").fixed_time);
    EXPECT_FALSE(detail::parsed_cron("0 *,5 1 * mon").fixed_time);
    EXPECT_TRUE(detail::parsed_cron("* 2 1 * mon").fixed_time);
    EXPECT_FALSE(detail::parsed_cron("0 0 */2 * mon").either_day);
    EXPECT_FALSE(detail::parsed_cron("0 0 1 * */2").either_day);
    EXPECT_TRUE(detail::parsed_cron("* * 1 * mon").either_day);
}

struct two_ways {
    std::string_view text;
    std::string_view plain;
};

TEST(cron_parser, has_several_ways_to_say_the_same) {
    const two_ways table[] = {
        {"*/20 * * * *", "0,20,40 * * * *"},
        {"10-40/10 * * * *", "10,20,30,40 * * * *"},
        {"1-2,5,50-58/4 * * * *", "1,2,5,50,54,58 * * * *"},
        {"0 0-23 * * *", "0 0,1,2,3,4,5,6,7,8,9,10-22,23 * * *"},
        {"007 000000000004 * * *", "7 4 * * *"},
        {"\t5\t 6 *  *\t* ", "5 6 * * *"},
        {"0 0 1 Jan,FEB,mar *", "0 0 1 1,2,3 *"},
        {"0 0 1 apr-jun,jul,aug *", "0 0 1 4-8 *"},
        {"0 0 1 sep,oct,nov,dec *", "0 0 1 9-12 *"},
        {"0 0 * * sun,Mon,TUE,wed", "0 0 * * 0-3"},
        {"0 0 * * thu-fri,sat", "0 0 * * 4,5,6"},
        {"0 0 * * 7", "0 0 * * 0"},
        {"0 0 * * 5-7", "0 0 * * 0,5,6"},
        {"0 0 * * fri-sun", "0 0 * * 0,5,6"},
        {"0 0 * * sun-tue", "0 0 * * 0,1,2"},
        {"0 0 * * */7", "0 0 * * 0"},
        {"@hourly", "0 * * * *"},
        {"@daily", "0 0 * * *"},
        {"@midnight", "0 0 * * *"},
        {"@weekly", "0 0 * * 0"},
        {"@monthly", "0 0 1 * *"},
        {"@yearly", "0 0 1 1 *"},
        {" @Annually ", "0 0 1 1 *"},
    };
    for (const auto& [text, plain] : table)
        EXPECT_EQ(detail::parsed_cron(text), detail::parsed_cron(plain)) << text;
}

TEST(cron_parser, refuses_with_a_caret_under_the_culprit) {
    EXPECT_EQ(refusal("0 24 * * *"),
              "cron expression refused at character 3: hour must be 0 to 23, not '24'\n"
              "  0 24 * * *\n"
              "    ^");
    EXPECT_EQ(refusal("0 0 1 *"),
              "cron expression refused at its end: day of week (0 to 7 or sun to sat) is missing; "
              "the fields are minute, hour, day of month, month and day of week\n"
              "  0 0 1 *\n"
              "         ^");
}

struct bad {
    std::string_view text;
    std::size_t position;  // from 0
    std::string why;
};

void expect_refused(const bad& expected) {
    const auto message = refusal(expected.text);
    const auto place = expected.position < expected.text.size()
                           ? "at character " + std::to_string(expected.position + 1) + ": "
                           : std::string("at its end: ");
    EXPECT_NE(message.find(place), std::string::npos) << message;
    EXPECT_NE(message.find(expected.why), std::string::npos) << message;
    const auto lines =
        "\n  " + std::string(expected.text) + "\n" + std::string(expected.position + 2, ' ') + "^";
    EXPECT_TRUE(message.ends_with(lines)) << message;
}

TEST(cron_parser, refuses_what_breaks_a_rule) {
    const bad table[] = {
        {"", 0, "empty"},
        {"   ", 3, "empty"},
        {"60 * * * *", 0, "minute must be 0 to 59, not '60'"},
        {"0-60 * * * *", 2, "minute must be 0 to 59, not '60'"},
        {"* 1,2,24 * * *", 6, "hour must be 0 to 23, not '24'"},
        {"* * 0 * *", 4, "day of month must be 1 to 31, not '0'"},
        {"* * 32 * *", 4, "day of month must be 1 to 31, not '32'"},
        {"* * * 13 *", 6, "month must be 1 to 12 or jan to dec, not '13'"},
        {"* * * january *", 6, "month must be 1 to 12 or jan to dec, not 'january'"},
        {"* * * anf *", 6, "not 'anf'"},
        {"* * * mon *", 6, "not 'mon'"},
        {"* * * * 8", 8, "day of week must be 0 to 7 or sun to sat, not '8'"},
        {"* * * * moon", 8, "not 'moon'"},
        {"mon * * * *", 0, "minute must be 0 to 59, not 'mon'"},
        {"-5 * * * *", 0, "minute must be 0 to 59, not '-'"},
        {"5- * * * *", 2, "minute must be 0 to 59, not a blank"},
        {"* * * * 1-", 10, "day of week must be 0 to 7 or sun to sat, not the end"},
        {"5,,6 * * * *", 2, "not ','"},
        {"5x * * * *", 1, "minute must be 0 to 59, *, or these joined by , - and /, not 'x'"},
        {"*5 * * * *", 1, "not '5'"},
        {"1-2-3 * * * *", 3, "not '-'"},
        {"40-10 * * * *", 3, "minute range must not end before it starts: '10'"},
        {"* * * * 5-0", 10, "day of week range"},
        {"*/0 * * * *", 2, "minute step must be 1 to 59, not '0'"},
        {"* */24 * * *", 4, "hour step must be 1 to 23, not '24'"},
        {"*/ * * * *", 2, "minute step must be 1 to 59, not a blank"},
        {"5/10 * * * *", 1, "needs a range or *"},
        {"* * * * * *", 10, "nothing may follow, but there is '*'"},
        {"*", 1, "hour (0 to 23) is missing"},
        {"* * * *", 7, "day of week (0 to 7 or sun to sat) is missing"},
        {"@reboot", 0, "not '@reboot'"},
        {"@daily x", 7, "nothing may follow, but there is 'x'"},
        {"0 0 * * * @daily", 10, "nothing may follow"},
        {"99999999999999999999999999 * * * *", 0, "not '99999999999999999999...'"},
    };
    for (const auto& entry : table) expect_refused(entry);
}

TEST(cron_parser, says_what_of_other_dialects_it_does_not_know) {
    const std::string fields =
        " fields, but five are known, from minute to day of week: none for seconds or years\n";
    const bad table[] = {
        {"0 */5 * * * *", 12, "nothing may follow, but there is '*'; there are 6" + fields},
        {"0 30 6 * * mon-fri", 2, "hour must be 0 to 23, not '30'; there are 6" + fields},
        {"0 0 12 ? * mon 2030", 7, "not '?'; there are 7" + fields},
        {"0 0 ? * mon", 4, "day of month must be 1 to 31, not '?'; write * for any\n"},
        {"0 0 * * ?", 8, "day of week must be 0 to 7 or sun to sat, not '?'; write * for any\n"},
        {"0 0 L * *", 4, "not 'L'; L, W and # of other dialects are not known\n"},
        {"0 0 lw * *", 4, "not 'lw'; L, W and # of other dialects are not known\n"},
        {"0 0 * * Wedn", 8, "not 'Wedn'\n"},
        {"0 0 15W * *", 6, "not 'W'; L, W and # of other dialects are not known\n"},
        {"0 0 * * fri#2", 11, "not '#'; L, W and # of other dialects are not known\n"},
        {"@daily 1 2 3 4 5 6", 7, "nothing may follow, but there is '1'\n"},
    };
    for (const auto& entry : table) expect_refused(entry);
}

TEST(cron_parser, keeps_the_caret_in_place_after_bytes_that_do_not_print) {
    using namespace std::string_view_literals;
    EXPECT_TRUE(refusal("\0 * * * *"sv).ends_with("not '?'\n  ? * * * *\n  ^"));
    EXPECT_TRUE(refusal("*\t\xc3\xa9 * * *"sv).ends_with("not '?'\n  * ?? * * *\n    ^"));
    EXPECT_TRUE(
        refusal("* * * * *\n"sv).ends_with("not the end of a line\n  * * * * *?\n           ^"));
    EXPECT_TRUE(refusal("* * * * 1\0"sv).ends_with("not '?'\n  * * * * 1?\n           ^"));
}

TEST(cron_parser, shows_a_part_of_a_long_text) {
    std::string text = "0";
    while (text.size() < 300) text += ",10";
    const auto culprit = text.size() + 1;
    text += ",60,";
    while (text.size() < 500) text += "1,";
    EXPECT_TRUE(refusal(text).ends_with("\n  ..." + text.substr(culprit - 60, 100) + "...\n" +
                                        std::string(65, ' ') + "^"));
}

TEST(cron_parser, refuses_megabytes_with_a_short_message) {
    for (const std::string_view unit : {"*", "1,", " ", "@", "9", "\xff"}) {
        std::string text;
        while (text.size() < 4'000'000) text += unit;
        const auto message = refusal(text);
        EXPECT_NE(message.find("longer than 512 characters (4000000)"), std::string::npos);
        EXPECT_LT(message.size(), 400u);
    }
    EXPECT_LT(refusal(std::string(4'000'000, '\0')).size(), 400u);
}

TEST(cron_parser, takes_or_refuses_whatever_it_is_given) {
    constexpr std::string_view letters("0123456789 \t*/,-@abdefjlmnostuwy\0\xff", 35);
    std::mt19937 random(1);
    int taken = 0;
    for (int i = 0; i < 100'000; ++i) {
        std::string text = i % 2 == 0 ? "*/5 1-3 1,15 jan-mar mon" : "";
        for (auto changes = random() % 24; changes > 0; --changes)
            if (const char c = letters[random() % letters.size()]; i % 2 != 0)
                text += c;
            else if (changes < 4)
                text[random() % text.size()] = c;
        if (refusal(text).empty()) {
            ++taken;
            (void)cron_expression(text).next_after({});
        }
    }
    EXPECT_GT(taken, 0);
}

}  // namespace
}  // namespace cadre::testing
