// SPDX-License-Identifier: Apache-2.0
#include <cadre/manage/alarm_engine.hpp>

#include <condition_variable>
#include <latch>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "manage/alarm_tracker.hpp"
#include "manage/messages.hpp"
#include "manage/notification_lane.hpp"
#include "support/held_task.hpp"
#include "support/pools.hpp"
#include <cadre/errors.hpp>
#include <cadre/manage/config_manager.hpp>
#include <cadre/manage/metrics_text.hpp>
#include <cadre/manage/notifiers.hpp>

namespace cadre::manage {
namespace {

using namespace std::chrono_literals;
using detail::alarm_tracker;
using testing::eventually;
using ::testing::HasSubstr;

/// Keeps what it is sent.
class keeping_notifier final : public notifier {
public:
    std::string name() const override { return "keep"; }
    void send(const alarm_event& event) override {
        const std::lock_guard lock(mutex_);
        events_.push_back(event);
    }
    std::vector<alarm_event> events() const {
        const std::lock_guard lock(mutex_);
        return events_;
    }
    bool has(alarm_type type, alarm_state state = alarm_state::firing) const {
        for (const auto& event : events())
            if (event.type == type && event.state == state) return true;
        return false;
    }

private:
    mutable std::mutex mutex_;
    std::vector<alarm_event> events_;
};

/// A pool of one thread and one place, and an engine that looks only when asked.
struct alarmed_pool {
    explicit alarmed_pool(alarm_rule rule)
        : engine(registry, {.rules = {std::move(rule)}, .interval = 0s, .instance = "me"}, {kept}) {
    }

    pool_registry registry;
    std::shared_ptr<keeping_notifier> kept = std::make_shared<keeping_notifier>();
    std::shared_ptr<managed_pool> pool =
        registry.create({.name = "orders", .settings = {.core_pool_size = 1, .queue_capacity = 1}});
    alarm_engine engine;

    /// Looks until the notifier has been told.
    bool tells(alarm_type type, alarm_state state = alarm_state::firing) {
        return eventually([&] {
            engine.check();
            return kept->has(type, state);
        });
    }
};

TEST(alarm_engine, is_in_the_metrics_with_its_notifiers) {
    class failing_notifier final : public notifier {
    public:
        std::string name() const override { return "fail"; }
        void send(const alarm_event&) override { throw std::runtime_error("no way"); }
    };
    pool_registry registry;
    const auto pool =
        registry.create({.name = "orders", .settings = {.core_pool_size = 1, .queue_capacity = 1}});
    alarm_engine engine(
        registry, {.rules = {{.type = alarm_type::liveness, .threshold = 50}}, .interval = 0s},
        {std::make_shared<keeping_notifier>(), std::make_shared<failing_notifier>()});
    testing::held_task held(*pool->executor());
    engine.check();
    const auto shows = [&](const std::string& line) {
        return prometheus_text(registry, {.alarms = &engine}).find("\n" + line + "\n") !=
               std::string::npos;
    };
    EXPECT_TRUE(shows("cadre_alarms_firing{type=\"liveness\",pool=\"orders\"} 1"));
    EXPECT_TRUE(eventually([&] {
        return shows("cadre_notifier_sent_total{notifier=\"keep\"} 1") &&
               shows("cadre_notifier_failed_total{notifier=\"fail\"} 1") &&
               shows("cadre_notifier_dropped_total{notifier=\"fail\"} 0");
    }));
    held.let_go();
    ASSERT_TRUE(eventually([&] { return pool->snapshot().active_count == 0; }));
    engine.check();
    EXPECT_TRUE(shows("cadre_alarms_firing{type=\"liveness\",pool=\"orders\"} 0"));
    EXPECT_THAT(prometheus_text(registry), ::testing::Not(HasSubstr("cadre_alarms")));
}

TEST(alarm_engine, tells_of_rejections_of_a_new_pool_before_its_first_look) {
    pool_registry registry;
    const auto kept = std::make_shared<keeping_notifier>();
    alarm_engine engine(registry, {.rules = {{.type = alarm_type::reject}}, .interval = 0s},
                        {kept});
    const auto pool =
        registry.create({.name = "late", .settings = {.core_pool_size = 1, .queue_capacity = 1}});
    testing::held_tasks held(*pool->executor(), 2);
    EXPECT_THROW(pool->executor()->execute([] {}), rejected_execution);
    engine.check();
    EXPECT_EQ(engine.active().size(), 1u);
    EXPECT_TRUE(eventually([&] { return kept->has(alarm_type::reject); }));
}

TEST(alarm_engine, says_by_when_it_tells_again_of_what_still_fires) {
    pool_registry registry;
    const auto pool =
        registry.create({.name = "p", .settings = {.core_pool_size = 1, .queue_capacity = 1}});
    alarm_engine engine(
        registry,
        {.rules = {{.type = alarm_type::liveness, .silence = 10min},
                   {.type = alarm_type::reject, .window = 1min, .silence = 10min},
                   {.type = alarm_type::capacity, .silence = std::chrono::nanoseconds::max()}},
         .interval = 1h},
        {});
    const testing::held_tasks held(*pool->executor(), 2);
    ASSERT_TRUE(held.have_started(1));
    EXPECT_THROW(pool->executor()->execute([] {}), rejected_execution);
    engine.check();
    const auto firing = engine.active();
    ASSERT_EQ(firing.size(), 3u);
    EXPECT_EQ(firing[0].next_by - firing[0].at, 10min + 2h);
    EXPECT_EQ(firing[1].next_by - firing[1].at, 10min + 1min + 2h) << "or it is over";
    EXPECT_GT(firing[2].next_by - firing[2].at, 24h) << "without an overflow";
}

TEST(alarm_engine, tells_two_rules_of_one_type_on_one_pool_apart) {
    pool_registry registry;
    const auto pool =
        registry.create({.name = "p", .settings = {.core_pool_size = 1, .queue_capacity = 1}});
    const auto kept = std::make_shared<keeping_notifier>();
    alarm_engine engine(registry,
                        {.rules = {{.type = alarm_type::liveness},
                                   {.type = alarm_type::liveness, .threshold = 90},
                                   {.type = alarm_type::liveness, .lasting = 1ns},
                                   {.type = alarm_type::reject}},
                         .interval = 0s},
                        {kept});
    testing::held_tasks held(*pool->executor(), 2);
    EXPECT_THROW(pool->executor()->execute([] {}), rejected_execution);
    ASSERT_TRUE(eventually([&] {
        engine.check();
        return kept->events().size() == 4;
    }));
    held.let_go();
    ASSERT_TRUE(testing::has_completed(*pool->executor(), 2));
    ASSERT_TRUE(eventually([&] {
        engine.check();
        return kept->events().size() == 7;
    }));
    std::map<std::string, int> rules;
    for (const auto& event : kept->events()) ++rules[event.rule];
    EXPECT_THAT(rules, ::testing::ElementsAre(std::pair("threshold 1 within 2m", 1),
                                              std::pair("threshold 80", 2),
                                              std::pair("threshold 80, lasting 1ns", 2),
                                              std::pair("threshold 90", 2)));
}

TEST(alarm_engine, counts_the_threads_there_can_be_as_the_page_does) {
    for (const auto kind : {pool_kind::plain, pool_kind::scheduled}) {
        pool_registry registry;
        alarm_engine engine(registry, {.rules = {{.type = alarm_type::liveness}}, .interval = 0s},
                            {});
        pool_spec spec{.name = "p", .kind = kind, .settings = {.core_pool_size = 4}};
        // Of which there never are more than four: its queue has no end.
        if (kind == pool_kind::plain) spec.settings.maximum_pool_size = 16;
        const auto pool = registry.create(spec);
        const testing::held_tasks held(*pool->executor(), 4);
        ASSERT_TRUE(held.have_started(4));
        engine.check();
        ASSERT_EQ(engine.active().size(), 1u);
        EXPECT_EQ(engine.active()[0].value, 100);
        EXPECT_THAT(engine.active()[0].what, HasSubstr("4 of 4 threads"));
    }
}

TEST(alarm_engine, tells_nothing_of_what_was_before_a_pool_was_registered) {
    pool_registry registry;
    alarm_engine engine(registry, {.rules = {{.type = alarm_type::reject}}, .interval = 0s}, {});
    thread_pool_executor pool({.core_pool_size = 1, .queue = testing::room_for(1)});
    testing::held_tasks held(pool, 2);
    EXPECT_THROW(pool.execute([] {}), rejected_execution);
    const auto registered = registry.add("old", pool);
    engine.check();
    EXPECT_TRUE(engine.active().empty());
}

TEST(alarm_engine, goes_on_with_what_fires_by_a_rule_that_stays) {
    alarmed_pool a({.type = alarm_type::liveness});
    testing::held_tasks held(*a.pool->executor(), 1);
    ASSERT_TRUE(a.tells(alarm_type::liveness));
    auto rules = a.engine.rules();
    rules.insert(rules.begin(), {.type = alarm_type::capacity});
    a.engine.set_rules(rules);
    EXPECT_EQ(a.engine.active().size(), 1u);
    a.engine.check();
    held.let_go();
    EXPECT_TRUE(a.tells(alarm_type::liveness, alarm_state::recovered));
    EXPECT_EQ(a.kept->events().size(), 2u);
}

TEST(alarm_engine, tells_that_what_fires_is_over_when_its_rule_goes) {
    alarmed_pool a({.type = alarm_type::liveness});
    testing::held_tasks held(*a.pool->executor(), 1);
    ASSERT_TRUE(a.tells(alarm_type::liveness));
    a.engine.set_rules({});
    EXPECT_TRUE(a.engine.active().empty());
    EXPECT_EQ(a.engine.recovered().size(), 1u);
    EXPECT_TRUE(
        eventually([&] { return a.kept->has(alarm_type::liveness, alarm_state::recovered); }));
}

TEST(alarm_engine, names_the_task_that_waits_longest) {
    testing::gate go;
    alarmed_pool a({.type = alarm_type::oldest_wait, .limit = 1ms});
    a.pool->executor()->execute([&] { go.wait(); });
    a.pool->executor()->execute(named("waiting", [] {}));
    ASSERT_TRUE(a.tells(alarm_type::oldest_wait));
    EXPECT_EQ(a.kept->events().at(0).task, "waiting");
    go.open();
}

TEST(alarm_engine, tells_of_tasks_that_wait_for_too_long_while_they_do) {
    alarmed_pool a({.type = alarm_type::queue_timeout});
    testing::held_tasks held(*a.pool->executor(), 1);
    ASSERT_TRUE(held.have_started(1));
    a.pool->reconfigure({.queue_timeout = 1ms});
    a.pool->executor()->execute(named("waiting", [] {}));
    EXPECT_TRUE(eventually([&] {
        a.engine.check();
        return a.kept->has(alarm_type::queue_timeout) && a.kept->events().back().task == "waiting";
    }));
}

TEST(alarm_engine, watches_queues_and_the_age_of_the_configuration_unless_told_otherwise) {
    int found = 0;
    for (const auto& rule : default_alarm_rules())
        found += rule.type == alarm_type::oldest_wait || rule.type == alarm_type::config_stale;
    EXPECT_EQ(found, 2);
}

struct tracker_under_test {
    alarm_rule rule;
    alarm_tracker tracker = {};
    std::chrono::steady_clock::time_point now{1h};
    std::string look(bool reached, std::chrono::seconds later = 1s) {
        now += later;
        return text_of(tracker.look(rule, reached, now));
    }
    std::string count(std::uint64_t times, std::chrono::seconds later = 1s) {
        now += later;
        return text_of(tracker.count(rule, times, now));
    }
    static std::string text_of(const std::optional<alarm_tracker::verdict>& v) {
        if (!v) return "";
        return (v->state == alarm_state::firing ? "firing " : "recovered ") +
               std::to_string(v->suppressed);
    }
};

TEST(alarm_tracker, waits_until_a_level_has_lasted) {
    tracker_under_test t{{.type = alarm_type::liveness, .lasting = 2s}};
    EXPECT_EQ(t.look(true), "");
    EXPECT_EQ(t.look(true), "");
    EXPECT_EQ(t.look(false), "");
    EXPECT_EQ(t.look(true), "");
    EXPECT_EQ(t.look(true), "");
    EXPECT_EQ(t.look(true), "firing 0");
    EXPECT_EQ(t.look(false), "recovered 0");
    EXPECT_EQ(t.look(false), "");
}

TEST(alarm_tracker, is_silent_for_a_while_and_says_what_it_swallowed) {
    tracker_under_test t{{.type = alarm_type::capacity, .silence = 3s}};
    EXPECT_EQ(t.look(true), "firing 0");
    EXPECT_EQ(t.look(true), "");
    EXPECT_EQ(t.look(true), "");
    EXPECT_EQ(t.look(true), "firing 2");
    EXPECT_EQ(t.look(false), "recovered 0");
    EXPECT_EQ(t.look(true), "");   // silence holds for the next one too
    EXPECT_EQ(t.look(false), "");  // and nobody is told of the end of what he was not told of
}

TEST(alarm_tracker, says_of_what_it_swallowed_once) {
    tracker_under_test t{{.type = alarm_type::capacity, .silence = 3s}};
    EXPECT_EQ(t.look(true), "firing 0");
    EXPECT_EQ(t.look(true), "");
    EXPECT_EQ(t.look(false), "recovered 1");
    EXPECT_EQ(t.look(true), "firing 0");
}

TEST(alarm_tracker, counts_within_a_sliding_window) {
    tracker_under_test t{{.type = alarm_type::reject, .count = 3, .window = 10s, .silence = 0s}};
    EXPECT_EQ(t.count(2), "");
    EXPECT_EQ(t.count(0), "");
    EXPECT_EQ(t.count(1), "firing 0");
    EXPECT_EQ(t.count(0), "");
    EXPECT_EQ(t.count(1, 9s), "");  // the first two are out
    EXPECT_EQ(t.count(0, 10s), "recovered 0");
    EXPECT_EQ(t.count(5), "firing 0");
}

TEST(alarm_tracker, counts_looks_within_the_window_also_with_others_in_between) {
    tracker_under_test t{{.type = alarm_type::capacity, .count = 3, .window = 10s, .silence = 0s}};
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(t.look(true), "");
        EXPECT_EQ(t.look(false), "");
    }
    EXPECT_EQ(t.look(true), "firing 0");
    EXPECT_EQ(t.look(false), "recovered 0");
    EXPECT_EQ(t.look(true, 20s), "");
}

TEST(alarm_engine, tells_of_rejections_and_of_their_end) {
    alarmed_pool a({.type = alarm_type::reject, .window = 1ms});
    testing::held_tasks held(*a.pool->executor(), 2);
    EXPECT_THROW(a.pool->executor()->execute(named("late", [] {})), rejected_execution);
    ASSERT_TRUE(a.tells(alarm_type::reject));
    const auto event = a.kept->events().at(0);
    EXPECT_EQ(event.pool, "orders");
    EXPECT_EQ(event.task, "late");
    EXPECT_EQ(event.value, 1);
    EXPECT_THAT(event.text, HasSubstr("FIRING reject: pool 'orders' on me: 1 tasks were rejected"));
    EXPECT_TRUE(a.tells(alarm_type::reject, alarm_state::recovered));
}

TEST(alarm_engine, tells_of_levels_and_of_their_end) {
    for (const auto type : {alarm_type::liveness, alarm_type::capacity, alarm_type::stuck_worker,
                            alarm_type::oldest_wait}) {
        alarmed_pool a({.type = type, .limit = 1ms});
        testing::held_tasks held(*a.pool->executor(), 2);
        ASSERT_TRUE(a.tells(type)) << to_text(type);
        EXPECT_EQ(a.engine.active().size(), 1u);
        held.let_go();
        // Between the two tasks the pool is idle, too: nobody looks until both are over.
        ASSERT_TRUE(testing::has_completed(*a.pool->executor(), 2));
        EXPECT_TRUE(a.tells(type, alarm_state::recovered)) << to_text(type);
        EXPECT_EQ(a.engine.active().size(), 0u);
    }
}

TEST(alarm_engine, names_the_task_it_was_about_when_it_is_over) {
    alarmed_pool a({.type = alarm_type::stuck_worker, .limit = 1ns});
    std::latch over(1);
    auto stuck = a.pool->executor()->submit(named("copy", [&] { over.wait(); }));
    ASSERT_TRUE(a.tells(alarm_type::stuck_worker));
    over.count_down();
    stuck.wait();
    ASSERT_TRUE(eventually([&] { return a.pool->snapshot().active_count == 0; }));
    ASSERT_TRUE(a.tells(alarm_type::stuck_worker, alarm_state::recovered));
    EXPECT_EQ(a.kept->events().back().text,
              "RECOVERED stuck_worker: pool 'orders' on me: no thread is running a task "
              "(threshold 1e-09), task 'copy'");
}

TEST(alarm_engine, remembers_what_is_over_as_it_was_when_it_fired) {
    alarmed_pool a({.type = alarm_type::liveness, .tell_recovery = false});
    for (int i = 0; i < 3; ++i) {
        testing::held_task held(*a.pool->executor());
        a.engine.check();
        ASSERT_EQ(a.engine.active().size(), 1u) << "also in the silence after the first";
        EXPECT_EQ(a.engine.active()[0].state, alarm_state::firing);
        EXPECT_EQ(a.engine.recovered().size(), static_cast<std::size_t>(i));
        held.let_go();
        ASSERT_TRUE(eventually([&] { return a.pool->snapshot().active_count == 0; }));
        a.engine.check();
        EXPECT_TRUE(a.engine.active().empty());
    }
    const auto over = a.engine.recovered();
    ASSERT_EQ(over.size(), 3u);
    EXPECT_EQ(over[0].state, alarm_state::recovered);
    EXPECT_EQ(over[0].what, "1 of 1 threads are active (threshold 80)");
    EXPECT_EQ(over[0].value, 100);
    EXPECT_LE(over[0].since, over[0].at);
    EXPECT_GE(over[0].at, over[1].at);
    EXPECT_TRUE(eventually([&] { return a.engine.counts().at(0).sent == 1; }));
    EXPECT_EQ(a.kept->events().size(), 1u) << "silence, and no word of recovery";
}

TEST(alarm_engine, tells_that_an_alarm_is_over_when_its_pool_is_gone) {
    alarmed_pool a({.type = alarm_type::liveness});
    testing::held_task held(*a.pool->executor());
    ASSERT_TRUE(a.tells(alarm_type::liveness));
    held.let_go();
    a.registry.remove("orders");
    EXPECT_TRUE(a.tells(alarm_type::liveness, alarm_state::recovered));
    EXPECT_THAT(a.kept->events().back().text, HasSubstr("not registered any more"));
    EXPECT_TRUE(a.engine.active().empty());
    EXPECT_EQ(a.engine.recovered().size(), 1u);
}

TEST(alarm_engine, counts_each_rejection_once_however_many_look) {
    alarmed_pool a({.type = alarm_type::reject, .window = 1h});
    testing::held_tasks held(*a.pool->executor(), 2);
    {
        std::vector<std::jthread> looking;
        for (int i = 0; i < 3; ++i)
            looking.emplace_back([&] {
                for (int n = 0; n < 100; ++n) {
                    EXPECT_THROW(a.pool->executor()->execute([] {}), rejected_execution);
                    a.engine.check();
                }
            });
    }
    a.engine.check();
    ASSERT_EQ(a.engine.active().size(), 1u);
    EXPECT_EQ(a.engine.active()[0].value, 300);
}

TEST(alarm_engine, tells_of_timeouts) {
    testing::gate go;
    alarmed_pool a({.type = alarm_type::run_timeout});
    a.pool->reconfigure({.run_timeout = 1ms});
    a.pool->executor()->execute(named("slow", [&] { go.wait(); }));
    ASSERT_TRUE(a.tells(alarm_type::run_timeout));
    EXPECT_EQ(a.kept->events().at(0).task, "slow");
    go.open();
}

TEST(alarm_engine, tells_of_changes) {
    alarmed_pool a({.type = alarm_type::change});
    a.pool->reconfigure({.maximum_pool_size = 3}, {.author = "ann"});
    ASSERT_TRUE(eventually([&] { return a.kept->events().size() == 1; }));
    EXPECT_THAT(a.kept->events()[0].text, HasSubstr("by ann"));
    EXPECT_THAT(a.kept->events()[0].text, HasSubstr("maximum_pool_size 1 -> 3"));
}

TEST(alarm_engine, tells_of_a_configuration_that_went_stale_and_of_threads_that_cannot_be_made) {
    pool_registry registry;
    const auto kept = std::make_shared<keeping_notifier>();
    const auto monitor = std::make_shared<pool_monitor>();
    thread_pool_executor pool({.core_pool_size = 1,
                               .thread_factory = [](std::function<void()>) { return thread(); },
                               .hooks = monitor->hooks()});
    const auto registered = registry.add("p", pool, monitor);
    alarm_engine engine(registry,
                        {.rules = {{.type = alarm_type::config_stale, .limit = 1s},
                                   {.type = alarm_type::thread_create_failed}},
                         .interval = 0s,
                         .config_age = [] { return 2s; }},
                        {kept});
    EXPECT_FALSE(pool.prestart_core_thread());
    engine.check();
    EXPECT_TRUE(eventually([&] {
        return kept->has(alarm_type::config_stale) && kept->has(alarm_type::thread_create_failed);
    }));
}

/// Never answers, and says why.
class silent_source final : public config_source {
public:
    const std::string& name() const override { return name_; }
    void start(listener) override {}
    void stop() override {}
    source_health health() const override {
        return {.state = source_state::failing,
                .last_error = "connection refused",
                .failures = 3,
                .answered_at = std::chrono::steady_clock::now() - 1h};
    }

private:
    const std::string name_ = "etcd:pools";
};

TEST(alarm_engine, names_the_source_of_configuration_that_does_not_answer_and_why) {
    pool_registry registry;
    std::vector<std::unique_ptr<config_source>> sources;
    sources.push_back(embedded_source("pools: {}", document_format::yaml));
    sources.push_back(std::make_unique<silent_source>());
    config_manager manager(registry, std::move(sources));
    alarm_engine engine(
        registry,
        {.rules = {{.type = alarm_type::config_stale}}, .interval = 0s, .config = &manager}, {});
    EXPECT_TRUE(engine.active().empty()) << "it was not even asked";
    manager.start();
    engine.check();
    ASSERT_EQ(engine.active().size(), 1u);
    EXPECT_THAT(engine.active()[0].what,
                HasSubstr("the configuration source etcd:pools has not answered for 3600 s, its "
                          "last error: connection refused"));
    manager.stop();
    engine.check();
    EXPECT_TRUE(engine.active().empty());
}

TEST(alarm_engine, names_the_task_that_found_no_thread) {
    pool_registry registry;
    const auto monitor = std::make_shared<pool_monitor>();
    thread_pool_executor pool({.core_pool_size = 1,
                               .thread_factory = [](std::function<void()>) -> thread {
                                   throw std::runtime_error("no thread");
                               },
                               .hooks = monitor->hooks()});
    const auto registered = registry.add("p", pool, monitor);
    alarm_engine engine(
        registry, {.rules = {{.type = alarm_type::thread_create_failed}}, .interval = 0s}, {});
    EXPECT_THROW(pool.execute(named("mail", [] {})), std::runtime_error);
    engine.check();
    ASSERT_EQ(engine.active().size(), 1u);
    EXPECT_EQ(engine.active()[0].task, "mail");
    EXPECT_THROW(pool.prestart_core_thread(), std::runtime_error);
    engine.check();
    EXPECT_EQ(engine.active()[0].task, "") << "that was of no task";
}

TEST(alarm_engine, goes_on_whatever_the_age_of_the_configuration_throws) {
    pool_registry registry;
    const auto kept = std::make_shared<keeping_notifier>();
    std::atomic<int> asked = 0;
    alarm_engine engine(
        registry,
        {.rules = {{.type = alarm_type::config_stale, .limit = 1s}, {.type = alarm_type::capacity}},
         .interval = 1ms,
         .config_age = [&]() -> std::chrono::nanoseconds {
             if (++asked == 2) return 2s;
             throw 42;  // NOLINT: which is no std::exception
         }},
        {kept});
    const auto pool =
        registry.create({.name = "p", .settings = {.core_pool_size = 1, .queue_capacity = 1}});
    const testing::held_tasks held(*pool->executor(), 2);
    EXPECT_TRUE(eventually([&] { return asked > 3 && kept->has(alarm_type::capacity); }));
    // Nobody has said that the configuration is fresh again.
    EXPECT_FALSE(kept->has(alarm_type::config_stale, alarm_state::recovered));
}

TEST(alarm_engine, looks_by_itself_and_sends_to_whom_the_rule_names) {
    pool_registry registry;
    const auto kept = std::make_shared<keeping_notifier>();
    const auto pool = registry.create({.name = "p", .settings = {.core_pool_size = 1}});
    alarm_engine engine(registry,
                        {.rules = {{.type = alarm_type::liveness, .notifiers = {"keep"}},
                                   {.type = alarm_type::change, .notifiers = {"nobody"}}},
                         .interval = 1ms},
                        {kept});
    pool->reconfigure({.keep_alive = 1s});  // first, so that what comes of it is sent first
    const testing::held_task held(*pool->executor());
    EXPECT_TRUE(eventually([&] { return kept->has(alarm_type::liveness); }));
    EXPECT_FALSE(kept->has(alarm_type::change));
}

TEST(alarm_engine, is_not_held_up_by_a_notifier_that_hangs_or_throws) {
    struct hanging final : notifier {
        testing::gate& go;
        explicit hanging(testing::gate& g) : go(g) {}
        std::string name() const override { return "hanging"; }
        void send(const alarm_event&) override { go.wait(); }
    };
    struct throwing final : notifier {
        std::string name() const override { return "throwing"; }
        void send(const alarm_event&) override { throw std::runtime_error("no line"); }
    };
    testing::gate go;
    pool_registry registry;
    const auto pool = registry.create({.name = "p", .settings = {.core_pool_size = 1}});
    const auto kept = std::make_shared<keeping_notifier>();
    alarm_engine engine(registry,
                        {.rules = {{.type = alarm_type::change}}, .interval = 0s, .backlog = 3},
                        {std::make_shared<hanging>(go), std::make_shared<throwing>(), kept});
    for (int i = 1; i <= 10; ++i) {
        pool->reconfigure({.keep_alive = 1s * i});
        ASSERT_TRUE(
            eventually([&] { return kept->events().size() == static_cast<std::size_t>(i); }));
    }
    EXPECT_GE(engine.counts().at(0).dropped, 6u);
    EXPECT_TRUE(eventually([&] { return engine.counts().at(1).failed >= 1; }));
    EXPECT_EQ(engine.counts().at(1).last_error, "no line");
    go.open();
}

TEST(alarm_engine, says_since_when_it_fires_however_often_it_looks) {
    alarmed_pool p{{.type = alarm_type::liveness, .threshold = 50}};
    const testing::held_task held(*p.pool->executor());
    p.engine.check();
    ASSERT_EQ(p.engine.active().size(), 1u);
    const auto since = p.engine.active()[0].since;
    for (int i = 0; i < 3; ++i) p.engine.check();
    EXPECT_EQ(p.engine.active()[0].since, since);
}

TEST(notification_lane, keeps_the_newest_up_to_its_backlog_and_the_last_error) {
    struct hanging final : notifier {
        testing::gate begun;
        testing::gate go;
        std::vector<double> sent;  // by the one thread of the lane
        std::string name() const override { return "hanging"; }
        void send(const alarm_event& event) override {
            begun.open();
            go.wait();
            sent.push_back(event.value);
            if (event.value == 0) throw std::runtime_error("no line");
        }
    };
    const auto slow = std::make_shared<hanging>();
    {
        detail::notification_lane lane(slow, 2);
        lane.post({.value = 0});
        ASSERT_TRUE(slow->begun.wait());
        lane.post({.value = 1});
        lane.post({.value = 2});
        EXPECT_EQ(lane.counts().dropped, 0u);
        lane.post({.value = 3});
        EXPECT_EQ(lane.counts().dropped, 1u);
        slow->go.open();
        ASSERT_TRUE(eventually([&] { return lane.counts().sent == 2; }));
        EXPECT_EQ(lane.counts().failed, 1u);
        EXPECT_EQ(lane.counts().last_error, "no line");
    }
    EXPECT_EQ(slow->sent, (std::vector<double>{0, 2, 3}));
}

TEST(alarm_engine, refuses_rules_that_cannot_be) {
    pool_registry registry;
    const auto refused = [&](alarm_rule rule) {
        return testing::message_of<std::invalid_argument>([&] {
            const alarm_engine engine(registry, {.rules = {std::move(rule)}, .interval = 0s}, {});
        });
    };
    EXPECT_THAT(refused({.threshold = 0}), HasSubstr("threshold"));
    EXPECT_THAT(refused({.count = 0}), HasSubstr("count"));
    EXPECT_THAT(refused({.window = 0s}), HasSubstr("window"));
    EXPECT_THAT(refused({.silence = -1s}), HasSubstr("silence"));
    EXPECT_THROW(parse_alarm_type("x"), std::invalid_argument);
    EXPECT_EQ(parse_alarm_type("oldest_wait"), alarm_type::oldest_wait);
}

TEST(notifiers, sign_as_the_platforms_want_it) {
    EXPECT_EQ(detail::dingtalk_sign(1700000000000, "SECabc"),
              "jcUpW0QmtKduN03n4JqQ0PBosVjqnM8gU7fIIvsDmCM%3D");
    EXPECT_EQ(detail::lark_sign(1700000000, "SECabc"),
              "XprR1de+0SSBnwWyU/4k6x2TL+Q2SJlM5NNEdAv7MWg=");
    EXPECT_THAT(
        detail::dingtalk_url({.url = "https://x/send?access_token=t", .secret = "SECabc"}, 7),
        HasSubstr("?access_token=t&timestamp=7&sign="));
}

TEST(notifiers, write_what_the_platforms_read) {
    alarm_event event{.type = alarm_type::reject, .pool = "or\"ders", .task = "t", .text = "full"};
    EXPECT_THAT(detail::dingtalk_body(event, {.mentions = {"1380", "all"}, .keyword = "K"}),
                ::testing::AllOf(HasSubstr(R"("msgtype":"markdown","markdown":{"title":"K reject)"),
                                 HasSubstr(R"("atMobiles":["1380"],"isAtAll":true)")));
    EXPECT_THAT(detail::wecom_body(event, {}),
                HasSubstr(R"({"msgtype":"markdown","markdown":{"content":)"));
    const auto lark = detail::lark_body(event, {.secret = "SECabc"}, 1700000000);
    EXPECT_THAT(lark, HasSubstr(R"({"timestamp":"1700000000","sign":"XprR1de+0SS)"));
    EXPECT_THAT(lark, HasSubstr(R"("msg_type":"interactive","card":{)"));
    EXPECT_THAT(detail::alertmanager_body(event),
                HasSubstr(R"([{"labels":{"alertname":"cadre_reject")"));
    event.state = alarm_state::recovered;
    EXPECT_THAT(detail::alertmanager_body(event), HasSubstr("endsAt"));
    EXPECT_EQ(detail::fill_template(R"({"t":"{{type}} {{pool}}","v":{{value}}})", event),
              R"({"t":"reject or\"ders","v":0.0})");
    EXPECT_THROW(webhook_notifier({.url = "http://x", .body_template = "{{nonsense}}"}),
                 std::invalid_argument);
    EXPECT_THROW(webhook_notifier({.url = "ftp://x"}), std::invalid_argument);
}

TEST(notifiers, send_no_more_than_a_platform_takes) {
    const alarm_event event{.type = alarm_type::change, .text = std::string(1000, 'x') + [] {
                                std::string wide;
                                for (int i = 0; i < 3000; ++i) wide += "\u6c60";
                                return wide;
                            }()};
    const auto body = nlohmann::json::parse(detail::wecom_body(event, {}));
    const auto content = body["markdown"]["content"].get<std::string>();
    EXPECT_LE(content.size(), 4096u);
    EXPECT_TRUE(content.ends_with("\u6c60\u2026"));
}

TEST(notifiers, put_every_event_into_one_line_of_a_log) {
    std::string line;
    log_notifier log([&](std::string_view text) { line = text; });
    log.send({.text = "a\n\033[2Jb"});
    EXPECT_EQ(line, "a??[2Jb");
}

TEST(notifiers, start_a_program_with_the_event) {
    alarm_event event{.type = alarm_type::reject, .pool = "orders"};
    command_notifier({.command = {"grep", "-q", "\"pool\":\"orders\""}, .timeout = testing::guard})
        .send(event);
    EXPECT_THROW(command_notifier({.command = {"false"}}).send(event), std::runtime_error);
    EXPECT_THROW(command_notifier({.command = {"/no/such/program"}}).send(event),
                 std::runtime_error);
    EXPECT_THROW(command_notifier({.command = {"sleep", "100"}, .timeout = 20ms}).send(event),
                 std::runtime_error);
    EXPECT_THROW(command_notifier({.command = {}}), std::invalid_argument);
}

TEST(notifiers, start_commands_that_signals_can_end) {
    bool ended_by_signal = false;
    cadre::thread([&] {  // as that of the engine: it blocks signals
        try {
            command_notifier({.command = {"sh", "-c", "kill -TERM $$; exit 0"}}).send({});
        } catch (const std::runtime_error&) {
            ended_by_signal = true;
        }
    })
        .join();
    EXPECT_TRUE(ended_by_signal);
}

TEST(notifiers, fail_when_nobody_answers) {
    webhook_notifier hook({.url = "http://127.0.0.1:1/x?token=secret", .timeout = 2s});
    const auto error = testing::message_of<std::runtime_error>([&] { hook.send({}); });
    EXPECT_THAT(error, HasSubstr("http://127.0.0.1:1: "));
    EXPECT_THAT(error, ::testing::Not(HasSubstr("secret")));
}

}  // namespace
}  // namespace cadre::manage
