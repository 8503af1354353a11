// SPDX-License-Identifier: Apache-2.0
#include <cadre/manage/pool_registry.hpp>

#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/held_task.hpp"
#include "support/pools.hpp"
#include <cadre/errors.hpp>
#include <cadre/manage/rejection_policies.hpp>
#include <cadre/manage/settings_text.hpp>

namespace cadre::manage {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::message_of;

pool_spec spec_of(int core, int maximum) {
    return {
        .name = "orders",
        .settings = {.core_pool_size = core, .maximum_pool_size = maximum, .queue_capacity = 10}};
}

template <class Call>
std::string refusal_of(Call call) {
    return message_of<std::invalid_argument>(call);
}

TEST(reconfigure, changes_everything_together_and_reports_it) {
    pool_registry registry;
    const auto pool = registry.create(spec_of(1, 2));
    const auto report = pool->reconfigure({.core_pool_size = 3,
                                           .maximum_pool_size = 5,
                                           .keep_alive = 7s,
                                           .allow_core_thread_time_out = true,
                                           .queue_capacity = 20,
                                           .rejection = "caller_runs",
                                           .thread_name_prefix = "o",
                                           .prestart_core_threads = true});
    EXPECT_EQ(report.after, pool->settings());
    EXPECT_THAT(report.not_applied, IsEmpty());
    EXPECT_THAT(report.changes,
                ElementsAre(field_change{"core_pool_size", "1", "3"},
                            field_change{"maximum_pool_size", "2", "5"},
                            field_change{"keep_alive", "1m", "7s"},
                            field_change{"allow_core_thread_time_out", "false", "true"},
                            field_change{"queue_capacity", "10", "20"},
                            field_change{"rejection", "abort", "caller_runs"},
                            field_change{"thread_name_prefix", "orders", "o"},
                            field_change{"prestart_core_threads", "false", "true"}));
    const auto executor = pool->executor();
    EXPECT_EQ(executor->pool_size(), 3);
    EXPECT_EQ(executor->queue().remaining_capacity(), 20u);
    EXPECT_EQ(executor->submit([] { return thread_handle::current().name().substr(0, 2); }).get(),
              "o-");
}

TEST(reconfigure, resizes_in_every_direction) {
    struct sizes {
        int core, maximum;
    };
    for (const auto to : {sizes{6, 8}, sizes{1, 2}, sizes{1, 8}, sizes{3, 3}, sizes{9, 20},
                          sizes{0, 1}, sizes{4, 4}, sizes{2, 6}}) {
        pool_registry registry;
        const auto pool = registry.create(spec_of(3, 4));
        pool->reconfigure({.core_pool_size = to.core, .maximum_pool_size = to.maximum});
        EXPECT_EQ(pool->snapshot().core_pool_size, to.core);
        EXPECT_EQ(pool->snapshot().maximum_pool_size, to.maximum);
    }
}

TEST(reconfigure, starts_threads_for_what_is_queued) {
    pool_registry registry;
    const auto pool = registry.create(spec_of(1, 1));
    testing::held_tasks held(*pool->executor(), 3);
    ASSERT_TRUE(held.have_started(1));
    pool->reconfigure({.core_pool_size = 3, .maximum_pool_size = 3});
    EXPECT_TRUE(held.have_started(3));
}

TEST(reconfigure, shrinks_a_queue_below_its_size_without_dropping) {
    pool_registry registry;
    const auto pool = registry.create(spec_of(1, 1));
    const auto executor = pool->executor();
    testing::held_tasks held(*executor, 6);
    ASSERT_TRUE(held.have_started(1));
    pool->reconfigure({.queue_capacity = 2});
    EXPECT_EQ(pool->snapshot().queue_size, 5u);
    EXPECT_EQ(pool->snapshot().queue_remaining_capacity, 0u);
    EXPECT_THROW(executor->execute([] {}), rejected_execution);
    held.let_go();
    EXPECT_TRUE(testing::has_completed(*executor, 6));
}

TEST(reconfigure, refuses_what_cannot_be_and_changes_nothing) {
    pool_registry registry;
    const auto pool = registry.create(spec_of(2, 4));
    const auto before = pool->settings();
    const auto refused = [&](const pool_settings& wished) {
        const auto by_preview = refusal_of([&] { pool->preview(wished); });
        EXPECT_EQ(refusal_of([&] { pool->reconfigure(wished); }), by_preview);
        EXPECT_EQ(pool->settings(), before);
        return by_preview;
    };
    EXPECT_EQ(refused({.core_pool_size = 9, .queue_capacity = 99}),
              "pool 'orders': maximum_pool_size (4) is below core_pool_size (9)");
    EXPECT_THAT(refused({.core_pool_size = -1}), HasSubstr("core_pool_size (-1) is negative"));
    EXPECT_THAT(refused({.maximum_pool_size = 0}), HasSubstr("(0) is not positive"));
    EXPECT_THAT(refused({.keep_alive = -1ns}), HasSubstr("keep_alive (-1ns) is negative"));
    EXPECT_THAT(refused({.keep_alive = 0ns, .allow_core_thread_time_out = true}),
                HasSubstr("must not be zero"));
    EXPECT_THAT(refused({.core_pool_size = 3, .queue_capacity = 0}), HasSubstr("at least 1"));
    EXPECT_THAT(refused({.queue_capacity = 1ull << 40}), HasSubstr("is above"));
    EXPECT_THAT(refused({.core_pool_size = 3, .rejection = "no_such"}),
                AllOf(HasSubstr("rejection (no_such)"), HasSubstr("caller_runs")));
    EXPECT_THAT(refused({.rejection = "custom"}), HasSubstr("policy of its own"));
    EXPECT_THAT(refused({.thread_name_prefix = ""}), HasSubstr("is empty"));
    EXPECT_THAT(refused({.run_timeout = -1s}), HasSubstr("run_timeout (-1s) is negative"));
}

TEST(reconfigure, reports_what_the_kind_of_pool_cannot_take) {
    pool_registry registry;
    thread_pool_executor array({.core_pool_size = 1, .queue = testing::room_for(5)});
    const auto borrowed = registry.add("array", array);
    const auto report = borrowed->reconfigure({.core_pool_size = 0, .queue_capacity = 9});
    EXPECT_THAT(report.changes, ElementsAre(field_change{"core_pool_size", "1", "0"}));
    ASSERT_EQ(report.not_applied.size(), 1u);
    EXPECT_EQ(report.not_applied[0].effective, "5");
    EXPECT_THAT(report.not_applied[0].reason, HasSubstr("cannot be resized"));

    const auto timers = registry.create({.name = "timers", .kind = pool_kind::scheduled});
    const auto of_timers = timers->reconfigure(
        {.core_pool_size = 3, .maximum_pool_size = 9, .keep_alive = 1s, .queue_capacity = 9});
    EXPECT_EQ(timers->settings().core_pool_size, 3);
    EXPECT_EQ(timers->settings().maximum_pool_size, 3);
    EXPECT_EQ(timers->settings().keep_alive, 1s);
    ASSERT_EQ(of_timers.not_applied.size(), 2u);
    EXPECT_THAT(of_timers.not_applied[0].reason, HasSubstr("scheduled pool"));
    EXPECT_EQ(of_timers.not_applied[1].effective, "unbounded");
}

TEST(reconfigure, says_of_a_scheduled_pool_the_maximum_that_it_gets) {
    pool_registry registry;
    const auto timers = registry.create(
        {.name = "timers", .kind = pool_kind::scheduled, .settings = {.core_pool_size = 2}});
    const auto two = timers->revision();
    const auto more = timers->reconfigure({.core_pool_size = 3, .maximum_pool_size = 9});
    ASSERT_EQ(more.not_applied.size(), 1u);
    EXPECT_EQ(more.not_applied[0].effective, "3");
    const auto back = timers->rollback(two);
    EXPECT_TRUE(back.not_applied.empty());
    EXPECT_EQ(back.after.maximum_pool_size, 2);
}

TEST(reconfigure, lets_a_scheduled_pool_have_no_core) {
    pool_registry registry;
    const auto timers = registry.create(
        {.name = "timers", .kind = pool_kind::scheduled, .settings = {.core_pool_size = 2}});
    timers->reconfigure({.core_pool_size = 0});
    EXPECT_EQ(timers->settings().core_pool_size, 0);
    EXPECT_EQ(timers->settings().maximum_pool_size, 1);
}

TEST(reconfigure, lets_a_pool_shrink_that_has_more_threads_than_all_may_have) {
    pool_registry registry({.rails = {.max_threads_per_process = 10, .max_step = 8}});
    const auto pool = registry.create(spec_of(2, 4));
    EXPECT_NO_THROW(pool->reconfigure({.maximum_pool_size = 10})) << "6 is not above 8";
    pool->executor()->set_maximum_pool_size(50);  // past the registry
    EXPECT_NO_THROW(pool->reconfigure({.maximum_pool_size = 42})) << "8 is not above 8";
    EXPECT_NO_THROW(pool->reconfigure({.maximum_pool_size = 40}));
    EXPECT_THROW(pool->reconfigure({.maximum_pool_size = 41}), std::invalid_argument);
    EXPECT_EQ(pool->settings().maximum_pool_size, 40);
}

TEST(reconfigure, knows_the_policy_that_was_set_past_the_registry) {
    pool_registry registry;
    int told = 0;
    thread_pool_executor pool({.core_pool_size = 1, .rejection = [](task, auto&) {}});
    const auto handle = registry.add("p", pool);
    pool.set_rejected_execution_handler([&](task, auto&) { ++told; });
    handle->reconfigure({.rejection = "abort"});
    handle->reconfigure({.rejection = "custom"});
    pool.shutdown();
    pool.execute([] {});
    EXPECT_EQ(told, 1);
}

TEST(reconfigure, rolls_back_to_no_refusal) {
    pool_registry registry;
    const auto pool = registry.create(spec_of(2, 4));
    EXPECT_THROW(pool->reconfigure({.core_pool_size = -1}), std::invalid_argument);
    EXPECT_EQ(registry.history().back().revision, 0u);
    EXPECT_THAT(testing::message_of<std::invalid_argument>([&] { pool->rollback(0); }),
                HasSubstr("is not in the history"));
}

TEST(reconfigure, previews_without_touching) {
    pool_registry registry;
    const auto pool = registry.create(spec_of(2, 4));
    const auto before = pool->settings();
    const auto preview = pool->preview({.core_pool_size = 3});
    EXPECT_EQ(pool->settings(), before);
    EXPECT_EQ(pool->revision(), preview.revision);
    EXPECT_EQ(pool->reconfigure({.core_pool_size = 3}).changes, preview.changes);
}

TEST(reconfigure, keeps_the_guard_rails) {
    pool_registry registry({.rails = {.max_threads_per_pool = 10, .max_threads_per_process = 15}});
    const auto pool = registry.create(spec_of(2, 4));
    const auto other = registry.create({.name = "b", .settings = {.core_pool_size = 4}});
    EXPECT_EQ(refusal_of([&] { pool->reconfigure({.maximum_pool_size = 11}); }),
              "pool 'orders': maximum_pool_size (11) is above max_threads_per_pool (10)");
    pool->reconfigure({.maximum_pool_size = 10});
    EXPECT_THAT(refusal_of([&] { other->reconfigure({.maximum_pool_size = 6}); }),
                HasSubstr("(16) is above max_threads_per_process (15)"));
    EXPECT_THAT(
        refusal_of([&] { registry.create({.name = "c", .settings = {.core_pool_size = 2}}); }),
        HasSubstr("max_threads_per_process"));
    // Together they may swap.
    registry.reconfigure({{"b", {.maximum_pool_size = 10}}, {"orders", {.maximum_pool_size = 5}}});
    EXPECT_EQ(other->snapshot().maximum_pool_size, 10);
    registry.set_rails({.max_step = 2});
    EXPECT_THAT(refusal_of([&] { pool->reconfigure({.maximum_pool_size = 8}); }),
                HasSubstr("3 away from 5, and max_step is 2"));
    registry.set_rails({.max_threads_per_pool = 1});
    pool->reconfigure({.maximum_pool_size = 3});  // towards the rails is no offence
}

TEST(reconfigure, changes_several_pools_or_none) {
    pool_registry registry;
    const auto a = registry.create({.name = "a", .settings = {.core_pool_size = 1}});
    const auto b = registry.create({.name = "b", .settings = {.core_pool_size = 1}});
    const auto both = [&](int of_b) {
        return std::vector<pool_change>{{"a", {.core_pool_size = 2, .maximum_pool_size = 2}},
                                        {"b", {.core_pool_size = of_b, .maximum_pool_size = 2}}};
    };
    EXPECT_THAT(refusal_of([&] { registry.reconfigure(both(3)); }), HasSubstr("pool 'b'"));
    EXPECT_EQ(a->snapshot().core_pool_size, 1);
    EXPECT_EQ(registry.reconfigure(both(2)).size(), 2u);
    EXPECT_EQ(a->snapshot().core_pool_size, 2);
    EXPECT_EQ(b->snapshot().core_pool_size, 2);
    EXPECT_THAT(refusal_of([&] {
                    registry.reconfigure({{"a", {}}, {"a", {}}});
                }),
                HasSubstr("twice"));
    EXPECT_THAT(refusal_of([&] {
                    static_cast<void>(registry.preview({{"a", {}}, {"a", {}}}));
                }),
                HasSubstr("twice"));
}

TEST(reconfigure, keeps_the_factory_and_the_policy_that_the_pool_came_with) {
    const testing::counting_factory factory;
    std::atomic<int> told = 0;
    thread_pool_executor pool({.core_pool_size = 1,
                               .queue = testing::room_for(1),
                               .thread_factory = factory,
                               .rejection = [&](task, thread_pool_executor&) { ++told; }});
    pool_registry registry;
    const auto handle = registry.add("p", pool);
    EXPECT_EQ(handle->settings().rejection, "custom");
    EXPECT_EQ(handle->settings().thread_name_prefix, std::nullopt);
    handle->reconfigure({.rejection = "abort", .thread_name_prefix = "x"});
    handle->reconfigure({.thread_name_prefix = "y"});
    EXPECT_EQ(pool.submit([] { return thread_handle::current().name(); }).get(), "y-1");
    EXPECT_EQ(factory.asked(), 1);
    handle->rollback(1);
    EXPECT_EQ(handle->settings().rejection, "custom");
    EXPECT_EQ(handle->settings().thread_name_prefix, std::nullopt);
    const testing::held_task held(pool);
    for (int i = 0; i < 2; ++i) pool.execute([] {});
    EXPECT_EQ(told, 1);
}

TEST(reconfigure, warns_of_threads_that_cannot_be_started) {
    thread_pool_executor pool({.core_pool_size = 0,
                               .maximum_pool_size = 1,
                               .thread_factory = [](std::function<void()>) -> thread {
                                   throw std::runtime_error("none");
                               }});
    pool_registry registry;
    const auto handle = registry.add("p", pool);
    const auto report = handle->reconfigure({.core_pool_size = 1, .prestart_core_threads = true});
    EXPECT_THAT(report.warnings, ElementsAre(HasSubstr("none")));
    EXPECT_EQ(handle->settings().core_pool_size, 1);
}

TEST(reconfigure, refuses_a_change_from_inside_a_change) {
    pool_registry registry;
    registration handle;
    std::string refused;
    thread_pool_executor pool({.core_pool_size = 0,
                               .maximum_pool_size = 1,
                               .thread_factory = [&](std::function<void()> body) {
                                   refused = message_of<illegal_state>(
                                       [&] { handle->reconfigure({.core_pool_size = 0}); });
                                   return thread(std::move(body));
                               }});
    handle = registry.add("p", pool);
    handle->reconfigure({.core_pool_size = 1, .prestart_core_threads = true});
    EXPECT_THAT(refused, HasSubstr("inside the change"));
    handle.reset();
}

TEST(reconfigure, refuses_who_looked_at_an_older_revision) {
    pool_registry registry;
    const auto pool = registry.create(spec_of(1, 4));
    const auto seen = pool->revision();
    pool->reconfigure({.core_pool_size = 2}, {.only_if_revision = seen});
    EXPECT_THROW(pool->reconfigure({.core_pool_size = 3}, {.only_if_revision = seen}),
                 illegal_state);
    EXPECT_EQ(pool->settings().core_pool_size, 2);
}

TEST(rejection_policies, are_known_by_name) {
    std::atomic<int> told = 0;
    rejection_policies::add("count", [&](task, thread_pool_executor&) { ++told; });
    EXPECT_THROW(rejection_policies::add("count", abort_policy{}), std::invalid_argument);
    EXPECT_THROW(rejection_policies::add("abort", abort_policy{}), std::invalid_argument);
    pool_registry registry;
    const auto pool = registry.create(spec_of(1, 1));
    for (const std::string name :
         {"caller_runs", "discard", "discard_oldest", "block", "block(500ms)", "count", "abort"}) {
        pool->reconfigure({.rejection = name});
        EXPECT_EQ(pool->settings().rejection, name);
    }
    EXPECT_TRUE(rejection_policies::remove("count"));
    EXPECT_FALSE(rejection_policies::remove("count"));
}

TEST(settings_text, reads_what_it_writes) {
    pool_settings all{.core_pool_size = 1,
                      .maximum_pool_size = 2,
                      .keep_alive = 90s,
                      .allow_core_thread_time_out = true,
                      .queue_capacity = unbounded,
                      .rejection = "block",
                      .thread_name_prefix = "x",
                      .prestart_core_threads = false,
                      .run_timeout = 5ms,
                      .queue_timeout = 0ns,
                      .interrupt_on_run_timeout = true};
    pool_settings read;
    for (const auto& field : field_names()) set_field(read, field, field_text(all, field));
    EXPECT_EQ(read, all);
    EXPECT_EQ(merged({.core_pool_size = 7}, all).core_pool_size, 7);
    EXPECT_EQ(merged({.core_pool_size = 7}, all).maximum_pool_size, 2);
    EXPECT_THROW(set_field(read, "core_pool_size", "1.5"), std::invalid_argument);
    EXPECT_THROW(set_field(read, "keep_alive", "60"), std::invalid_argument);
    const auto refusal_of = [&](const char* field, const char* text) -> std::string {
        try {
            set_field(read, field, text);
            return "was accepted";
        } catch (const std::invalid_argument& refused) {
            return refused.what();
        }
    };
    EXPECT_EQ(refusal_of("core_pool_size", "99999999999"),
              "core_pool_size (99999999999): must be a whole number up to 2147483647");
    EXPECT_EQ(refusal_of("queue_capacity", "-1"), "queue_capacity (-1): must be at least 1");
    EXPECT_THROW(set_field(read, "prestart_core_threads", "yes"), std::invalid_argument);
    EXPECT_THROW(set_field(read, "corePoolSize", "1"), std::invalid_argument);
}

}  // namespace
}  // namespace cadre::manage
