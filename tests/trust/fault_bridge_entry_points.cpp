// SPDX-License-Identifier: Apache-2.0
//
// What connects pools with others: senders, Asio, coroutines. What fails for want of memory is told
// to the receiver where there is one, else to the caller.

#include <atomic>
#include <chrono>
#include <exception>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "support/p2300_algorithms.hpp"
#include "trust/fault_entry_points.hpp"
#define CADRE_EXECUTION_NAMESPACE ::p2300
#include <cadre/execution.hpp>

#if CADRE_SWEEPS_ASIO  // Asio has fences, which g++'s ThreadSanitizer cannot follow
#include <asio/post.hpp>
#include <cadre/asio.hpp>
#endif

namespace cadre::testing {
namespace {

using namespace std::chrono_literals;

/// The end of an operation, for who started it; a task runs if it ends with a value.
struct operation_end {
    std::optional<ledger::entry> task = {};
    std::stop_source stop = std::stop_source(std::nostopstate);
    std::exception_ptr error = {};  // written before `over`
    std::atomic<bool> over = false;

    void await() const {
        while (!over) std::this_thread::yield();
    }
    /// The receiver was told: for the books that is as good as an exception.
    void await_and_rethrow() const {
        await();
        if (error) std::rethrow_exception(error);
    }
};

struct ending_receiver {
    using receiver_concept = p2300::receiver_tag;
    operation_end* to;

    void set_value(auto&&...) noexcept {
        if (to->task) (*to->task)();
        to->over = true;
    }
    void set_error(std::exception_ptr error) noexcept {
        to->error = std::move(error);
        to->over = true;
    }
    void set_stopped() noexcept { to->over = true; }
    p2300::stoppable_env get_env() const noexcept { return {{to->stop.get_token()}}; }
};

template <class Sender>
void run_when_it_completes(ledger::entry task, Sender sender) {
    operation_end end{.task = std::move(task)};
    auto operation = p2300::connect(std::move(sender), ending_receiver{&end});
    p2300::start(operation);
    end.await_and_rethrow();
}

std::vector<entry_point> sender_entry_points() {
    return {
        {"a sender, schedule",
         [](subject& s) {
             s.give([&](auto t) {
                 run_when_it_completes(std::move(t), as_scheduler(s.pool).schedule());
             });
         }},
        {"a sender, schedule on a work_stealing_pool",
         [](subject& s) {
             s.give([&](auto t) {
                 run_when_it_completes(std::move(t), as_scheduler(s.stealing).schedule());
             });
         }},
        {"a sender, schedule_after",
         [](subject& s) {
             s.give([&](auto t) {
                 run_when_it_completes(std::move(t), as_scheduler(s.timers).schedule_after(1ms));
             });
         }},
        {"a sender, schedule_at",
         [](subject& s) {
             const auto when = std::chrono::system_clock::now();
             s.give([&](auto t) {
                 run_when_it_completes(std::move(t), as_scheduler(s.timers).schedule_at(when));
             });
         }},
        {"a sender, schedule_after, stopped",
         [](subject& s) {
             operation_end end{.stop = std::stop_source()};
             auto operation =
                 p2300::connect(as_scheduler(s.timers).schedule_after(1h), ending_receiver{&end});
             p2300::start(operation);
             end.stop.request_stop();
             end.await();
         }},
        {"as_sender",
         [](subject& s) {
             // Once it is submitted it runs, whatever becomes of the wait for it.
             s.give([&](auto t) {
                 operation_end end;
                 auto operation =
                     p2300::connect(as_sender(s.pool.submit(std::move(t))), ending_receiver{&end});
                 p2300::start(operation);
                 end.await();
             });
         }},
        {"as_sender, of a shared_future",
         [](subject& s) {
             operation_end end;
             auto operation = p2300::connect(as_sender(s.pool.submit([] { return 1; }).share()),
                                             ending_receiver{&end});
             p2300::start(operation);
             end.await();
         }},
        {"as_sender, stopped",
         [](subject&) {
             operation_end end{.stop = std::stop_source()};
             future_task<int> never_run([] { return 1; });
             auto operation =
                 p2300::connect(as_sender(never_run.get_future()), ending_receiver{&end});
             p2300::start(operation);
             end.stop.request_stop();
             end.await();
         }},
        {"to_future, of a timed sender",
         [](subject& s) { (void)to_future(as_scheduler(s.timers).schedule_after(1ms)); }},
        {"to_future, cancelled",
         [](subject& s) { (void)to_future(as_scheduler(s.timers).schedule_after(1h)).cancel(); }},
    };
}

#if CADRE_SWEEPS_ASIO
/// No strand of Asio's: if there is no memory to make one, its destructor uses what was never set.
std::vector<entry_point> asio_entry_points() {
    return {
        {"an asio_context", [](subject& s) { asio_context own(s.pool); }},
        {"asio::post",
         [](subject& s) {
             s.give([&](auto t) {
                 asio_context own(s.pool);
                 asio::post(own, std::move(t));
             });
         }},
    };
}
#else
std::vector<entry_point> asio_entry_points() { return {}; }
#endif

/// Of a coroutine that is to run to its end, or says that it did not begin.
future<void> run_on(executor& where, ledger::entry task) {
    co_await schedule_on(where);
    task();
}
future<void> run_after(scheduled_executor_service& timers, ledger::entry task) {
    co_await sleep_on(timers, 1ms);
    task();
}
void await_and_rethrow(future<void> result) {
    while (!result.is_done()) std::this_thread::yield();
    if (auto error = result.exception()) std::rethrow_exception(error);
}

std::vector<entry_point> coroutine_entry_points() {
    return {
        {"a coroutine, schedule_on",
         [](subject& s) {
             s.give([&](auto t) { await_and_rethrow(run_on(s.pool, std::move(t))); });
         }},
        {"a coroutine, sleep_on",
         [](subject& s) {
             s.give([&](auto t) { await_and_rethrow(run_after(s.timers, std::move(t))); });
         }},
        {"a coroutine, co_await a future",
         [](subject& s) {
             const auto twice = [](future<int> one) -> future<int> {
                 co_return 2 * co_await std::move(one);
             };
             auto result = twice(s.pool.submit([] { return 1; }));
             while (!result.is_done()) std::this_thread::yield();
         }},
        {"a coroutine, co_await an awaitable_queue",
         [](subject& s) {
             awaitable_queue<int> queue;
             const auto taker = [](awaitable_queue<int>& from, executor& where) -> future<int> {
                 const auto taken = co_await from.async_take(where);
                 co_return taken.value_or(0);
             };
             auto result = taker(queue, s.pool);
             queue.put(1);
             while (!result.is_done()) std::this_thread::yield();
         }},
    };
}

}  // namespace

std::vector<entry_point> bridge_entry_points() {
    auto all = sender_entry_points();
    for (auto& each : asio_entry_points()) all.push_back(std::move(each));
    for (auto& each : coroutine_entry_points()) all.push_back(std::move(each));
    return all;
}

}  // namespace cadre::testing
