// SPDX-License-Identifier: Apache-2.0
//
// Pools in a control group that allows no thread more for half a second, again and again. Meanwhile
// they are given tasks, of which some throw and some are cancelled; idle threads leave, and cannot
// be had back. As soon as the limit is lifted each pool has all its threads again. Some are made
// while there is none to be had, and some end then. Each task that was accepted ran, or is
// accounted for; each future is done.
//
//     shifting_limit [--seconds S] [--seed X]
//
// The last line has the figures, or says why nothing could be played. Anything wrong, or nothing
// moving for a minute: says what, and fails.

#include <cadre/cadre.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "support/control_group.hpp"
#include "support/watchdog.hpp"
#include "trust/episode.hpp"

namespace cadre::testing {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

/// The limit of the group in which this process is: closed in odd turns, open in even ones.
class shifting_limit {
public:
    explicit shifting_limit(const control_group& group) : group_(group) {}

    int turn() const { return turn_; }
    void await(int turn) const {
        await_fact([&] { return turn_ >= turn; });
    }
    /// Returns what is wrong; empty if nothing is.
    std::string shift() {
        const bool closes = turn_ % 2 == 0;
        if (!group_.limit_threads(closes ? "1" : "max")) return "the limit cannot be set";
        if (closes && a_thread_can_be_had()) return "the limit does not hold";
        shifted_at_ = clock::now();
        ++turn_;
        return {};
    }
    std::chrono::nanoseconds since_the_last_shift() const {
        return clock::now() - shifted_at_.load();
    }

private:
    static bool a_thread_can_be_had() {
        try {
            std::thread([] {}).join();
            return true;
        } catch (const std::system_error&) {
            return false;
        }
    }

    const control_group& group_;
    std::atomic<clock::time_point> shifted_at_{clock::time_point()};
    std::atomic<int> turn_ = 0;
};

/// What those tell who live in one round.
struct common {
    explicit common(const control_group& group) : limit(group) {}
    shifting_limit limit;
    std::atomic<int> ready = 0;
    std::atomic<int> back = 0;  ///< how often one of them was through with a turn without threads
    std::atomic<std::uint64_t> steps = 0;
};

class any_life : public episode {
public:
    using episode::episode;
    std::chrono::nanoseconds longest_return() const { return longest_return_; }

protected:
    std::chrono::nanoseconds longest_return_{0};
};

/// A pool of one kind.
template <class Pool>
class life final : public any_life {
public:
    using maker = std::unique_ptr<Pool> (*)(std::mt19937& random, pool_hooks hooks);

    life(common& all, maker make, int threads, int closings, unsigned seed)
        : any_life(std::size_t{8'000} * static_cast<unsigned>(closings)),
          all_(all),
          make_(make),
          threads_(threads),
          closings_(closings),
          random_(seed),
          is_made_closed_(random_() % 4 == 0),
          ends_closed_(random_() % 4 == 0),
          end_(static_cast<ending>(random_() % 4)) {}

    std::string play() override {
        if (!is_made_closed_) {
            make();
            give_until_all_are_there();
        }
        ++all_.ready;
        for (int closing = 0; closing < closings_; ++closing) {
            const int closed = 2 * closing + 1;
            all_.limit.await(closed);
            if (!pool_) make();
            let_threads_leave(true);
            while (all_.limit.turn() == closed && next_ < tasks_.size()) give_some();
            const bool is_last = closing + 1 == closings_;
            if (is_last && ends_closed_) break;
            all_.limit.await(closed + 1);
            regain();
            if (!is_last) ++all_.back;
        }
        explained_ = finish(*pool_, end_);
        destroy_pool();
        ++all_.back;
        for (; next_ < tasks_.size(); ++next_) (void)tasks_.task(next_);  // nobody got these
        for (const auto& [number, result] : results_) {
            if (auto wrong = check(number, result); !wrong.empty()) return wrong;
            if constexpr (std::is_same_v<Pool, scheduled_thread_pool_executor>)
                if (!tasks_.was_called_off(number) && result.is_cancelled()) ++explained_;
        }
        return {};
    }
    std::string snapshot() const override {
        const std::lock_guard lock(mutex_);
        return std::string(is_made_closed_ ? "made closed, " : "") +
               (ends_closed_ ? "ends closed, " : "") + "ending " +
               std::to_string(static_cast<int>(end_)) + "\n" +
               (pool_ ? pool_->to_string() : "no pool");
    }

private:
    void make() {
        auto pool = make_(random_, {.uncaught_exception = count_failures()});
        const std::lock_guard lock(mutex_);
        pool_ = std::move(pool);
    }
    /// Not under the mutex: the watchdog tells what it was doing if it hangs.
    void destroy_pool() {
        std::unique_ptr<Pool> last;
        const std::lock_guard lock(mutex_);
        last = std::move(pool_);
    }
    void let_threads_leave(bool all) {
        if constexpr (requires { pool_->allow_core_thread_time_out(all); })
            if (pool_->keep_alive() > 0ns) pool_->allow_core_thread_time_out(all);
    }
    void give_some() {
        for (int i = 0; i < 32 && next_ < tasks_.size(); ++i) give(next_++);
        // So that idle threads leave, which is what cannot be undone now. Nothing rests on it.
        std::this_thread::sleep_for(2ms);
    }
    void give(std::size_t number) {
        ++all_.steps;
        auto given = number % 16 == 5 ? tasks_.failing_task(number) : tasks_.task(number);
        try {
            if (number % 3 == 0) {
                auto result = pool_->submit(std::move(given));
                results_.emplace_back(number, std::move(result));
            } else {
                pool_->execute(std::move(given));
            }
            tasks_.accept(number);
        } catch (const rejected_execution&) {  // there is no thread at all
        } catch (const ledger::failure&) {     // it ran here
            tasks_.accept(number);
        }
        if (results_.empty() || number % 8 != 0) return;
        auto& [other, result] = results_[random_() % results_.size()];
        if (result.cancel(true)) tasks_.call_off(other);
    }
    /// While there is no limit: whatever is given is accepted.
    void give_until_all_are_there() {
        let_threads_leave(false);
        do {
            pool_->submit([] {}).get();
            ++all_.steps;
        } while (pool_->pool_size() < threads_);
    }
    void regain() {
        give_until_all_are_there();
        longest_return_ = std::max(longest_return_, all_.limit.since_the_last_shift());
    }

    common& all_;
    const maker make_;
    const int threads_;
    const int closings_;
    std::mt19937 random_;
    const bool is_made_closed_;
    const bool ends_closed_;
    const ending end_;
    std::size_t next_ = 0;
    std::vector<std::pair<std::size_t, future<void>>> results_;
    mutable std::mutex mutex_;  // guards pool_ against the watchdog
    std::unique_ptr<Pool> pool_;
};

std::unique_ptr<thread_pool_executor> make_pool(std::mt19937& random, pool_hooks hooks) {
    thread_pool_options options{.core_pool_size = 3,
                                .maximum_pool_size = 4,
                                .keep_alive = 200us,
                                .hooks = std::move(hooks),
                                .remove_on_cancel = random() % 2 == 0};
    if (random() % 2 == 0) {
        options.queue = std::make_unique<array_blocking_queue<task>>(32);
        options.rejection = caller_runs_policy{};
    }
    return std::make_unique<thread_pool_executor>(std::move(options));
}
std::unique_ptr<scheduled_thread_pool_executor> make_scheduler(std::mt19937& random,
                                                               pool_hooks hooks) {
    return std::make_unique<scheduled_thread_pool_executor>(
        scheduled_pool_options{.core_pool_size = 2,
                               .keep_alive = 200us,
                               .hooks = std::move(hooks),
                               .remove_on_cancel = random() % 2 == 0});
}
std::unique_ptr<work_stealing_pool> make_stealing(std::mt19937&, pool_hooks hooks) {
    return std::make_unique<work_stealing_pool>(
        work_stealing_options{.parallelism = 3, .hooks = std::move(hooks)});
}

struct figures : totals {
    int closings = 0;
    std::chrono::nanoseconds longest_return{0};
};

/// A few pools from their making to their end, while the limit shifts. Returns what is wrong.
std::string play_round(const control_group& group, std::mt19937& random, figures& sum) {
    common all(group);
    const int closings = 1 + static_cast<int>(random() % 3);
    const auto seed = [&] { return static_cast<unsigned>(random()); };
    std::vector<std::unique_ptr<any_life>> lives;
    for (int i = 0; i < 2; ++i)
        lives.push_back(
            std::make_unique<life<thread_pool_executor>>(all, make_pool, 3, closings, seed()));
    lives.push_back(std::make_unique<life<scheduled_thread_pool_executor>>(all, make_scheduler, 2,
                                                                           closings, seed()));
    lives.push_back(
        std::make_unique<life<work_stealing_pool>>(all, make_stealing, 3, closings, seed()));
    const auto told = [&] {
        std::string text = "turn " + std::to_string(all.limit.turn());
        for (const auto& each : lives) text += "\n" + each->snapshot();
        return text;
    };
    std::vector<std::string> errors(lives.size());
    std::string error;
    {
        const watchdog dog(
            60s, [&] { return all.steps.load(); }, told);
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < lives.size(); ++i)
            threads.emplace_back([&, i] { errors[i] = lives[i]->play(); });
        await_fact([&] { return all.ready == static_cast<int>(lives.size()); });
        for (int i = 0; i < closings; ++i) {
            error = all.limit.shift();
            if (!error.empty()) break;
            // How long there are no threads: what is tried meanwhile is up to the others.
            std::this_thread::sleep_for(500ms);
            error = all.limit.shift();
            if (!error.empty()) break;
            await_fact([&] { return all.back >= (i + 1) * static_cast<int>(lives.size()); });
        }
        if (!error.empty()) {  // the others wait for a turn that never comes
            std::cout << "limits: " << error << std::endl;
            std::_Exit(1);
        }
        for (auto& each : threads) each.join();
    }
    sum.closings += closings;
    for (std::size_t i = 0; i < lives.size() && error.empty(); ++i) {
        error = errors[i].empty() ? lives[i]->close(sum) : errors[i];
        sum.longest_return = std::max(sum.longest_return, lives[i]->longest_return());
    }
    return error.empty() ? error : error + " (" + told() + ")";
}

int play_all(const control_group& group, std::chrono::seconds time, unsigned seed) {
    if (!group.enter()) {
        std::cout << "not run: no right to enter a control group here\n";
        return 0;
    }
    std::cout << "seed " << seed << std::endl;
    std::mt19937 random(seed);
    figures sum;
    const auto began = clock::now();
    do {
        if (const auto error = play_round(group, random, sum); !error.empty()) {
            std::cout << "limits: " << error << ", seed " << seed << '\n';
            return 1;
        }
    } while (clock::now() - began < time);
    const std::chrono::duration<double> took = clock::now() - began;
    std::cout << "limits: no thread to be had " << sum.closings << " times, " << sum.episodes
              << " pools; " << sum.accepted << " tasks accepted = " << sum.ran << " ran ("
              << sum.failed << " threw) + " << sum.called_off << " called off + " << sum.dropped
              << " returned, " << sum.futures
              << " futures; 0 lost, 0 doubled, 0 pending, all threads back within "
              << sum.longest_return / 1us << " us, " << took.count() << " s\n";
    return 0;
}

}  // namespace
}  // namespace cadre::testing

int main(int argc, char** argv) {
    long seconds = 10;
    unsigned seed = std::random_device()();
    for (int i = 1; i + 1 < argc; i += 2) {
        if (std::strcmp(argv[i], "--seconds") == 0) seconds = std::stol(argv[i + 1]);
        if (std::strcmp(argv[i], "--seed") == 0)
            seed = static_cast<unsigned>(std::stoul(argv[i + 1]));
    }
    const cadre::testing::control_group group;
    if (!group.is_there()) {
        std::cout << "not run: no right to make a control group here\n";
        return 0;
    }
    const pid_t child = fork();  // before there are threads; who is in the group cannot remove it
    if (child == 0) return cadre::testing::play_all(group, std::chrono::seconds(seconds), seed);
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) != child) {}
    return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
