// SPDX-License-Identifier: Apache-2.0
//
// The ledger of support/ledger.hpp, on which the stress tests rely: it must see what they look for.

#include "support/ledger.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>

#include <cadre/executor.hpp>

namespace cadre::testing {
namespace {

/// An executor with a bug: what it does with each task.
class bad_executor final : public executor {
public:
    explicit bad_executor(std::function<void(task)> does) : does_(std::move(does)) {}
    void execute(task t) override { does_(std::move(t)); }

private:
    const std::function<void(task)> does_;
};

/// What the ledger says of three tasks of which such an executor has the middle one.
std::string error_after(std::function<void(task)> does) {
    ledger books(3);
    bad_executor where(std::move(does));
    for (std::size_t i = 0; i < books.size(); ++i) {
        auto next = books.task(i);
        if (i == 1)
            where.execute(std::move(next));
        else
            next();
        books.accept(i);
    }
    return books.close().error;
}

TEST(ledger, balances_when_each_task_ran_once) {
    EXPECT_EQ(error_after([](task t) { t(); }), "");
}

TEST(ledger, sees_a_task_that_runs_twice) {
    EXPECT_EQ(error_after([](task t) {
                  t();
                  t();
              }),
              "task 1 met its fate twice");
}

TEST(ledger, sees_a_second_run_in_another_place) {
    EXPECT_EQ(error_after([](task t) {
                  t();
                  task other = std::move(t);
                  other();
              }),
              "task 1 met its fate twice");
}

TEST(ledger, sees_a_run_of_what_was_moved_away) {
    ledger books(1);
    auto first = books.task(0);
    auto second = std::move(first);
    second();
    first();  // NOLINT(bugprone-use-after-move): that is the bug
    books.accept(0);
    EXPECT_EQ(books.close().error, "task 0 met its fate twice");
}

TEST(ledger, sees_a_task_that_is_still_somewhere) {
    ledger books(1);
    const task kept(books.task(0));
    books.accept(0);
    EXPECT_EQ(books.close().error, "task 0 is missing");
}

TEST(ledger, sees_a_task_that_runs_though_it_was_refused) {
    ledger books(1);
    books.task(0)();
    EXPECT_EQ(books.close().error, "task 0 ran, though refused");
}

TEST(ledger, counts_what_was_dropped_apart_from_what_was_called_off) {
    ledger books(3);
    for (std::size_t i = 0; i < 2; ++i) {
        (void)books.task(i);
        books.accept(i);
    }
    books.call_off(1);
    (void)books.task(2);  // refused
    const auto sums = books.close();
    EXPECT_EQ(sums.error, "");
    EXPECT_EQ(sums.dropped, 1u);
    EXPECT_EQ(sums.called_off, 1u);
    EXPECT_EQ(sums.refused, 1u);
}

TEST(ledger, counts_a_task_that_throws_as_one_that_ran) {
    ledger books(1);
    EXPECT_THROW(books.failing_task(0)(), ledger::failure);
    books.accept(0);
    const auto sums = books.close();
    EXPECT_EQ(sums.error, "");
    EXPECT_EQ(sums.ran, 1u);
    EXPECT_EQ(sums.failed, 1u);
}

}  // namespace
}  // namespace cadre::testing
