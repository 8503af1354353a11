// SPDX-License-Identifier: Apache-2.0
#include "trust/fault_entry_points.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "support/p2300.hpp"
#define CADRE_EXECUTION_NAMESPACE ::p2300
#include <cadre/execution.hpp>
#include <cadre/testing.hpp>

namespace cadre::testing {

using namespace std::chrono_literals;

std::vector<entry_point> pool_entry_points() {
    using big = std::array<char, 120>;
    return {
        {"execute", [](subject& s) { s.give([&](auto t) { s.pool.execute(std::move(t)); }); }},
        {"execute, a large callable",
         [](subject& s) {
             s.give([&](auto t) {
                 s.pool.execute([t = std::move(t), room = big()]() mutable {
                     (void)room;
                     t();
                 });
             });
         }},
        {"submit", [](subject& s) { s.give([&](auto t) { (void)s.pool.submit(std::move(t)); }); }},
        {"schedule",
         [](subject& s) { s.give([&](auto t) { (void)s.timers.schedule(std::move(t), 1ms); }); }},
        {"schedule_at_fixed_rate",
         [](subject& s) { (void)s.timers.schedule_at_fixed_rate([] {}, 1h, 1h); }},
        {"schedule_with_fixed_delay",
         [](subject& s) { (void)s.timers.schedule_with_fixed_delay([] {}, 1h, 1h); }},
        {"schedule_cron",
         [](subject& s) {
             (void)s.timers.schedule_cron([] {}, cron_expression("30 6 * * mon-fri"));
         }},
        {"invoke_all",
         [](subject& s) {
             (void)s.pool.invoke_all(std::vector<std::function<int()>>(2, [] { return 1; }));
         }},
        {"invoke_any",
         [](subject& s) {
             (void)s.pool.invoke_any(std::vector<std::function<int()>>(2, [] { return 1; }));
         }},
        {"then",
         [](subject& s) { (void)s.pool.submit([] { return 1; }).then([](int i) { return i; }); }},
        {"share", [](subject& s) { (void)s.pool.submit([] { return 1; }).share().get(); }},
        {"cancel", [](subject& s) { (void)s.pool.submit([] {}).cancel(true); }},
        {"completion_service",
         [](subject& s) {
             executor_completion_service<int> service(s.pool);
             (void)service.submit([] { return 1; });
         }},
        {"resize", [](subject& s) { s.pool.resize(2, 3); }},
        {"prestart_all_core_threads",
         [](subject& s) {
             s.pool.resize(3, 3);
             (void)s.pool.prestart_all_core_threads();
         }},
        {"execute, with a new thread",
         [](subject& s) {
             s.pool.resize(2, 3);
             s.give([&](auto t) { s.pool.execute(std::move(t)); });
         }},
        {"set_thread_factory",
         [](subject& s) { s.pool.set_thread_factory(default_thread_factory()); }},
        {"set_rejected_execution_handler",
         [](subject& s) { s.pool.set_rejected_execution_handler(discard_policy{}); }},
        {"snapshot", [](subject& s) { (void)s.pool.snapshot(); }},
        {"to_string", [](subject& s) { (void)s.pool.to_string(); }},
        {"purge", [](subject& s) { s.pool.purge(); }},
        {"shutdown_now", [](subject& s) { (void)s.pool.shutdown_now(); }},
        {"schedule_at",
         [](subject& s) {
             s.give([&](auto t) {
                 (void)s.timers.schedule_at(std::move(t), std::chrono::system_clock::now());
             });
         }},
        {"scheduler, execute",
         [](subject& s) { s.give([&](auto t) { s.timers.execute(std::move(t)); }); }},
        {"scheduler, submit",
         [](subject& s) { s.give([&](auto t) { (void)s.timers.submit(std::move(t)); }); }},
        {"scheduler, cancel",
         [](subject& s) {
             s.timers.set_remove_on_cancel_policy(true);
             (void)s.timers.schedule([] {}, 1h).cancel();
         }},
        {"scheduler, snapshot", [](subject& s) { (void)s.timers.snapshot(); }},
        {"scheduler, shutdown", [](subject& s) { s.timers.shutdown(); }},
        {"scheduler, resize", [](subject& s) { s.timers.resize(2, 2); }},
        {"scheduler, purge", [](subject& s) { s.timers.purge(); }},
        {"execute, with caller_runs_policy",
         [](subject& s) {
             s.pool.set_rejected_execution_handler(caller_runs_policy{});
             for (int i = 0; i < 12; ++i) s.give([&](auto t) { s.pool.execute(std::move(t)); });
         }},
        {"execute, with block_policy",
         [](subject& s) {
             s.pool.set_rejected_execution_handler(block_policy{});
             for (int i = 0; i < 12; ++i) s.give([&](auto t) { s.pool.execute(std::move(t)); });
         }},
        {"execute, with a context",
         [](subject& s) {
             const auto carried =
                 carry_context([] { return std::string(100, 'x'); }, [](std::string) {});
             s.give([&](auto t) { s.pool.execute(std::move(t)); });
         }},
        {"close", [](subject& s) { s.pool.close(); }},
        {"prestart_core_thread",
         [](subject& s) {
             s.pool.resize(2, 3);
             (void)s.pool.prestart_core_thread();
         }},
        {"queue, to look at", [](subject& s) { s.pool.queue().for_each([](const task&) {}); }},
        {"a pool",
         [](subject&) { thread_pool_executor own({.core_pool_size = 1, .name = "own"}); }},
        {"a scheduler",
         [](subject&) { scheduled_thread_pool_executor own({.core_pool_size = 1}); }},
        {"a thread", [](subject&) { thread own([] {}); }},
        {"available_processors", [](subject&) { (void)available_processors(); }},
    };
}

std::vector<entry_point> other_entry_points() {
    return {
        {"work_stealing_pool",
         [](subject& s) { s.give([&](auto t) { s.stealing.execute(std::move(t)); }); }},
        {"work_stealing_pool, submit",
         [](subject& s) { s.give([&](auto t) { (void)s.stealing.submit(std::move(t)); }); }},
        {"work_stealing_pool, invoke_all",
         [](subject& s) {
             (void)s.stealing.invoke_all(std::vector<std::function<int()>>(2, [] { return 1; }));
         }},
        {"work_stealing_pool, invoke_any",
         [](subject& s) {
             (void)s.stealing.invoke_any(std::vector<std::function<int()>>(2, [] { return 1; }));
         }},
        {"scheduler, invoke_all",
         [](subject& s) {
             (void)s.timers.invoke_all(std::vector<std::function<int()>>(2, [] { return 1; }));
         }},
        {"scheduler, invoke_any",
         [](subject& s) {
             (void)s.timers.invoke_any(std::vector<std::function<int()>>(2, [] { return 1; }));
         }},
        {"named_thread_factory",
         [](subject& s) {
             s.pool.set_thread_factory(
                 named_thread_factory("a name that is longer than what fits into a string"));
         }},
        {"work_stealing_pool, shutdown_now", [](subject& s) { (void)s.stealing.shutdown_now(); }},
        {"work_stealing_pool, snapshot", [](subject& s) { (void)s.stealing.snapshot(); }},
        {"a work_stealing_pool", [](subject&) { work_stealing_pool own({.parallelism = 1}); }},
        {"strand", [](subject& s) { s.give([&](auto t) { s.line.execute(std::move(t)); }); }},
        {"keyed_strands",
         [](subject& s) {
             s.give([&](auto t) {
                 s.lines.execute("a key that is longer than what fits into a string", std::move(t));
             });
         }},
        {"task_group",
         [](subject& s) {
             task_group group(s.pool);
             auto result = group.submit([] { return 1; });
             group.wait();
         }},
        {"strand, submit",
         [](subject& s) { s.give([&](auto t) { (void)s.line.submit(std::move(t)); }); }},
        {"a strand", [](subject& s) { strand own(s.pool); }},
        {"keyed_strands, submit",
         [](subject& s) { s.give([&](auto t) { (void)s.lines.submit("key", std::move(t)); }); }},
        {"keyed_strands, strand",
         [](subject& s) {
             auto own = s.lines.strand("a key that is longer than what fits into a string");
             s.give([&](auto t) { own.execute(std::move(t)); });
         }},
        {"parallel_transform",
         [](subject& s) {
             (void)parallel_transform(s.pool, std::vector<int>(64, 1), [](int i) { return i; });
         }},
        {"parallel_reduce",
         [](subject& s) {
             (void)parallel_reduce(s.pool, std::vector<int>(64, 1), 0, std::plus<>());
         }},
        {"completion_service, poll_for",
         [](subject& s) {
             executor_completion_service<int> service(s.pool);
             auto sent = service.submit([] { return 1; });
             (void)service.poll_for(1ms);
         }},
        {"co_await schedule_on",
         [](subject& s) {
             const auto go_on = [](executor& where) -> future<void> {
                 co_await schedule_on(where);
             };
             (void)go_on(s.pool);
         }},
        {"co_await sleep_on",
         [](subject& s) {
             const auto go_on = [](scheduled_executor_service& timers) -> future<void> {
                 co_await sleep_on(timers, 1ms);
             };
             (void)go_on(s.timers);
         }},
        {"to_future", [](subject& s) { (void)to_future(as_scheduler(s.pool).schedule()); }},
        {"shared_future, get_for",
         [](subject& s) { (void)s.pool.submit([] { return 1; }).share().get_for(1h); }},
        {"parallel_for",
         [](subject& s) {
             std::atomic<int> sum = 0;
             parallel_for(s.pool, 0, 64, [&](int i) { sum += i; });
         }},
        {"future_task",
         [](subject&) {
             future_task<std::string> own([] { return std::string(100, 'x'); });
             auto result = own.get_future();
             own();
             (void)result.get();
         }},
        {"then, on a pool",
         [](subject& s) {
             (void)s.pool.submit([] { return 1; }).then(s.pool, [](int i) { return i; });
         }},
        {"invoke_all, timed",
         [](subject& s) {
             (void)s.pool.invoke_all(std::vector<std::function<int()>>(2, [] { return 1; }), 1h);
         }},
        {"invoke_any, timed",
         [](subject& s) {
             (void)s.pool.invoke_any(std::vector<std::function<int()>>(2, [] { return 1; }), 1h);
         }},
        {"set_core_pool_size", [](subject& s) { s.pool.set_core_pool_size(2); }},
        {"set_maximum_pool_size", [](subject& s) { s.pool.set_maximum_pool_size(4); }},
        {"set_keep_alive", [](subject& s) { s.pool.set_keep_alive(1ms); }},
        {"allow_core_thread_time_out",
         [](subject& s) {
             s.pool.set_keep_alive(1ms);
             s.pool.allow_core_thread_time_out(true);
         }},
        {"remove_if",
         [](subject& s) { (void)s.pool.remove_if([](const task&) { return false; }); }},
        {"remove", [](subject& s) { (void)s.pool.remove(s.ready); }},
        {"await_termination", [](subject& s) { (void)s.pool.await_termination(1ms); }},
        {"shutdown", [](subject& s) { s.pool.shutdown(); }},
        {"scheduler, shutdown_now", [](subject& s) { (void)s.timers.shutdown_now(); }},
        {"scheduler, to_string", [](subject& s) { (void)s.timers.to_string(); }},
        {"submit, with arguments and a name",
         [](subject& s) {
             (void)s.pool.submit(
                 named("a name that needs memory, as it is long", [](int i) { return i; }), 1);
         }},
        {"get_for", [](subject& s) { (void)s.pool.submit([] { return 1; }).get_for(1h); }},
        {"wait_until",
         [](subject& s) {
             (void)s.pool.submit([] { return 1; })
                 .wait_until(std::chrono::system_clock::now() + 1h);
         }},
        {"thread_factory", [](subject& s) { (void)s.pool.thread_factory(); }},
        {"rejected_execution_handler",
         [](subject& s) { (void)s.pool.rejected_execution_handler(); }},
        {"work_stealing_pool, to_string", [](subject& s) { (void)s.stealing.to_string(); }},
        {"work_stealing_pool, await_termination",
         [](subject& s) { (void)s.stealing.await_termination(1ms); }},
        {"work_stealing_pool, close", [](subject& s) { s.stealing.close(); }},
        {"scheduler, set_core_pool_size", [](subject& s) { s.timers.set_core_pool_size(2); }},
        {"scheduler, set_keep_alive and allow_core_thread_time_out",
         [](subject& s) {
             s.timers.set_keep_alive(1h);
             s.timers.allow_core_thread_time_out(true);
         }},
        {"scheduler, set_thread_factory",
         [](subject& s) { s.timers.set_thread_factory(default_thread_factory()); }},
        {"scheduler, set_rejected_execution_handler",
         [](subject& s) { s.timers.set_rejected_execution_handler(discard_policy{}); }},
        {"scheduler, next_run, delay and statistics",
         [](subject& s) {
             auto later = s.timers.schedule_at_fixed_rate([] {}, 1h, 1h);
             (void)later.next_run();
             (void)later.delay();
             (void)later.statistics();
         }},
        {"scheduler, schedule, with a context",
         [](subject& s) {
             const auto carried =
                 carry_context([] { return std::string(100, 'x'); }, [](std::string) {});
             s.give([&](auto t) { (void)s.timers.schedule(std::move(t), 1ms); });
         }},
        {"a manual_clock, with timers",
         [](subject&) {
             manual_clock clock;
             scheduled_thread_pool_executor own({.core_pool_size = 1, .clock = &clock});
             (void)own.schedule_at_fixed_rate([] {}, 1h, 1h);  // its end waits for no such task
             (void)own.schedule_cron([] {}, cron_expression("30 6 * * *", cron_zone::utc));
             clock.set_wall(clock.wall_now() + 24h);
             clock.advance(2h);
         }},
        {"completion_service, take",
         [](subject& s) {
             executor_completion_service<int> service(s.pool);
             auto sent = service.submit([] { return 1; });
             (void)service.take();
         }},
        {"task_group, stopped",
         [](subject& s) {
             task_group group(s.pool);
             auto result = group.submit([] { return 1; });
             group.request_stop();
         }},
        {"parallel_transform, into what is there",
         [](subject& s) {
             std::vector<int> out(64);
             (void)parallel_transform(s.pool, std::vector<int>(64, 1), out.begin(),
                                      [](int i) { return i; });
         }},
        {"keyed_strands, active_keys", [](subject& s) { (void)s.lines.active_keys(); }},
        {"a thread, with attributes",
         [](subject&) {
             thread own({.name = "a name that is longer than what fits into a string",
                         .stack_size = std::size_t{1} << 20},
                        [] {});
             (void)own.handle().name();
             own.interrupt();
             own.join();
         }},
        {"co_await of a future, with a stop token",
         [](subject& s) {
             const auto go_on = [](future<int> one, std::stop_token stop) -> future<int> {
                 co_return co_await await(std::move(one), std::move(stop));
             };
             auto result = go_on(s.pool.submit([] { return 1; }), std::stop_source().get_token());
             while (!result.is_done()) std::this_thread::yield();
         }},
        {"fixed_thread_pool", [](subject&) { (void)executors::fixed_thread_pool(1); }},
        {"single_thread_executor", [](subject&) { (void)executors::single_thread_executor(); }},
        {"cached_thread_pool", [](subject&) { (void)executors::cached_thread_pool(); }},
        {"scheduled_thread_pool", [](subject&) { (void)executors::scheduled_thread_pool(1); }},
    };
}

}  // namespace cadre::testing
