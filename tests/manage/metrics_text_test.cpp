// SPDX-License-Identifier: Apache-2.0
#include <cadre/manage/metrics_text.hpp>

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/attended_queue.hpp"
#include "support/eventually.hpp"
#include "support/held_task.hpp"
#include "support/pools.hpp"
#include <cadre/manage/metrics_log.hpp>
#include <cadre/manage/pool_registry.hpp>

namespace cadre::manage {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using testing::eventually;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(metrics_text, writes_what_prometheus_reads) {
    pool_registry registry;
    const auto pool = registry.create(
        {.name = "or\"ders", .settings = {.core_pool_size = 2, .queue_capacity = 7}});
    pool->executor()->submit(named("load", [] {})).wait();
    ASSERT_TRUE(eventually([&] { return pool->snapshot().completed_task_count == 1; }));
    const auto text = prometheus_text(registry);
    EXPECT_THAT(text, HasSubstr("# TYPE cadre_pool_completed_total counter"));
    EXPECT_THAT(text, HasSubstr("cadre_pool_completed_total{pool=\"or\\\"ders\"} 1"));
    EXPECT_THAT(text, HasSubstr("cadre_pool_queue_capacity{pool=\"or\\\"ders\"} 7"));
    EXPECT_THAT(text,
                HasSubstr("cadre_task_run_seconds_bucket{pool=\"or\\\"ders\",le=\"+Inf\"} 1"));
    EXPECT_THAT(
        text, HasSubstr("cadre_named_task_run_seconds_count{pool=\"or\\\"ders\",task=\"load\"} 1"));
    EXPECT_THAT(text, Not(HasSubstr("thread_pool_core_size")));
    EXPECT_THAT(
        prometheus_text(registry, {.dynamictp_names = true, .application = "shop"}),
        AllOf(HasSubstr("thread_pool_core_size{app_name=\"shop\",thread_pool_name=\"or\\\"ders\","
                        "thread_pool_alias=\"or\\\"ders\"} 2"),
              HasSubstr("thread_pool_tps{")));
    EXPECT_THAT(metrics_json(registry), HasSubstr("\"tasks\":[{\"name\":\"load\",\"completed\":1"));
    EXPECT_EQ(metrics_json_lines(registry).back(), '\n');
}

TEST(metrics_text, keeps_a_name_that_is_not_utf_8_from_spoiling_the_page) {
    pool_registry registry;
    const auto pool = registry.create({.name = "p\xc3\xa9"});
    for (const auto* name : {"cut \xc3", "cut \xe2\x82", "whole \xc3\xa9"})
        pool->executor()->submit(named(name, [] {})).wait();
    ASSERT_TRUE(testing::has_completed(*pool->executor(), 3));
    const auto text = prometheus_text(registry);
    for (const auto* task : {"cut \\\\xc3", "cut \\\\xe2\\\\x82", "whole \xc3\xa9"})
        EXPECT_THAT(text, HasSubstr(std::string("{pool=\"p\xc3\xa9\",task=\"") + task + "\"} 1\n"));
}

TEST(metrics_text, counts_what_was_submitted_with_what_was_rejected) {
    pool_registry registry;
    const auto pool = registry.create(
        {.name = "p",
         .settings = {.core_pool_size = 1, .maximum_pool_size = 1, .queue_capacity = 1}});
    testing::held_task held(*pool->executor());
    pool->executor()->execute([] {});
    EXPECT_THROW(pool->executor()->execute([] {}), rejected_execution);
    EXPECT_THAT(prometheus_text(registry),
                AllOf(HasSubstr("# TYPE cadre_pool_submitted_total counter"),
                      HasSubstr("cadre_pool_submitted_total{pool=\"p\"} 3\n"),
                      HasSubstr("cadre_pool_rejected_total{pool=\"p\"} 1\n")));
    EXPECT_THAT(metrics_json(*pool),
                AllOf(HasSubstr("\"submitted\":3"), HasSubstr("\"submitted_task_count\":3")));
}

TEST(metrics_text, shows_how_many_tasks_fit_into_queues_of_any_kind) {
    pool_registry registry;
    const auto both = [&](const std::string& pool, const std::string& ours,
                          const std::string& theirs) {
        return AllOf(HasSubstr("cadre_pool_queue_capacity{pool=\"" + pool + "\"} " + ours + "\n"),
                     HasSubstr("thread_pool_queue_capacity{app_name=\"\",thread_pool_name=\"" +
                               pool + "\",thread_pool_alias=\"" + pool + "\"} " + theirs + "\n"));
    };
    registry.create({.name = "linked", .settings = {.queue_capacity = 7}});
    registry.create({.name = "endless"});
    registry.create({.name = "deque", .queue = queue_kind::deque});
    registry.create({.name = "synchronous", .queue = queue_kind::synchronous});
    thread_pool_executor pool(
        {.core_pool_size = 1,
         .queue = std::make_unique<testing::attended_queue<array_blocking_queue<task>>>(3)});
    testing::held_task held(pool);
    pool.execute([] {});
    const auto own = registry.add("own", pool);
    const auto text = prometheus_text(registry, {.dynamictp_names = true});
    EXPECT_THAT(text, both("linked", "7", "7"));
    EXPECT_THAT(text, both("endless", "+Inf", "2147483647"));
    EXPECT_THAT(text, both("deque", "+Inf", "2147483647"));
    EXPECT_THAT(text, both("synchronous", "0", "0"));
    EXPECT_THAT(text, both("own", "3", "3"));
}

TEST(metrics_text, tells_the_memory_of_the_process_once) {
    pool_registry registry;
    registry.create({.name = "a"});
    registry.create({.name = "b"});
    const auto text = prometheus_text(registry);
    const auto at = text.find("\ncadre_process_resident_memory_bytes ");
    EXPECT_NE(at, std::string::npos);
    EXPECT_EQ(text.find("\ncadre_process_resident_memory_bytes", at + 1), std::string::npos);
    EXPECT_THAT(metrics_json_lines(registry), HasSubstr("\"process\":{\"resident_memory_bytes\":"));
}

TEST(metrics_text, shows_the_threads_that_a_scheduled_pool_may_have) {
    pool_registry registry;
    registry.create(
        {.name = "jobs", .kind = pool_kind::scheduled, .settings = {.core_pool_size = 2}});
    EXPECT_THAT(prometheus_text(registry, {.dynamictp_names = true}),
                AllOf(HasSubstr("cadre_pool_maximum_threads{pool=\"jobs\"} 2\n"),
                      HasSubstr("thread_pool_alias=\"jobs\"} 2\n")));
}

TEST(metrics_text, tells_how_sources_of_configuration_fare) {
    pool_registry registry;
    std::vector<std::unique_ptr<config_source>> sources;
    sources.push_back(embedded_source("pools: {p: {core_pool_size: 1}}", document_format::yaml));
    sources.push_back(embedded_source("pools: [", document_format::yaml, "broken"));
    // Both are decided on together: one that comes later has the other refused once more.
    config_manager config(registry, std::move(sources), {.start_wait = testing::guard});
    config.start();
    // A source counts a document when the manager has taken it.
    const auto taken = [&] { return prometheus_text(registry, {.config = &config}); };
    EXPECT_TRUE(testing::eventually([&] {
        return taken().find("documents_total{source=\"embedded\"} 1\n") != std::string::npos;
    }));
    EXPECT_THAT(
        taken(),
        AllOf(HasSubstr("cadre_config_source_up{source=\"embedded\"} 1\n"),
              HasSubstr("cadre_config_source_failures{source=\"embedded\"} 0\n"),
              HasSubstr("cadre_config_source_documents_total{source=\"embedded\"} 1\n"),
              HasSubstr("cadre_config_source_last_success_timestamp_seconds{source="),
              HasSubstr("cadre_config_source_refused{source=\"broken\"} 1\n"),
              HasSubstr("cadre_config_refused_total 1\n"), HasSubstr("cadre_config_age_seconds ")));
    EXPECT_THAT(prometheus_text(registry), Not(HasSubstr("cadre_config_source")));
}

TEST(metrics_log, appends_a_line_for_each_pool) {
    std::string name = (std::filesystem::temp_directory_path() / "cadre_log_XXXXXX").string();
    const std::filesystem::path directory = mkdtemp(name.data());
    const auto path = directory / "pools.jsonl";
    pool_registry registry;
    registry.create({.name = "a"});
    registry.create({.name = "b"});
    {
        metrics_log log(registry, {.path = path, .interval = 1h});
        log.write();
        std::filesystem::rename(path, directory / "old");  // as log rotation does
        log.write();
        EXPECT_EQ(log.last_error(), "");
    }
    std::ifstream written(path);
    std::string line;
    int lines = 0;
    while (std::getline(written, line)) {
        EXPECT_THAT(line, HasSubstr(lines % 2 == 0 ? "\"pool\":\"a\"" : "\"pool\":\"b\""));
        ++lines;
    }
    EXPECT_EQ(lines, 4);  // the end writes once more
    EXPECT_THROW(metrics_log(registry, {.path = {}}), std::invalid_argument);
    std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace cadre::manage
