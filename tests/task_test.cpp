// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/allocations.hpp"
#include "support/counted.hpp"
#include "support/held_task.hpp"
#include <cadre/completion_service.hpp>
#include <cadre/executors.hpp>
#include <cadre/task.hpp>

namespace cadre::testing {
namespace {

static_assert(!std::is_copy_constructible_v<task>);
static_assert(!std::is_constructible_v<task, int>);
static_assert(!std::is_constructible_v<task, void (*)(int)>);

/// A callable of exactly so many bytes.
template <std::size_t size>
struct sized {
    std::array<char, size> bytes = {};
    void operator()() const {}
};

template <class F>
std::size_t allocations_to_make_and_move(F f) {
    const auto before = allocations_here();
    task made(std::move(f));
    task moved(std::move(made));
    moved();
    return allocations_here() - before;
}

TEST(task, runs_its_callable_as_often_as_it_is_called) {
    int calls = 0;
    task counts([&] { ++calls; });
    EXPECT_TRUE(counts);
    counts();
    counts();
    EXPECT_EQ(calls, 2);
}

TEST(task, ignores_what_its_callable_returns_and_lets_through_what_it_throws) {
    task returns([] { return 42; });
    EXPECT_NO_THROW(returns());
    task throws([] { throw 42; });
    EXPECT_THROW(throws(), int);
}

TEST(task, made_of_nothing_is_empty_and_cannot_be_run) {
    task none;
    EXPECT_FALSE(none);
    EXPECT_EQ(none, nullptr);
    EXPECT_EQ(none.name(), "");
    EXPECT_EQ(none.priority(), 0);
    EXPECT_THROW(none(), illegal_state);
}

TEST(task, made_of_an_empty_callable_is_empty) {
    EXPECT_FALSE(task(std::function<void()>()));
    EXPECT_FALSE(task(std::function<void(std::stop_token)>()));
    EXPECT_FALSE(task(static_cast<void (*)()>(nullptr)));
    EXPECT_FALSE(task(nullptr));
    task from_empty = task(task());
    EXPECT_FALSE(from_empty);
}

TEST(task, takes_callables_of_every_kind) {
    static int calls;
    calls = 0;
    struct functor {
        void operator()() { ++calls; }
    };
    void (*const pointer)() = +[] { ++calls; };
    task{pointer}();
    task{*pointer}();
    task{functor()}();
    task{std::function<void()>(functor())}();
    const auto constant = [] { ++calls; };
    task{constant}();
    EXPECT_EQ(calls, 5);
}

TEST(task, moves_and_is_empty_afterwards) {
    auto value = std::make_unique<int>(42);
    int seen = 0;
    task first([value = std::move(value), &seen] { seen = *value; });
    task second(std::move(first));
    EXPECT_FALSE(first);
    first = std::move(second);
    EXPECT_FALSE(second);
    first();
    EXPECT_EQ(seen, 42);
    task& itself = first;
    first = std::move(itself);
    EXPECT_TRUE(first);
}

TEST(task, keeps_a_callable_of_48_bytes_inside) {
    EXPECT_EQ(allocations_to_make_and_move(sized<1>()), 0u);
    EXPECT_EQ(allocations_to_make_and_move(sized<48>()), 0u);
    const void* address = nullptr;
    const auto tell_address = [&address, bytes = std::array<char, 40>()] {
        address = bytes.data();
    };
    static_assert(sizeof(tell_address) == 48);
    task inside(tell_address);
    inside();
    const auto* begin = reinterpret_cast<const char*>(&inside);
    EXPECT_TRUE(address >= begin && address < begin + sizeof(inside));
}

// Recycled memory: that of the first larger one is there for the second.
TEST(task, keeps_a_larger_callable_outside_without_a_call_of_operator_new) {
    EXPECT_EQ(allocations_to_make_and_move(sized<49>()), 0u);
    EXPECT_EQ(allocations_to_make_and_move(sized<200>()), 0u);
}

TEST(task, destroys_its_callable_once) {
    using inside = counted<>;
    using outside = counted<128>;
    {
        task one([c = inside(1)] {});
        task other([c = outside(2)] {});
        EXPECT_EQ(inside::alive, 1);
        EXPECT_EQ(outside::alive, 1);
        std::swap(one, other);
        one = task();
        EXPECT_EQ(outside::alive, 0);
        EXPECT_EQ(inside::alive, 1);
    }
    EXPECT_EQ(inside::alive, 0);
}

/// Its moves throw when it is told so.
struct moves_on_request {
    bool* moves_throw;
    int* calls;
    moves_on_request(bool* t, int* c) : moves_throw(t), calls(c) {}
    moves_on_request(moves_on_request&& other)
        : moves_throw(other.moves_throw), calls(other.calls) {
        if (*moves_throw) throw std::range_error("cannot be moved");
    }
    void operator()() const { ++*calls; }
};

TEST(task, keeps_what_may_throw_when_moved_outside_and_never_moves_it_again) {
    bool moves_throw = false;
    int calls = 0;
    task first(moves_on_request(&moves_throw, &calls));
    moves_throw = true;
    task second(std::move(first));
    task third;
    third = std::move(second);
    third();
    EXPECT_EQ(calls, 1);
    EXPECT_THROW(task(moves_on_request(&moves_throw, &calls)), std::range_error);
}

TEST(task, respects_alignment_beyond_the_usual) {
    struct alignas(256) wide {
        std::uintptr_t* address;
        void operator()() const { *address = reinterpret_cast<std::uintptr_t>(this); }
    };
    std::uintptr_t address = 1;
    task first(wide{&address});
    task second(std::move(first));
    second();
    EXPECT_EQ(address % 256, 0u);
}

TEST(task, survives_a_callable_whose_destructor_throws) {
    struct angry {
        bool armed = true;
        angry() = default;
        angry(angry&& other) noexcept : armed(std::exchange(other.armed, false)) {}
        ~angry() noexcept(false) {
            if (armed) throw std::runtime_error("from a destructor");
        }
        void operator()() const {}
    };
    EXPECT_NO_THROW({
        task dropped{angry()};
        task replaced{angry()};
        replaced = task();
    });
}

TEST(task, gives_a_callable_that_asks_for_it_the_token_of_the_running_task) {
    bool possible = true;
    task outside([&](std::stop_token stop) { possible = stop.stop_possible(); });
    outside();
    EXPECT_FALSE(possible);

    thread_pool_executor pool({.core_pool_size = 1});
    std::stop_token given;
    std::stop_token own;
    pool.execute([&](std::stop_token stop) {
        given = stop;
        own = this_thread::stop_token();
    });
    pool.close();
    EXPECT_EQ(given, own);
    EXPECT_NE(given, std::stop_token());
}

/// A callable that can be called with and without a token, and tells whether it got one.
struct takes_either {
    bool* got_token;
    void operator()() const { *got_token = false; }
    void operator()(std::stop_token stop) const { *got_token = stop.stop_possible(); }
};

TEST(task, gives_the_token_to_a_callable_that_can_do_without_whichever_way_it_comes) {
    thread_pool_executor pool({.core_pool_size = 1});
    bool executed = false;
    bool submitted = false;
    bool by_name = false;
    pool.execute(takes_either{&executed});
    pool.submit(takes_either{&submitted}).get();
    pool.execute(named("either", takes_either{&by_name}));
    pool.close();
    EXPECT_TRUE(executed);
    EXPECT_TRUE(submitted);
    EXPECT_TRUE(by_name);
}

TEST(task, takes_callables_that_take_anything) {
    std::size_t arguments = 0;
    task variadic([&](auto&&... given) { arguments = sizeof...(given); });
    variadic();
    EXPECT_EQ(arguments, 1u) << "the token";
    int sum = 0;
    task bound(std::bind([&](int a, int b) { sum = a + b; }, 40, 2));
    bound();
    EXPECT_EQ(sum, 42);
    bool has_token = false;
    task asks(std::bind([&](std::stop_token) { has_token = true; }, std::placeholders::_1));
    asks();
    EXPECT_TRUE(has_token);
}
static_assert(!detail::takes_stop_token<decltype(std::bind([] {}))>, "it would be thrown away");

/// A callable that is used up by its call.
struct used_up {
    std::unique_ptr<int> value = std::make_unique<int>(42);
    std::unique_ptr<int> operator()() && { return std::move(value); }
};

TEST(task, takes_a_callable_that_can_be_called_as_an_rvalue_only) {
    thread_pool_executor pool({.core_pool_size = 1});
    pool.execute(used_up());
    EXPECT_EQ(*pool.submit(used_up()).get(), 42);
    EXPECT_EQ(*pool.submit(named("once", used_up())).get(), 42);
    future_task<std::unique_ptr<int>> task{used_up()};
    task();
    EXPECT_EQ(*task.get_future().get(), 42);
}

TEST(task_annotations, nest_in_any_order) {
    const auto f = [] {};
    const task name_outside(named("flush", prioritized(7, f)));
    const task priority_outside(prioritized(7, named("flush", f)));
    for (const task* t : {&name_outside, &priority_outside}) {
        EXPECT_EQ(t->name(), "flush");
        EXPECT_EQ(t->priority(), 7);
    }
    EXPECT_EQ(task(named("flush", f)).priority(), 0);
    EXPECT_EQ(task(prioritized(7, f)).name(), "");
    EXPECT_EQ(task(named("outer", named("inner", f))).name(), "outer");
    EXPECT_EQ(task(prioritized(1, prioritized(-2, f))).priority(), 1);
    EXPECT_EQ(task(named("a", prioritized(3, named("b", f)))).priority(), 3);
}

TEST(task_annotations, keep_those_of_a_task_inside) {
    const auto f = [] {};
    const task of_task(named("outer", task(prioritized(5, named("inner", f)))));
    EXPECT_EQ(of_task.name(), "outer");
    EXPECT_EQ(of_task.priority(), 5);
    const task of_future_task(prioritized(7, future_task(named("inner", prioritized(5, f)))));
    EXPECT_EQ(of_future_task.name(), "inner");
    EXPECT_EQ(of_future_task.priority(), 7);
}

TEST(task_annotations, leave_a_task_known_by_its_future) {
    thread_pool_executor pool({.core_pool_size = 1});
    held_task held(pool);
    future_task first([] {});
    future_task second([] {});
    const auto of_first = first.get_future();
    const auto of_second = second.get_future();
    pool.execute(named("first", std::move(first)));
    pool.execute(named("second", task(std::move(second))));
    EXPECT_TRUE(pool.remove(of_first));
    EXPECT_TRUE(pool.remove(of_second));
    EXPECT_TRUE(of_first.is_cancelled());
}

TEST(task_annotations, refuse_an_empty_callable) {
    EXPECT_THROW(named("flush", std::function<void()>()), std::invalid_argument);
    EXPECT_THROW(prioritized(1, std::function<void()>()), std::invalid_argument);
}

TEST(task_annotations, leave_the_callable_as_it_is) {
    auto adds = named("add", [](int a, std::unique_ptr<int> b) { return a + *b; });
    EXPECT_EQ(adds(40, std::make_unique<int>(2)), 42);
    auto takes_token = named("token", [](std::stop_token stop) { return stop.stop_possible(); });
    EXPECT_FALSE(takes_token(std::stop_token()));
    task runs(std::move(takes_token));
    EXPECT_EQ(runs.name(), "token");
}

/// The names and priorities of the tasks that a pool runs.
class recording_pool {
public:
    std::vector<std::pair<std::string, int>> seen;
    thread_pool_executor pool{
        {.core_pool_size = 1, .hooks = {.before_execute = [this](auto&, const task& t) {
                                  seen.emplace_back(t.name(), t.priority());
                              }}}};
};

TEST(task_annotations, work_wherever_a_callable_is_taken) {
    recording_pool recorded;
    auto& pool = recorded.pool;
    const auto answer = named("answer", prioritized(7, [] { return 42; }));
    pool.execute(answer);
    EXPECT_EQ(pool.submit(answer).get(), 42);
    EXPECT_EQ(pool.submit(named("answer", prioritized(7, [](int x) { return x; })), 42).get(), 42);
    EXPECT_EQ(pool.invoke_all({answer})[0].get(), 42);
    EXPECT_EQ(pool.invoke_any({answer}), 42);
    executor_completion_service<int> service(pool);
    service.submit(answer);
    EXPECT_EQ(service.take().get(), 42);
    future_task future(answer);
    pool.execute(std::move(future));
    pool.close();
    EXPECT_EQ(recorded.seen, (std::vector<std::pair<std::string, int>>(7, {"answer", 7})));
}

}  // namespace
}  // namespace cadre::testing
