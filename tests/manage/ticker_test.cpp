// SPDX-License-Identifier: Apache-2.0
#include "manage/ticker.hpp"

#include <atomic>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include "support/eventually.hpp"

namespace cadre::manage::detail {
namespace {

using testing::eventually;

struct counting_listener final : ticker::listener {
    explicit counting_listener(int most = -1) : wanted(most) {}
    bool time_passed(std::uint64_t now) noexcept override {
        grows = grows && now >= last;
        last = now;
        return ++told != wanted;
    }
    const int wanted;
    std::atomic<int> told = 0;
    std::atomic<bool> grows = true;
    std::uint64_t last = 0;
};

TEST(ticker, is_one_for_all_who_use_it_at_a_time) {
    const auto first = ticker::of_this_process();
    EXPECT_EQ(ticker::of_this_process(), first);
}

TEST(ticker, is_of_no_use_to_a_child_of_its_process_which_has_its_own) {
    const auto of_parent = ticker::of_this_process();
    counting_listener one;
    const pid_t child = fork();
    if (child == 0) {
        of_parent->start(one);
        _exit(one.told == 0 && ticker::of_this_process() != of_parent ? 0 : 1);
    }
    int status = 0;
    while (waitpid(child, &status, 0) != child) {}
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT_EQ(ticker::of_this_process(), of_parent);
}

TEST(ticker, tells_at_once_and_then_regularly) {
    const auto all = ticker::of_this_process();
    counting_listener one;
    counting_listener other;
    all->start(one);
    EXPECT_GE(one.told, 1);
    all->start(other);
    all->start(other);  // no second time
    EXPECT_TRUE(eventually([&] { return one.told > 5 && other.told > 5; }));
    all->stop(one);
    all->stop(other);
    EXPECT_TRUE(one.grows);
}

TEST(ticker, tells_nobody_who_has_stopped_it_or_wants_no_more) {
    const auto all = ticker::of_this_process();
    counting_listener stopped;
    counting_listener content(3);
    counting_listener goes_on;
    all->start(stopped);
    all->stop(stopped);
    const int told = stopped.told;
    all->start(content);
    all->start(goes_on);
    EXPECT_TRUE(eventually([&] { return content.told == 3; }));
    const int since = goes_on.told;
    EXPECT_TRUE(eventually([&] { return goes_on.told > since + 3; }));
    all->stop(goes_on);
    EXPECT_EQ(stopped.told, told);
    EXPECT_EQ(content.told, 3);
}

TEST(ticker, starts_again_after_nobody_wanted_it) {
    const auto all = ticker::of_this_process();
    counting_listener once(1);
    all->start(once);
    counting_listener later;
    all->start(later);
    EXPECT_TRUE(eventually([&] { return later.told > 2; }));
    all->stop(later);
    EXPECT_EQ(once.told, 1);
}

}  // namespace
}  // namespace cadre::manage::detail
