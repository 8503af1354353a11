// SPDX-License-Identifier: Apache-2.0
#include <cadre/manage/pool_registry.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/held_task.hpp"
#include "support/pools.hpp"
#include <cadre/errors.hpp>

#include "manage/registry_core.hpp"

namespace cadre::manage {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(pool_registry, finds_pools_of_all_kinds_by_name) {
    pool_registry registry;
    thread_pool_executor plain({.core_pool_size = 1});
    scheduled_thread_pool_executor timers({.core_pool_size = 1});
    const auto borrowed = registry.add("borrowed", plain);
    const auto borrowed_timers = registry.add("borrowed timers", timers);
    registry.add("owned", std::make_unique<thread_pool_executor>(thread_pool_options()));
    registry.add("owned timers",
                 std::make_unique<scheduled_thread_pool_executor>(scheduled_pool_options()));
    registry.create({.name = "made", .queue = queue_kind::synchronous});
    std::vector<std::string> names;
    for (const auto& pool : registry.pools()) names.push_back(pool->name());
    EXPECT_THAT(names, ElementsAre("borrowed", "borrowed timers", "made", "owned", "owned timers"));
    EXPECT_EQ(registry.at("owned")->executor()->submit([] { return 1; }).get(), 1);
    EXPECT_EQ(registry.at("owned timers")->scheduled_executor()->submit([] { return 2; }).get(), 2);
    EXPECT_EQ(registry.at("borrowed timers")->kind(), pool_kind::scheduled);
    EXPECT_EQ(registry.at("made")->queue_type(), "synchronous");
    EXPECT_EQ(registry.find("none"), nullptr);
    EXPECT_THROW(registry.at("none"), std::invalid_argument);
}

TEST(pool_registry, refuses_a_second_pool_of_that_name) {
    pool_registry registry;
    thread_pool_executor pool({.core_pool_size = 1});
    const auto first = registry.add("a", pool);
    EXPECT_THROW(static_cast<void>(registry.add("a", pool)), std::invalid_argument);
    EXPECT_THROW(registry.create({.name = "a"}), std::invalid_argument);
    EXPECT_THROW(registry.create({.name = ""}), std::invalid_argument);
    EXPECT_EQ(registry.pools().size(), 1u);
}

// Browsers and other clients take such a part of an address for a step, however it is written.
TEST(pool_registry, refuses_names_that_an_address_cannot_have) {
    pool_registry registry;
    for (const char* name : {"", ".", ".."})
        EXPECT_THROW(registry.create({.name = name}), std::invalid_argument) << name;
    EXPECT_NO_THROW(registry.create({.name = "..."}));
    EXPECT_EQ(registry.pools().size(), 1U);
}

TEST(pool_registry, makes_pools_as_specified) {
    pool_registry registry;
    const auto pool = registry.create({.name = "p",
                                       .queue = queue_kind::array,
                                       .settings = {.core_pool_size = 2,
                                                    .maximum_pool_size = 3,
                                                    .keep_alive = 5s,
                                                    .allow_core_thread_time_out = true,
                                                    .queue_capacity = 4,
                                                    .rejection = "discard",
                                                    .prestart_core_threads = true}});
    const auto settings = pool->settings();
    EXPECT_EQ(settings.core_pool_size, 2);
    EXPECT_EQ(settings.maximum_pool_size, 3);
    EXPECT_EQ(settings.keep_alive, 5s);
    EXPECT_EQ(settings.queue_capacity, 4u);
    EXPECT_EQ(settings.rejection, "discard");
    EXPECT_EQ(pool->executor()->pool_size(), 2);
    EXPECT_THROW(registry.create({.name = "x", .queue = queue_kind::array}), std::invalid_argument);
    EXPECT_THROW(registry.create({.name = "x", .settings = {.rejection = "x"}}),
                 std::invalid_argument);
    // What the kind cannot take is in the history, for create() has no report.
    registry.create(
        {.name = "s", .queue = queue_kind::synchronous, .settings = {.queue_capacity = 4}});
    EXPECT_EQ(registry.history().back().not_applied.at(0).field, "queue_capacity");
}

TEST(pool_registry, makes_pools_on_every_kind_of_queue) {
    pool_registry registry;
    for (const auto kind : {queue_kind::linked, queue_kind::array, queue_kind::synchronous,
                            queue_kind::priority, queue_kind::transfer, queue_kind::deque}) {
        const std::string name = to_text(kind);
        EXPECT_EQ(parse_queue_kind(name), kind);
        const auto pool =
            registry.create({.name = name, .queue = kind, .settings = {.queue_capacity = 7}});
        EXPECT_EQ(pool->queue_type(), name);
        EXPECT_EQ(pool->executor()->submit([] { return 1; }).get(), 1);
    }
    EXPECT_EQ(registry.at("deque")->settings().queue_capacity, 7U);
    EXPECT_THAT(registry.at("deque")->preview({.queue_capacity = 8}).not_applied.at(0).reason,
                HasSubstr("cannot be resized"));
    EXPECT_THAT(registry.at("transfer")->preview({.queue_capacity = 8}).not_applied.at(0).reason,
                HasSubstr("has no bound"));
}

TEST(pool_registry, knows_the_oldest_tasks_of_every_queue_that_holds_some) {
    pool_registry registry;
    for (const auto queue : {queue_kind::linked, queue_kind::array, queue_kind::priority,
                             queue_kind::transfer, queue_kind::deque}) {
        const auto pool = registry.create({.name = to_text(queue),
                                           .queue = queue,
                                           .settings = {.core_pool_size = 1, .queue_capacity = 9}});
        const testing::held_task held(*pool->executor());
        for (const char* name : {"first", "second", "third"})
            pool->executor()->execute(named(name, [] {}));
        const auto oldest = pool->oldest_tasks(2);
        ASSERT_EQ(oldest.size(), 2u) << pool->name();
        EXPECT_EQ(oldest[0].name, "first") << pool->name();
        EXPECT_GE(oldest[0].age, oldest[1].age) << pool->name();
    }
}

TEST(pool_registry, keeps_a_refusal_that_is_of_no_pool) {
    pool_registry registry;
    std::string told;
    const auto listening = registry.on_change([&](const auto& record) { told = record.error; });
    registry.note_refusal({.source = "file:pools.yaml", .source_revision = "7"}, "is empty");
    ASSERT_EQ(registry.history().size(), 1U);
    const auto record = registry.history()[0];
    EXPECT_EQ(record.kind, change_kind::refused);
    EXPECT_EQ(record.pool, "");
    EXPECT_EQ(record.origin.source_revision, "7");
    EXPECT_EQ(told, "is empty");
    EXPECT_EQ(registry.revision(), 0U);
}

TEST(pool_registry, lets_handles_outlive_the_pool) {
    std::shared_ptr<managed_pool> handle;
    pool_registry registry;
    {
        thread_pool_executor pool({.core_pool_size = 3});
        const auto registered = registry.add("p", pool);
        pool.submit([] {}).get();
        EXPECT_TRUE(testing::has_completed(pool, 1));
        handle = registered.pool();
    }
    EXPECT_FALSE(handle->is_registered());
    EXPECT_EQ(handle->snapshot().completed_task_count, 1);
    EXPECT_EQ(handle->settings().core_pool_size, 3);
    EXPECT_EQ(handle->executor(), nullptr);
    EXPECT_THROW(handle->reconfigure({.core_pool_size = 1}), illegal_state);
    EXPECT_EQ(registry.find("p"), nullptr);
}

TEST(pool_registry, waits_with_the_end_of_a_registration_for_those_who_use_the_pool) {
    pool_registry registry;
    for (int round = 0; round < 20; ++round) {
        std::atomic<bool> stop = false;
        std::shared_ptr<managed_pool> handle;
        std::vector<std::jthread> users;
        {
            thread_pool_executor pool({.core_pool_size = 1, .maximum_pool_size = 8});
            const auto registered = registry.add("p", pool);
            handle = registered.pool();
            for (int i = 0; i < 2; ++i)
                users.emplace_back([&, i] {
                    try {
                        while (!stop) {
                            handle->snapshot();
                            handle->reconfigure({.core_pool_size = 1 + i});
                        }
                    } catch (const illegal_state&) {}  // deregistered
                });
            ASSERT_TRUE(testing::eventually([&] { return handle->revision() > 1; }));
        }
        stop = true;
    }
}

TEST(pool_registry, closes_owned_pools_that_it_removes) {
    pool_registry registry;
    std::atomic<int> ran = 0;
    registry.create({.name = "p", .settings = {.core_pool_size = 1}});
    for (int i = 0; i < 10; ++i) registry.at("p")->executor()->execute([&] { ++ran; });
    EXPECT_TRUE(registry.remove("p"));
    EXPECT_EQ(ran, 10);
    EXPECT_FALSE(registry.remove("p"));
    // Somebody who still has the executor keeps it.
    registry.create({.name = "p", .settings = {.core_pool_size = 1}});
    const auto executor = registry.at("p")->executor();
    EXPECT_TRUE(registry.remove("p"));
    EXPECT_EQ(executor->submit([] { return 5; }).get(), 5);
}

TEST(pool_registry, closes_an_owned_pool_where_it_is_removed_not_where_it_is_used) {
    pool_registry registry;
    testing::gate go_on;
    std::atomic<int> threads = 0;
    const auto slow_factory = [&](std::function<void()> body) {
        if (++threads == 2) {
            EXPECT_TRUE(go_on.wait());
        }
        return default_thread_factory()(std::move(body));
    };
    std::atomic<bool> changed = false;
    std::atomic<bool> removed = false;
    const auto pool = registry.add(
        "p", std::make_unique<thread_pool_executor>(thread_pool_options{
                 .core_pool_size = 1, .maximum_pool_size = 2, .thread_factory = slow_factory}));
    testing::held_tasks held(*pool->executor(), 1);
    std::jthread changing([&] {
        pool->reconfigure({.core_pool_size = 2, .prestart_core_threads = true});
        changed = true;
    });
    ASSERT_TRUE(testing::eventually([&] { return threads == 2; }));
    std::jthread removing([&] {
        registry.remove("p");
        removed = true;
    });
    ASSERT_TRUE(testing::eventually([&] { return !pool->is_registered(); }));
    EXPECT_FALSE(removed);
    go_on.open();
    EXPECT_TRUE(testing::eventually([&] { return changed.load(); })) << "it waits for the tasks";
    EXPECT_FALSE(removed);
    held.let_go();
    EXPECT_TRUE(testing::eventually([&] { return removed.load(); }));
}

TEST(pool_registry, counts_the_threads_of_a_new_pool_when_it_enters) {
    const auto core = std::make_shared<detail::registry_core>(
        registry_options{.rails = {.max_threads_per_process = 100}});
    const auto made = [](const std::string& name) {
        return detail::managed_core::parts{.name = name,
                                           .pool = std::make_shared<thread_pool_executor>(
                                               thread_pool_options{.core_pool_size = 60})};
    };
    // Both were looked at before either was there, as when two threads create.
    core->check_room({.name = "a", .settings = {.core_pool_size = 60}});
    core->check_room({.name = "b", .settings = {.core_pool_size = 60}});
    core->enter_new(made("a"), {}, {});
    EXPECT_THROW(core->enter_new(made("b"), {}, {}), std::invalid_argument);
    EXPECT_EQ(core->pools().size(), 1U);
}

TEST(pool_registry, has_one_for_the_process) {
    EXPECT_EQ(&pool_registry::global(), &pool_registry::global());
}

TEST(change_history, remembers_who_changed_what) {
    pool_registry registry;
    const auto pool = registry.create({.name = "p", .settings = {.core_pool_size = 1}});
    pool->reconfigure(
        {.maximum_pool_size = 4},
        {.source = "http", .source_revision = "r7", .author = "ann", .comment = "sale"});
    pool->reconfigure({.maximum_pool_size = 4});  // changes nothing, so no record
    EXPECT_THROW(pool->reconfigure({.maximum_pool_size = -4}, {.author = "bob"}),
                 std::invalid_argument);
    const auto history = registry.history();
    ASSERT_EQ(history.size(), 3u);
    EXPECT_EQ(history[0].kind, change_kind::registered);
    EXPECT_EQ(history[1].revision, 2u);
    EXPECT_EQ(history[1].origin.author, "ann");
    EXPECT_THAT(history[1].changes, ElementsAre(field_change{"maximum_pool_size", "1", "4"}));
    EXPECT_EQ(history[2].kind, change_kind::refused);
    EXPECT_THAT(history[2].error, HasSubstr("maximum_pool_size (-4)"));
    EXPECT_EQ(registry.revision(), 2u);
}

TEST(change_history, goes_back_to_any_revision_by_a_new_one) {
    pool_registry registry;
    const auto pool = registry.create({.name = "p", .settings = {.core_pool_size = 1}});
    for (const int size : {2, 3, 4})
        pool->reconfigure(
            {.core_pool_size = size, .maximum_pool_size = size, .keep_alive = 1s * size});
    registry.set_rails({.max_step = 1});
    const auto report = registry.rollback(2, {.author = "ann"});
    EXPECT_EQ(report.revision, 5u);
    EXPECT_EQ(pool->settings().core_pool_size, 2);
    EXPECT_EQ(pool->settings().keep_alive, 2s);
    EXPECT_EQ(registry.history().back().kind, change_kind::rolled_back);
    pool->rollback(1);
    EXPECT_EQ(pool->settings().core_pool_size, 1);
    EXPECT_THROW(registry.rollback(99), std::invalid_argument);
    registry.create({.name = "q", .settings = {.core_pool_size = 1}});
    EXPECT_THROW(pool->rollback(registry.revision()), std::invalid_argument);  // of q
}

TEST(change_history, keeps_the_last_records) {
    pool_registry registry({.history_size = 2});
    const auto pool = registry.create({.name = "p", .settings = {.core_pool_size = 1}});
    for (const int size : {2, 3, 4}) pool->reconfigure({.maximum_pool_size = size});
    EXPECT_EQ(registry.history().size(), 2u);
    EXPECT_EQ(registry.history().front().revision, 3u);
    EXPECT_THROW(registry.rollback(1), std::invalid_argument);
}

TEST(change_history, does_not_lose_revisions_to_refusals) {
    pool_registry registry({.history_size = 2});
    const auto pool = registry.create({.name = "p", .settings = {.core_pool_size = 1}});
    pool->reconfigure({.maximum_pool_size = 2});
    for (int i = 0; i < 5; ++i) {
        EXPECT_THROW(pool->reconfigure({.core_pool_size = -1}), std::invalid_argument);
        registry.note_refusal({}, "a mistake");
    }
    EXPECT_EQ(registry.history().size(), 4u);  // and the last two refusals
    EXPECT_EQ(pool->rollback(1).after.maximum_pool_size, 1);
}

TEST(change_history, is_appended_to_a_file) {
    const auto path = std::filesystem::temp_directory_path() /
                      ("cadre-changes-" + std::to_string(::getpid()) + ".jsonl");
    std::filesystem::remove(path);
    for (int run = 0; run < 2; ++run) {
        pool_registry registry({.change_log = path});
        const auto pool = registry.create({.name = "p", .settings = {.core_pool_size = 1}});
        pool->reconfigure({.maximum_pool_size = 4}, {.author = "ann \"\xff\n"});
    }
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    ASSERT_EQ(lines.size(), 6u);
    EXPECT_THAT(lines[1], HasSubstr("\"kind\":\"changed\",\"pool\":\"p\""));
    EXPECT_THAT(lines[1], HasSubstr("ann \\\""));
    EXPECT_THAT(lines[1], HasSubstr("\"before\":\"1\",\"after\":\"4\""));
    EXPECT_THAT(lines[5], HasSubstr("removed"));
    std::filesystem::remove(path);
    EXPECT_THROW(pool_registry({.change_log = "/nonexistent/x"}), std::system_error);
}

TEST(change_history, begins_a_log_anew_that_was_moved_away) {
    const auto path = std::filesystem::temp_directory_path() /
                      ("cadre-rotated-" + std::to_string(::getpid()) + ".jsonl");
    const auto moved = std::filesystem::path(path.string() + ".1");
    const auto lines_of = [](const std::filesystem::path& file) {
        std::ifstream in(file);
        std::size_t lines = 0;
        for (std::string line; std::getline(in, line);) ++lines;
        return lines;
    };
    std::filesystem::remove(path);
    {
        pool_registry registry({.change_log = path});
        const auto pool = registry.create({.name = "p", .settings = {.core_pool_size = 1}});
        std::filesystem::rename(path, moved);
        EXPECT_TRUE(pool->reconfigure({.maximum_pool_size = 2}).warnings.empty());
        EXPECT_TRUE(pool->reconfigure({.maximum_pool_size = 3}).warnings.empty());
        EXPECT_EQ(lines_of(moved), 1u);
        EXPECT_EQ(lines_of(path), 2u);
        std::filesystem::remove(path);
        std::filesystem::create_directory(path);  // so that no file can be made there
        EXPECT_THAT(pool->reconfigure({.maximum_pool_size = 4}).warnings.at(0),
                    HasSubstr("was not written"));
        std::filesystem::remove(path);
        EXPECT_TRUE(pool->reconfigure({.maximum_pool_size = 5}).warnings.empty());
        EXPECT_EQ(lines_of(path), 1u);
    }
    std::filesystem::remove(path);
    std::filesystem::remove(moved);
}

TEST(change_history, warns_of_a_log_that_cannot_be_written) {
    pool_registry registry({.change_log = "/dev/full"});
    const auto pool = registry.create({.name = "p", .settings = {.core_pool_size = 1}});
    EXPECT_THAT(registry.history().at(0).warnings.at(0), HasSubstr("was not written"));
    const auto report = pool->reconfigure({.maximum_pool_size = 2});
    EXPECT_EQ(report.changes.size(), 1u) << "the change itself is done";
    EXPECT_THAT(report.warnings.at(0), HasSubstr("change_log (/dev/full) was not written"));
}

TEST(change_history, tells_listeners_under_no_lock) {
    pool_registry registry;
    std::vector<std::string> told;
    auto listening = registry.on_change([&](const change_record& record) {
        told.push_back(to_text(record.kind) + std::string(" ") + record.pool);
        if (record.pool == "a" && !registry.find("b"))
            registry.create({.name = "b", .settings = {.core_pool_size = 1}});
        throw std::runtime_error("is dropped");
    });
    registry.create({.name = "a", .settings = {.core_pool_size = 1}});
    registry.remove("a");
    listening.reset();
    registry.remove("b");
    EXPECT_THAT(told, ElementsAre("registered a", "registered b", "removed a"));
}

}  // namespace
}  // namespace cadre::manage
