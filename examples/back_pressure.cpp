// SPDX-License-Identifier: Apache-2.0
// A producer that is faster than its pool, and three answers to it: refuse, have the producer do
// the work itself, or have it wait. Without a bound, the queue would be the fourth answer.

#include <chrono>
#include <iomanip>
#include <iostream>
#include <thread>

#include <cadre/cadre.hpp>

using namespace std::chrono_literals;

void feed(const char* policy, cadre::rejected_execution_handler handler) {
    cadre::thread_pool_executor pool(
        {.core_pool_size = 1,
         .queue = std::make_unique<cadre::array_blocking_queue<cadre::task>>(4),
         .rejection = std::move(handler)});
    const auto producer = std::this_thread::get_id();
    std::atomic<int> by_pool = 0;
    std::atomic<int> by_producer = 0;
    int refused = 0;

    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 40; ++i) {
        try {
            pool.execute([&] {
                cadre::this_thread::sleep_for(2ms);
                ++(std::this_thread::get_id() == producer ? by_producer : by_pool);
            });
        } catch (const cadre::rejected_execution&) {
            ++refused;
        }
    }
    const std::chrono::duration<double, std::milli> feeding =
        std::chrono::steady_clock::now() - begin;
    pool.close();
    std::cout << std::left << std::setw(20) << policy << std::right << std::setw(8) << by_pool
              << std::setw(13) << by_producer << std::setw(9) << refused << std::setw(9)
              << std::fixed << std::setprecision(0) << feeding.count() << " ms\n";
}

int main() {
    std::cout << "40 tasks            by pool  by producer  refused  producer busy\n";
    feed("abort_policy", cadre::abort_policy{});
    feed("caller_runs_policy", cadre::caller_runs_policy{});
    feed("block_policy", cadre::block_policy{});
    feed("block_policy{1ms}", cadre::block_policy{1ms});
}
