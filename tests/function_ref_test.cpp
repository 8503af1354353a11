// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <cadre/function_ref.hpp>

namespace cadre::testing {
namespace {

static_assert(sizeof(function_ref<void()>) == 2 * sizeof(void*));
static_assert(std::is_trivially_copyable_v<function_ref<void()>>);
static_assert(std::is_constructible_v<function_ref<long(int)>, int (*)(int)>);
static_assert(!std::is_constructible_v<function_ref<int()>, std::string (*)()>);
static_assert(!std::is_constructible_v<function_ref<void()>, void (*)(int)>);

int call(function_ref<int(int)> f) { return f(20); }
int plus_one(int x) { return x + 1; }

TEST(function_ref, calls_functions_lambdas_and_function_objects) {
    EXPECT_EQ(call(plus_one), 21);
    EXPECT_EQ(call(&plus_one), 21);
    EXPECT_EQ(call([](int x) { return 2 * x; }), 40);
    const std::function<int(int)> function = plus_one;
    EXPECT_EQ(call(function), 21);
    EXPECT_EQ(call(std::bind_front(std::plus<int>(), 22)), 42);
}

TEST(function_ref, borrows_and_does_not_copy) {
    struct counter {
        int calls = 0;
        counter() = default;
        counter(const counter&) = delete;
        counter& operator=(const counter&) = delete;
        int operator()(int x) {
            ++calls;
            return x;
        }
    } counts;
    call(counts);
    call(counts);
    EXPECT_EQ(counts.calls, 2);
}

TEST(function_ref, calls_members_through_pointers) {
    struct account {
        int balance;
        int after(int deposit) const { return balance + deposit; }
    };
    const account mine{22};
    const auto after = &account::after;
    const function_ref<int(const account&, int)> method = after;
    EXPECT_EQ(method(mine, 20), 42);
}

TEST(function_ref, passes_arguments_on_without_a_copy) {
    const auto value_of = [](std::unique_ptr<int> p) { return *p; };
    const function_ref<int(std::unique_ptr<int>)> takes = value_of;
    EXPECT_EQ(takes(std::make_unique<int>(42)), 42);
    int target = 1;
    const auto itself = [](int& x) -> int& { return x; };
    const function_ref<int&(int&)> same = itself;
    EXPECT_EQ(&same(target), &target);
}

TEST(function_ref, converts_or_drops_the_result) {
    const auto literal = [] { return "text"; };
    const function_ref<std::string()> text = literal;
    EXPECT_EQ(text(), "text");
    int calls = 0;
    const auto count = [&] { return ++calls; };
    const function_ref<void()> nothing = count;
    nothing();
    EXPECT_EQ(calls, 1);
}

TEST(function_ref, lets_exceptions_through) {
    const auto fails = [] { throw 42; };
    const function_ref<void()> throws = fails;
    EXPECT_THROW(throws(), int);
}

TEST(function_ref, can_be_copied_and_both_call_the_same) {
    int calls = 0;
    const auto count = [&] { ++calls; };
    const function_ref<void()> one = count;
    const function_ref<void()> other = one;
    one();
    other();
    EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace cadre::testing
