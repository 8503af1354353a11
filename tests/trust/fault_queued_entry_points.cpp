// SPDX-License-Identifier: Apache-2.0
//
// Calls that have to do with tasks that wait: each finds a worker that is held up, and three tasks
// behind it, or three timers that are far away.

#include <chrono>
#include <thread>
#include <utility>

#include "trust/fault_entry_points.hpp"

namespace cadre::testing {
namespace {

using namespace std::chrono_literals;

void queue_three(subject& s, executor& where) {
    s.hold(where);
    for (int i = 0; i < 3; ++i) s.give([&](auto t) { where.execute(std::move(t)); });
}
void three_in_the_pool(subject& s) { queue_three(s, s.pool); }
void three_for_the_thieves(subject& s) { queue_three(s, s.stealing); }
/// They may be dropped: by the end of the scheduler at the latest.
void three_far_timers(subject& s) {
    s.timers.set_execute_existing_delayed_tasks_after_shutdown_policy(false);
    for (int i = 0; i < 3; ++i)
        s.give_to_be_dropped([&](auto t) { (void)s.timers.schedule(std::move(t), 1h); });
}

/// One thread, which is held up, and no place left behind it.
void fill(subject& s) {
    s.pool.resize(1, 1);
    s.hold(s.pool);
    for (int i = 0; i < 8; ++i) s.give_to_be_dropped([&](auto t) { s.pool.execute(std::move(t)); });
}
entry_point rejected_by(const char* name, const rejected_execution_handler& policy) {
    const auto execute_one_more = [policy](subject& s) {
        struct at_the_end {
            subject& s;
            ~at_the_end() {  // for check(), which has a task of its own to submit
                s.held = false;
                while (!s.pool.queue().empty()) std::this_thread::yield();
            }
        } const makes_room{s};
        s.pool.set_rejected_execution_handler(policy);
        try {
            s.give_to_be_dropped([&](auto t) { s.pool.execute(std::move(t)); });
        } catch (const rejected_execution&) {}
    };
    return {name, execute_one_more, fill};
}

/// Three that repeat, far away.
void three_periodic(subject& s) {
    for (int i = 0; i < 3; ++i) (void)s.timers.schedule_at_fixed_rate([] {}, 1h, 1h);
}

}  // namespace

std::vector<entry_point> queued_entry_points() {
    return {
        rejected_by("execute, refused by abort_policy", abort_policy{}),
        rejected_by("execute, dropped by discard_policy", discard_policy{}),
        rejected_by("execute, in place of another by discard_oldest_policy",
                    discard_oldest_policy{}),
        rejected_by("execute, run by caller_runs_policy", caller_runs_policy{}),
        rejected_by("execute, refused by block_policy", block_policy{1ms}),
        {"remove, of a queued task", [](subject& s) { (void)s.pool.remove(s.ready); },
         [](subject& s) {
             queue_three(s, s.pool);
             s.ready = s.pool.submit([] { return 1; });
         }},
        {"scheduler, remove",
         [](subject& s) {
             const auto later = s.timers.schedule([] {}, 1h);
             (void)s.timers.remove(later);
         },
         three_far_timers},
        {"scheduler, queue, to look at timers",
         [](subject& s) { s.timers.queue().for_each([](const task&) {}); }, three_far_timers},
        {"scheduler, shutdown, with periodic tasks that go on and then do not",
         [](subject& s) {
             s.timers.set_continue_existing_periodic_tasks_after_shutdown_policy(true);
             s.timers.shutdown();
             s.timers.set_continue_existing_periodic_tasks_after_shutdown_policy(false);
         },
         three_periodic},
        {"scheduler, close, with periodic tasks", [](subject& s) { s.timers.close(); },
         three_periodic},
        {"shutdown_now, with tasks queued",
         [](subject& s) {
             for (auto& waiting : s.pool.shutdown_now()) waiting();
         },
         three_in_the_pool},
        {"shutdown, with tasks queued", [](subject& s) { s.pool.shutdown(); }, three_in_the_pool},
        {"purge, with tasks queued", [](subject& s) { s.pool.purge(); }, three_in_the_pool},
        {"remove_if, of none that is queued",
         [](subject& s) { (void)s.pool.remove_if([](const task&) { return false; }); },
         three_in_the_pool},
        {"remove_if, of all that are queued",
         [](subject& s) { (void)s.pool.remove_if([](const task&) { return true; }); },
         [](subject& s) {
             s.hold(s.pool);
             for (int i = 0; i < 3; ++i)
                 s.give_to_be_dropped([&](auto t) { s.pool.execute(std::move(t)); });
         }},
        {"queue, to look at tasks", [](subject& s) { s.pool.queue().for_each([](const task&) {}); },
         three_in_the_pool},
        {"snapshot, with tasks queued", [](subject& s) { (void)s.pool.snapshot(); },
         three_in_the_pool},
        {"cancel, of a queued task", [](subject& s) { s.ready.cancel(); },
         [](subject& s) {
             queue_three(s, s.pool);
             s.ready = s.pool.submit([] { return 1; });
         }},
        {"scheduler, shutdown, with timers", [](subject& s) { s.timers.shutdown(); },
         three_far_timers},
        {"scheduler, shutdown_now, with timers", [](subject& s) { (void)s.timers.shutdown_now(); },
         three_far_timers},
        {"scheduler, remove_if",
         [](subject& s) { (void)s.timers.remove_if([](const task&) { return true; }); },
         three_far_timers},
        {"scheduler, purge, with cancelled timers", [](subject& s) { s.timers.purge(); },
         [](subject& s) {
             for (int i = 0; i < 3; ++i)
                 s.give_to_be_dropped(
                     [&](auto t) { (void)s.timers.schedule(std::move(t), 1h).cancel(); });
         }},
        {"work_stealing_pool, shutdown_now, with tasks queued",
         [](subject& s) {
             for (auto& waiting : s.stealing.shutdown_now()) waiting();
         },
         three_for_the_thieves},
        {"work_stealing_pool, shutdown, with tasks queued",
         [](subject& s) { s.stealing.shutdown(); }, three_for_the_thieves},
        {"work_stealing_pool, snapshot, with tasks queued",
         [](subject& s) { (void)s.stealing.snapshot(); }, three_for_the_thieves},
    };
}

}  // namespace cadre::testing
