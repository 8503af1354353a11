// SPDX-License-Identifier: Apache-2.0
#include "work_stealing_deque.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <deque>
#include <random>
#include <thread>
#include <vector>

namespace cadre::testing {
namespace {

using deque_of_ints = detail::work_stealing_deque<int>;

TEST(work_stealing_deque, gives_its_owner_the_newest_and_a_thief_the_oldest) {
    std::array<int, 3> numbers = {};
    deque_of_ints deque;
    for (int& n : numbers) {
        deque.make_room();
        deque.push(&n);
    }
    bool lost = false;
    EXPECT_EQ(deque.size(), 3u);
    EXPECT_EQ(deque.pop(), &numbers[2]);
    EXPECT_EQ(deque.steal(lost), &numbers[0]);
    EXPECT_EQ(deque.pop(), &numbers[1]);
    EXPECT_EQ(deque.pop(), nullptr);
    EXPECT_EQ(deque.steal(lost), nullptr);
    EXPECT_EQ(deque.size(), 0u);
    EXPECT_FALSE(lost);
}

TEST(work_stealing_deque, does_what_a_plain_deque_does) {
    std::vector<int> numbers(2000);
    std::mt19937 random(42);
    for (int round = 0; round < 20; ++round) {
        deque_of_ints deque;
        std::deque<int*> model;
        const auto pushes = 3 + random() % 5;  // of ten: it grows, or stays small
        for (int& n : numbers) {
            if (random() % 10 < pushes) {
                deque.make_room();
                deque.push(&n);
                model.push_back(&n);
            } else if (random() % 2 == 0) {
                int* const expected = model.empty() ? nullptr : model.back();
                if (expected) model.pop_back();
                ASSERT_EQ(deque.pop(), expected);
            } else {
                bool lost = false;
                int* const expected = model.empty() ? nullptr : model.front();
                if (expected) model.pop_front();
                ASSERT_EQ(deque.steal(lost), expected);
                ASSERT_FALSE(lost);
            }
            ASSERT_EQ(deque.size(), model.size());
        }
    }
}

TEST(work_stealing_deque, gives_each_element_to_one_thread_while_it_grows_and_runs_empty) {
    constexpr int count = 20000;
    std::vector<std::atomic<int>> given(count);
    std::vector<int> numbers(count);
    for (int i = 0; i < count; ++i) numbers[static_cast<std::size_t>(i)] = i;
    deque_of_ints deque;
    std::atomic<bool> over = false;
    const auto note = [&](const int* n) {
        if (n) ++given[static_cast<std::size_t>(*n)];
    };
    std::vector<std::thread> thieves;
    for (int i = 0; i < 2; ++i)
        thieves.emplace_back([&] {
            bool lost = false;
            while (!over || deque.size() > 0) note(deque.steal(lost));
        });
    std::mt19937 random(7);
    for (int next = 0; next < count;) {
        for (auto burst = random() % 100; burst > 0 && next < count; --burst, ++next) {
            deque.make_room();
            deque.push(&numbers[static_cast<std::size_t>(next)]);
        }
        for (auto burst = random() % 100; burst > 0; --burst) note(deque.pop());
    }
    over = true;
    for (auto& thief : thieves) thief.join();
    for (const auto& times : given) ASSERT_EQ(times, 1);
}

}  // namespace
}  // namespace cadre::testing
