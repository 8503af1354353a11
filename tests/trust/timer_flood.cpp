// SPDX-License-Identifier: Apache-2.0
//
// Timers by the hundred thousand over one second, batch after batch, and a ledger of each: none
// runs before its time, none twice, and each runs unless it was called off. Some fall on one
// instant, some before all that wait already; some are cancelled or removed, and the pool is
// resized meanwhile. How late they ran is told, and nothing is expected of it: that is the
// machine's affair.
//
//     timer_flood [--timers N] [--seconds S] [--seed X]
//
// Ends when N timers were accepted and S seconds are over. The last line has the figures. Anything
// wrong, or nothing moving for a minute: says what, and fails.

#include <cadre/cadre.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/watchdog.hpp"
#include "trust/episode.hpp"

namespace cadre::testing {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr std::size_t batch_size = 100'000;
constexpr std::chrono::nanoseconds span = 1s;

/// How often something was late by so many microseconds: each of them up to a second, and beyond.
class latenesses {
public:
    void add(std::chrono::nanoseconds late) {
        const auto us = static_cast<std::size_t>(late / 1us);
        ++counts_[std::min(us, counts_.size() - 1)];
        worst_ = std::max(worst_, late);
    }
    /// What that share of them was not later than.
    std::string told(double share) const {
        const auto all = std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
        auto rest = static_cast<std::uint64_t>(share * static_cast<double>(all));
        std::size_t us = 0;
        while (us + 1 < counts_.size() && counts_[us] <= rest) rest -= counts_[us++];
        return us + 1 == counts_.size() ? "over 1 s" : std::to_string(us) + " us";
    }
    std::string worst() const { return std::to_string(worst_ / 1us) + " us"; }

private:
    std::vector<std::uint64_t> counts_ = std::vector<std::uint64_t>(1'000'001);
    std::chrono::nanoseconds worst_{0};
};

/// The timers of one second, and the pool that runs them.
class batch final : public episode {
public:
    explicit batch(unsigned seed)
        : episode(batch_size),
          random_(seed),
          core_(1 + static_cast<int>(random_() % 3)),
          remove_on_cancel_(random_() % 2 == 0),
          due_(batch_size),
          ran_at_(batch_size) {}

    std::string play() override {
        {
            auto pool = std::make_unique<scheduled_thread_pool_executor>(
                scheduled_pool_options{.core_pool_size = core_,
                                       .keep_alive = 100us,
                                       .remove_on_cancel = remove_on_cancel_});
            const std::lock_guard lock(mutex_);
            pool_ = std::move(pool);
        }
        begun_ = clock::now();
        given kept[2];
        constexpr std::size_t half = batch_size / 2;
        std::thread other([&, seed = random_()] { submit(0, half, unsigned(seed), kept[0]); });
        submit(half, batch_size, unsigned(random_()), kept[1]);
        other.join();
        pool_->resize(core_ == 1 ? 2 : core_ - 1, 4);
        pool_->close();  // when the last of them has run
        for (const auto& side : kept)
            for (const auto& [number, result] : side)
                if (auto wrong = check(number, result); !wrong.empty()) return wrong;
        for (std::size_t i = 0; i < batch_size; ++i)
            if (tasks_.has_run(i) && ran_at_[i] < due_[i])
                return "task " + std::to_string(i) + " ran " +
                       std::to_string((due_[i] - ran_at_[i]) / 1ns) + " ns early";
        return {};
    }
    void tell(latenesses& all) const {
        for (std::size_t i = 0; i < batch_size; ++i)
            if (tasks_.has_run(i)) all.add(ran_at_[i] - due_[i]);
    }
    std::string snapshot() const override {
        const std::lock_guard lock(mutex_);
        return "core " + std::to_string(core_) + "\n" + (pool_ ? pool_->to_string() : "no pool");
    }

private:
    using given = std::vector<std::pair<std::size_t, scheduled_future<void>>>;

    void submit(std::size_t begin, std::size_t end, unsigned seed, given& kept) {
        std::mt19937 random(seed);
        for (auto i = begin; i < end; ++i) {
            kept.emplace_back(i, schedule(i, random));
            tasks_.accept(i);
            if (random() % 16 != 0) continue;
            auto& [number, result] = kept[random() % kept.size()];
            if (random() % 4 == 0 ? pool_->remove(result) : result.cancel(random() % 2 == 0))
                tasks_.call_off(number);
        }
    }
    scheduled_future<void> schedule(std::size_t i, std::mt19937& random) {
        auto body = [this, i, runs = tasks_.task(i)]() mutable {
            ran_at_[i] = clock::now();
            runs();
        };
        const std::chrono::nanoseconds delay = span * (random() % 65'536) / 65'536;
        switch (random() % 8) {
            case 0:  // soon, so before most of the others
                due_[i] = clock::now() + delay / 1'000;
                return pool_->schedule(std::move(body), delay / 1'000);
            case 1:  // at an instant that others have
                due_[i] = begun_ + delay / 50ms * 50ms;
                return pool_->schedule_at(std::move(body), due_[i]);
            case 2:
                due_[i] = begun_ + delay;
                return pool_->schedule_at(std::move(body), due_[i]);
            default:
                due_[i] = clock::now() + delay;  // the pool looks at its clock after this
                return pool_->schedule(std::move(body), delay);
        }
    }

    std::mt19937 random_;
    const int core_;
    const bool remove_on_cancel_;
    clock::time_point begun_;
    std::vector<clock::time_point> due_;     ///< each written before its timer is given away
    std::vector<clock::time_point> ran_at_;  ///< each by its timer
    mutable std::mutex mutex_;               // guards pool_ against the watchdog
    std::unique_ptr<scheduled_thread_pool_executor> pool_;
};

int play_all(std::size_t wanted, std::chrono::seconds least, unsigned seed) {
    std::cout << "seed " << seed << std::endl;
    std::mt19937 random(seed);
    totals sum;
    latenesses late;
    const auto began = clock::now();
    do {
        batch next(static_cast<unsigned>(random()));
        std::string error;
        {
            const watchdog dog(
                60s, [&] { return next.progress(); }, [&] { return next.snapshot(); });
            error = next.play();
        }
        if (error.empty()) error = next.close(sum);
        if (!error.empty()) {
            std::cout << "timers: " << error << " (" << next.snapshot() << ", seed " << seed
                      << ")\n";
            return 1;
        }
        next.tell(late);
    } while (sum.accepted < wanted || clock::now() - began < least);
    const std::chrono::duration<double> took = clock::now() - began;
    std::cout << "timers: " << sum.accepted << " timers of " << sum.episodes
              << " pools = " << sum.ran << " ran + " << sum.called_off
              << " called off; 0 early, 0 lost, 0 doubled, 0 pending; half of them late by up to "
              << late.told(0.5) << ", 99 % by " << late.told(0.99) << ", 99.9 % by "
              << late.told(0.999) << ", all by " << late.worst() << ", " << took.count() << " s\n";
    return 0;
}

}  // namespace
}  // namespace cadre::testing

int main(int argc, char** argv) {
    std::size_t timers = 0;
    long seconds = 0;
    unsigned seed = std::random_device()();
    for (int i = 1; i + 1 < argc; i += 2) {
        if (std::strcmp(argv[i], "--timers") == 0) timers = std::stoull(argv[i + 1]);
        if (std::strcmp(argv[i], "--seconds") == 0) seconds = std::stol(argv[i + 1]);
        if (std::strcmp(argv[i], "--seed") == 0)
            seed = static_cast<unsigned>(std::stoul(argv[i + 1]));
    }
    return cadre::testing::play_all(timers, std::chrono::seconds(seconds), seed);
}
