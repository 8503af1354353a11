// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <chrono>
#include <compare>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "trust/fault_entry_points.hpp"
#include "trust/faults.hpp"
#include <cadre/testing.hpp>

namespace cadre::testing {
namespace {

using namespace std::chrono_literals;

/// An element for every queue: it allocates, and its time came long ago.
struct element {
    std::string text = std::string(100, 'x');
    std::chrono::steady_clock::time_point time_point() const { return {}; }
    friend auto operator<=>(const element&, const element&) = default;
};
const std::vector<element> three(3);

/// A queue that has three elements, whatever becomes of one more.
template <class Queue, class... Args>
void insert_into(const std::string& name, void (*insert)(Queue&), Args... args) {
    Queue queue(args...);
    queue.add_all(three);
    try {
        insert(queue);
    } catch (...) {
        if (queue.size() != 3) fail(name + ": failed, and changed the queue");
        throw;
    }
    if (queue.size() != 4) fail(name + ": succeeded, and changed nothing");
}

template <class Queue, class... Args>
void add_queue(std::vector<plain_entry_point>& to, const std::string& kind, Args... args) {
    const auto with_three = [=](auto use) {
        return [=] {
            Queue queue(args...);
            queue.add_all(three);
            use(queue);
        };
    };
    const auto inserting = [=](const char* how, void (*insert)(Queue&)) {
        const std::string name = kind + ", " + how;
        return plain_entry_point{name, [=] { insert_into<Queue>(name, insert, args...); }};
    };
    to.push_back({"a " + kind, [=] { Queue queue(args...); }});
    to.push_back(inserting("put", [](Queue& queue) { queue.put(element()); }));
    to.push_back(inserting("offer", [](Queue& queue) { (void)queue.offer(element()); }));
    to.push_back(inserting("offer_for", [](Queue& queue) { (void)queue.offer_for({}, 1ms); }));
    to.push_back(inserting("add", [](Queue& queue) { queue.add(element()); }));
    to.push_back({kind + ", take", with_three([](Queue& queue) { (void)queue.take(); })});
    to.push_back(
        {kind + ", poll_for", with_three([](Queue& queue) { (void)queue.poll_for(1ms); })});
    to.push_back({kind + ", peek", with_three([](Queue& queue) { (void)queue.peek(); })});
    to.push_back({kind + ", to_vector", with_three([](Queue& queue) { (void)queue.to_vector(); })});
    to.push_back(
        {kind + ", remove", with_three([](Queue& queue) { (void)queue.remove(three[0]); })});
    to.push_back({kind + ", drain_to", with_three([](Queue& queue) {
                      std::vector<element> out;
                      (void)queue.drain_to(out);
                  })});
    to.push_back({kind + ", extract_if", with_three([](Queue& queue) {
                      std::vector<element> out;
                      (void)queue.extract_if([](const element&) { return true; }, out, 2);
                  })});
    to.push_back({kind + ", clear", with_three([](Queue& queue) { queue.clear(); })});
    to.push_back({kind + ", poll", with_three([](Queue& queue) { (void)queue.poll(); })});
    to.push_back(
        {kind + ", remove of the head", with_three([](Queue& queue) { (void)queue.remove(); })});
    to.push_back({kind + ", element", with_three([](Queue& queue) { (void)queue.element(); })});
    to.push_back({kind + ", contains_all",
                  with_three([](Queue& queue) { (void)queue.contains_all(three); })});
    to.push_back(
        {kind + ", remove_all", with_three([](Queue& queue) { (void)queue.remove_all(three); })});
    to.push_back(
        {kind + ", retain_all", with_three([](Queue& queue) { (void)queue.retain_all(three); })});
    to.push_back({kind + ", extract_first", with_three([](Queue& queue) {
                      (void)queue.extract_first([](const element&) { return true; });
                  })});
    to.push_back(
        {kind + ", for_each", with_three([](Queue& queue) { queue.for_each([](auto&&) {}); })});
    to.push_back(
        {kind + ", add_all", with_three([](Queue& queue) { (void)queue.add_all(three); })});
    const std::string draining = kind + ", drain_to another queue";
    to.push_back({draining, with_three([=](Queue& queue) {
                      linked_blocking_queue<element> other;
                      try {
                          (void)queue.drain_to(other);
                      } catch (...) {
                          if (queue.size() + other.size() != 3) fail(draining + ": loses some");
                          throw;
                      }
                      if (other.size() != 3) fail(draining + ": succeeded, without all");
                  })});
}

/// Of the deque and the transfer queue alone, and queues from elements.
std::vector<plain_entry_point> particular_queues() {
    return {
        {"a linked_blocking_queue of elements", [] { linked_blocking_queue<element> own(three); }},
        {"an array_blocking_queue of elements",
         [] { array_blocking_queue<element> own(4, false, three); }},
        {"a priority_blocking_queue of elements",
         [] { priority_blocking_queue<element> own(three); }},
        {"set_capacity",
         [] {
             linked_blocking_queue<element> own(1);
             own.set_capacity(2);
         }},
        {"put_first",
         [] {
             linked_blocking_deque<element> own;
             own.put_first({});
         }},
        {"put_last",
         [] {
             linked_blocking_deque<element> own;
             own.put_last({});
         }},
        {"offer_first_for",
         [] {
             linked_blocking_deque<element> own;
             (void)own.offer_first_for({}, 1ms);
         }},
        {"offer_last_for",
         [] {
             linked_blocking_deque<element> own;
             (void)own.offer_last_for({}, 1ms);
         }},
        {"add_first and add_last",
         [] {
             linked_blocking_deque<element> own;
             own.add_first({});
             own.add_last({});
         }},
        {"a deque as a stack",
         [] {
             linked_blocking_deque<element> own;
             own.push({});
             (void)own.pop();
         }},
        {"take_last and poll_last_for",
         [] {
             linked_blocking_deque<element> own(three);
             (void)own.take_last();
             (void)own.poll_last_for(1ms);
             (void)own.poll_last();
         }},
        {"get_first and peek_last",
         [] {
             linked_blocking_deque<element> own(three);
             (void)own.get_first();
             (void)own.peek_last();
         }},
        {"for_each_descending",
         [] {
             linked_blocking_deque<element> own(three);
             own.for_each_descending([](auto&&) {});
         }},
        {"try_transfer",
         [] {
             linked_transfer_queue<element> own;
             (void)own.try_transfer(element());
             (void)own.waiting_consumer_count();
         }},
        {"synchronous_queue, poll_for and drain_to",
         [] {
             synchronous_queue<element> own;
             std::vector<element> out;
             (void)own.poll_for(1ms);
             (void)own.drain_to(out);
         }},
        {"to_string of a queue",
         [] {
             linked_blocking_queue<int> own;
             own.add(1);
             (void)own.to_string();
         }},
        {"remove_last_occurrence",
         [] {
             linked_blocking_deque<element> own(three);
             (void)own.remove_last_occurrence(three[0]);
         }},
        {"try_transfer_for",
         [] {
             linked_transfer_queue<element> own;
             (void)own.try_transfer_for({}, 1ms);
         }},
        {"synchronous_queue, offer_for",
         [] {
             synchronous_queue<element> own(true);
             (void)own.offer_for({}, 1ms);
         }},
        {"awaitable_queue",
         [] {
             awaitable_queue<element> own;
             own.put({});
             (void)own.poll();
         }},
    };
}

std::vector<plain_entry_point> tasks_futures_and_times() {
    return {
        {"a task", [] { task own([] {}); }},
        {"a task, a large callable",
         [] { task own([room = std::array<char, 120>()] { (void)room; }); }},
        {"a task with a name",
         [] { task own(named("a name that needs memory, as it is long", [] {})); }},
        {"a task with a priority", [] { task own(prioritized(1, [] {})); }},
        {"a future_task, set",
         [] {
             future_task<std::string> own([] { return std::string(); });
             auto result = own.get_future().share();
             (void)own.set(std::string(100, 'x'));
             (void)result.get();
         }},
        {"a future_task, run_and_reset",
         [] {
             future_task<std::string> own([] { return std::string(100, 'x'); });
             (void)own.run_and_reset();
         }},
        {"a future_task, with a hook and set_exception",
         [] {
             future_task<int> own([] { return 1; }, [](future_state) {});
             auto result = own.get_future();
             const auto error = std::make_exception_ptr(1);
             (void)own.set_exception(error);
             (void)result.exception();
         }},
        {"a future_task, cancelled",
         [] {
             future_task<int> own([] { return 1; });
             auto result = own.get_future();
             (void)result.cancel(true);
             (void)result.wait_for(1ms);
         }},
        {"then, on what is complete",
         [] {
             future_task<int> own([] { return 1; });
             auto result = own.get_future();
             own();
             (void)std::move(result).then([](int i) { return i; }).get();
         }},
        {"a manual_clock",
         [] {
             manual_clock own;
             own.advance(1h);
         }},
        {"a scheduler with a manual_clock",
         [] {
             manual_clock clock;
             scheduled_thread_pool_executor own({.core_pool_size = 1, .clock = &clock});
         }},
        {"a cron_expression, next_after",
         [] {
             const cron_expression own("*/5 8-18 * * mon-fri", cron_zone::utc);
             (void)own.next_after(std::chrono::system_clock::time_point());
         }},
        {"carry_context", [] { const auto own = carry_context([] { return 1; }, [](int) {}); }},
        {"a task_tracer",
         [] {
             task_tracer own(16);
             own.decorator("a category that needs memory, as it is long")(task([] {}))();
             std::ostringstream out;
             own.write_json(out);
         }},
        {"executors::callable", [] { (void)executors::callable([] {}, std::string(100, 'x'))(); }},
        {"executors::single_thread_scheduled_executor",
         [] { (void)executors::single_thread_scheduled_executor(); }},
        {"executors::work_stealing_pool", [] { (void)executors::work_stealing_pool(1); }},
        {"executors::unconfigurable",
         [] { (void)executors::unconfigurable(executors::fixed_thread_pool(1)); }},
        {"thread_handle, name", [] { (void)thread_handle::current().name(); }},
    };
}

}  // namespace

std::vector<plain_entry_point> plain_entry_points() {
    auto all = particular_queues();
    add_queue<linked_blocking_queue<element>>(all, "linked_blocking_queue");
    add_queue<array_blocking_queue<element>>(all, "array_blocking_queue", 8);
    add_queue<array_blocking_queue<element>>(all, "fair array_blocking_queue", 8, true);
    add_queue<linked_blocking_deque<element>>(all, "linked_blocking_deque");
    add_queue<priority_blocking_queue<element>>(all, "priority_blocking_queue");
    add_queue<linked_transfer_queue<element>>(all, "linked_transfer_queue");
    add_queue<delay_queue<element>>(all, "delay_queue");
    for (auto& each : tasks_futures_and_times()) all.push_back(std::move(each));
    return all;
}

}  // namespace cadre::testing
