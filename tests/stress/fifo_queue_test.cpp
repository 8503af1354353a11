// SPDX-License-Identifier: Apache-2.0
//
// The queue of pools with every kind of visitor at once: each element leaves exactly once, and
// nobody sees two elements of one producer in the wrong order.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <cadre/queue/array_blocking_queue.hpp>
#include <cadre/queue/linked_blocking_queue.hpp>

#include "support/race.hpp"
#include "support/watched.hpp"

namespace cadre::testing {
namespace {

/// Numbers that say which producer they come from; as large as a task, so that segments are small.
struct parcel {
    int producer = -1;
    int number = -1;
    char bulk[48] = {};
};
constexpr int producers = 3;

class fifo_queue_visitors : public ::testing::TestWithParam<const char*> {
protected:
    std::unique_ptr<blocking_queue<parcel>> make() const {
        const std::string_view kind = GetParam();
        if (kind == "array_of_one") return std::make_unique<array_blocking_queue<parcel>>(1);
        if (kind == "array") return std::make_unique<array_blocking_queue<parcel>>(300);
        if (kind == "linked_bounded") return std::make_unique<linked_blocking_queue<parcel>>(1000);
        return std::make_unique<linked_blocking_queue<parcel>>();
    }
};
INSTANTIATE_TEST_SUITE_P(, fifo_queue_visitors,
                         ::testing::Values("array_of_one", "array", "linked_bounded", "linked"),
                         [](const auto& kind) { return std::string(kind.param); });

/// What came out, and whether it was in order for one visitor.
class receipts {
public:
    explicit receipts(int each) : each_(each), seen_(static_cast<std::size_t>(producers * each)) {}

    void add(const parcel& p) {
        note_progress();
        ++seen_[static_cast<std::size_t>(p.producer * each_ + p.number)];
    }
    void expect_each_once() const {
        EXPECT_TRUE(std::all_of(seen_.begin(), seen_.end(), [](const auto& n) { return n == 1; }));
    }

private:
    const int each_;
    std::vector<std::atomic<int>> seen_;
};

/// The numbers of each producer only grow.
class order {
public:
    void add(const parcel& p) {
        if (p.number <= last_[p.producer]) broken = true;
        last_[p.producer] = p.number;
    }
    bool broken = false;

private:
    int last_[producers] = {-1, -1, -1};
};

TEST_P(fifo_queue_visitors, take_each_element_once_and_in_order) {
    const int each =
        std::string_view(GetParam()) == "array_of_one" ? 20'000 / slowness : 60'000 / slowness;
    const auto queue = make();
    const auto bound = queue->remaining_capacity();
    receipts got(each);
    std::atomic<int> producing = producers;
    std::atomic<int> out_of_order = 0;
    std::atomic<int> too_many = 0;
    std::vector<std::thread> threads;
    const auto over = [&] { return producing == 0 && queue->empty(); };
    const auto check = [&](order& seen, const parcel& p) {
        seen.add(p);
        got.add(p);
    };
    for (int p = 0; p < producers; ++p)
        threads.emplace_back([&, p] {
            for (int i = 0; i < each; ++i) queue->put({.producer = p, .number = i});
            --producing;
        });
    for (int t = 0; t < 2; ++t)
        threads.emplace_back([&] {
            order seen;
            while (!over())
                if (auto p = queue->poll_for(std::chrono::milliseconds(1))) check(seen, *p);
            out_of_order += seen.broken;
        });
    threads.emplace_back([&] {
        order seen;
        for (int round = 0; !over(); ++round) {
            std::vector<parcel> out;
            if (round % 4 == 0) {
                queue->drain_to(out, 5);
                for (const parcel& p : out) check(seen, p);
            } else if (round % 4 == 1) {
                queue->extract_if([](const parcel& p) { return p.number % 7 == 0; }, out, 3);
                for (const parcel& p : out) got.add(p);
            } else if (round % 4 == 2) {
                if (auto p =
                        queue->extract_first([](const parcel& q) { return q.number % 11 == 0; }))
                    got.add(*p);
            } else if (auto p = queue->as_fifo()->extract_only(
                           [](const parcel& q) { return q.number % 5 == 0; })) {
                got.add(*p);
            }
        }
        out_of_order += seen.broken;
    });
    threads.emplace_back([&] {
        while (!over()) {
            order seen;
            queue->for_each([&](const parcel& p) { seen.add(p); });
            out_of_order += seen.broken;
            for (int looks = 0; looks < 100; ++looks)
                if (queue->size() > bound) ++too_many;
        }
    });
    for (auto& thread : threads) thread.join();
    got.expect_each_once();
    EXPECT_EQ(out_of_order, 0);
    EXPECT_EQ(too_many, 0);
    EXPECT_EQ(queue->size(), 0u);
}

// The segments of a burst are reclaimed and used again while others put and take.
TEST(fifo_queue, bursts_of_growing_length_lose_nothing) {
    linked_blocking_queue<parcel> queue;
    int bursts = 0;
    for (rounds left(8, 8); left.another(); ++bursts) {
        const int each = (1 + bursts % 8) * 10'000 / slowness;
        receipts now(each);
        std::atomic<int> taken = 0;
        std::vector<std::thread> threads;
        for (int p = 0; p < producers; ++p)
            threads.emplace_back([&, p] {
                for (int i = 0; i < each; ++i) queue.put({.producer = p, .number = i});
            });
        for (int t = 0; t < 2; ++t)
            threads.emplace_back([&] {
                while (taken < producers * each)
                    if (auto p = queue.poll()) {
                        now.add(*p);
                        ++taken;
                    }
            });
        for (auto& thread : threads) thread.join();
        now.expect_each_once();
        EXPECT_TRUE(queue.empty());
    }
}

// As a pool is ended: whoever brings a task looks at the state afterwards; whoever changes the
// state looks at the queue afterwards.
TEST_P(fifo_queue_visitors, see_what_was_put_or_are_seen_by_who_put_it) {
    const auto queue = make();
    std::vector<parcel> drained;
    const std::vector<std::function<bool()>> looks = {
        [&] { return queue->empty(); },
        [&] { return queue->size() == 0; },
        [&] { return !queue->poll(); },
        [&] { return queue->drain_to(drained) == 0; },
    };
    std::size_t round = 0;
    std::atomic<bool> over = false;
    bool was_over = false;
    bool found_nothing = false;
    race put_and_look({[&] {
                           queue->put({0, 0});
                           was_over = over;
                       },
                       [&] {
                           over = true;
                           found_nothing = looks[round % looks.size()]();
                       }});
    for (rounds r(40000); r.another(); ++round) {
        over = false;
        put_and_look.play();
        ASSERT_TRUE(was_over || !found_nothing);
        queue->clear();
        drained.clear();
    }
}

}  // namespace
}  // namespace cadre::testing
