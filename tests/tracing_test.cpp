// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <locale>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/held_task.hpp"
#include "support/scheduled_pools.hpp"
#include <cadre/testing.hpp>
#include <cadre/thread_pool_executor.hpp>
#include <cadre/tracing.hpp>

namespace cadre::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

std::string json_of(const task_tracer& tracer) {
    std::ostringstream out;
    tracer.write_json(out);
    return out.str();
}

int count(const std::string& text, const std::string& part) {
    int found = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
}

/// The value of a field of an event, which is a line: up to the next field.
std::string field(const std::string& event, const std::string& name) {
    const auto at = event.find('"' + name + "\":");
    if (at == std::string::npos) return {};
    const auto begin = at + name.size() + 3;
    return event.substr(begin, event.find_first_of(",}", begin) - begin);
}

/// What the arrows connect, as "slice -> slice", in a viewer that goes through the events by time,
/// those of one time in the order of the file, and binds an end of an arrow to the innermost slice
/// that is open on its thread. An end that finds none binds to "nothing".
std::vector<std::string> arrows(const std::string& json) {
    struct slice {
        std::string name;
        double end;
    };
    std::vector<std::string> events;
    std::istringstream lines(json);
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with("{\"ph\":") && !field(line, "ts").empty()) events.push_back(line);
    const auto time_of = [](const std::string& event) { return std::stod(field(event, "ts")); };
    std::ranges::stable_sort(events, {}, time_of);

    std::map<std::string, std::vector<slice>> open;  // by thread
    std::map<std::string, std::string> begun;        // by id of the arrow
    std::vector<std::string> found;
    for (const auto& event : events) {
        auto& stack = open[field(event, "tid")];
        const auto phase = field(event, "ph");
        const auto innermost = stack.empty() ? "nothing" : stack.back().name;
        if (phase == R"("B")" || phase == R"("X")") {
            std::erase_if(stack, [&](const slice& s) { return s.end <= time_of(event); });
            const double end = phase == R"("X")" ? time_of(event) + std::stod(field(event, "dur"))
                                                 : std::numeric_limits<double>::infinity();
            stack.push_back({field(event, "name"), end});
        } else if (phase == R"("E")") {
            stack.pop_back();
        } else if (phase == R"("s")") {
            begun[field(event, "id")] = innermost;
        } else if (phase == R"("f")") {
            found.push_back(begun[field(event, "id")] + " -> " + innermost);
        }
    }
    return found;
}

thread_pool_options traced(const task_tracer& tracer) {
    return {.core_pool_size = 1,
            .hooks = {.decorate_task = tracer.decorator("orders")},
            .name = "shop"};
}

TEST(tracing, shows_each_run_on_its_thread) {
    task_tracer tracer;
    {
        thread_pool_executor pool(traced(tracer));
        pool.submit(named("load \"a\"\n", [] {})).get();
        pool.execute([] {});
    }
    EXPECT_EQ(tracer.size(), 2u);
    const auto json = json_of(tracer);
    EXPECT_EQ(count(json, "\"ph\":\"X\""), 2) << json;
    EXPECT_EQ(count(json, "\"ph\":\"s\""), 2) << json;
    EXPECT_EQ(count(json, "\"ph\":\"f\""), 2) << json;
    EXPECT_THAT(json, HasSubstr(R"("name":"load \"a\"\u000a","cat":"orders")"));
    EXPECT_THAT(json, HasSubstr(R"("name":"task","cat":"orders")"));
    EXPECT_THAT(json, HasSubstr(R"("name":"thread_name","args":{"name":"shop-thread-1"})"));
    EXPECT_THAT(json, HasSubstr("\"waited_us\":"));
}

TEST(tracing, draws_an_arrow_from_each_submission_to_its_run) {
    task_tracer tracer;
    {
        thread_pool_executor pool(traced(tracer));
        pool.submit(named("outer", [&] { pool.execute(named("inner", [] {})); })).get();
    }
    EXPECT_THAT(arrows(json_of(tracer)), UnorderedElementsAre(R"("submit outer" -> "outer")",
                                                              R"("submit inner" -> "inner")"));
}

TEST(tracing, writes_names_that_every_reader_of_json_takes) {
    task_tracer tracer;
    {
        thread_pool_executor pool(traced(tracer));
        pool.execute(
            named(std::string(79, 'x') + "\u00fc", [] {}));  // cut within its last character
        pool.execute(named("a\xff\xed\xa0\x80\u20ac", [] {}));
    }
    const auto json = json_of(tracer);
    const std::string replaced = "\uFFFD";
    EXPECT_THAT(json, HasSubstr('"' + std::string(79, 'x') + replaced + '"'));
    EXPECT_THAT(json, HasSubstr("\"a" + replaced + replaced + replaced + replaced + "\u20ac\""));
}

TEST(tracing, records_tasks_that_throw_and_tasks_that_are_dropped) {
    task_tracer tracer;
    {
        auto options = traced(tracer);
        options.hooks.uncaught_exception = [](const auto&, const auto&) {};
        thread_pool_executor pool(std::move(options));
        pool.execute([] { throw std::out_of_range("no such page"); });
        const held_task occupies_the_worker(pool);
        pool.execute(named("dropped", [] {}));
        pool.shutdown_now();
    }
    const auto json = json_of(tracer);
    EXPECT_EQ(count(json, "\"ph\":\"X\""), 2) << json;
    EXPECT_EQ(count(json, "\"ph\":\"i\""), 1) << json;
    EXPECT_THAT(json, HasSubstr("\"dropped_after_us\":"));
}

TEST(tracing, keeps_the_latest_and_counts_the_others) {
    task_tracer tracer(3);
    {
        thread_pool_executor pool(traced(tracer));
        for (int i = 0; i < 10; ++i) pool.execute(named("task " + std::to_string(i), [] {}));
    }
    EXPECT_EQ(tracer.size(), 3u);
    EXPECT_EQ(tracer.dropped(), 7u);
    const auto json = json_of(tracer);
    EXPECT_THAT(json, HasSubstr("\"dropped\":7"));
    EXPECT_THAT(json, Not(HasSubstr("task 6")));
    EXPECT_LT(json.find("task 7"), json.find("task 8"));
    EXPECT_LT(json.find("task 8"), json.find("task 9"));
    tracer.clear();
    EXPECT_EQ(tracer.size(), 0u);
    EXPECT_EQ(tracer.dropped(), 0u);
    EXPECT_THROW(task_tracer(0), std::invalid_argument);
}

TEST(tracing, writes_numbers_without_the_manners_of_a_locale) {
    struct grouped : std::numpunct<char> {
        char do_thousands_sep() const override { return ','; }
        std::string do_grouping() const override { return "\3"; }
    };
    task_tracer tracer(1);
    {
        thread_pool_executor pool(traced(tracer));
        for (int i = 0; i < 1235; ++i) pool.execute([] {});
    }
    std::ostringstream out;
    out.imbue(std::locale(std::locale::classic(), new grouped));
    tracer.write_json(out);
    EXPECT_THAT(out.str(), HasSubstr("\"dropped\":1234}"));
}

TEST(tracing, shows_each_run_of_a_periodic_task) {
    task_tracer tracer;
    manual_clock clock;
    {
        scheduled_thread_pool_executor timers(
            {.core_pool_size = 1, .hooks = {.decorate_task = tracer.decorator()}, .clock = &clock});
        const auto beat = timers.schedule_at_fixed_rate([] {}, 1s, 1s);
        clock.advance(3s);
        timers.shutdown_now();
    }
    EXPECT_EQ(count(json_of(tracer), "\"ph\":\"X\""), 3);
}

TEST(tracing, may_end_before_the_pool) {
    std::optional<task_tracer> tracer(std::in_place);
    thread_pool_executor pool(traced(*tracer));
    tracer.reset();
    EXPECT_EQ(pool.submit([] { return 42; }).get(), 42);
}

}  // namespace
}  // namespace cadre::testing
