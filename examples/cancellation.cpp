// SPDX-License-Identifier: Apache-2.0
// Three tasks are cancelled: one that waits in the queue, one that polls its stop token, and one
// that is blocked and has to be interrupted.

#include <iostream>
#include <latch>

#include <cadre/cadre.hpp>

using namespace std::chrono_literals;

int main() {
    cadre::thread_pool_executor pool({.core_pool_size = 2, .name = "work"});
    std::latch both_run(2);

    auto polling = pool.submit([&](std::stop_token stop) {
        both_run.count_down();
        long rounds = 0;
        while (!stop.stop_requested()) ++rounds;
        std::cout << "polling: saw its stop token\n";
        return rounds;
    });
    auto blocked = pool.submit([&] {
        both_run.count_down();
        try {
            cadre::this_thread::sleep_for(1h);
        } catch (const cadre::interrupted&) {
            std::cout << "blocked: woken from its sleep of an hour\n";
            throw;
        }
    });
    both_run.wait();

    auto capture = std::make_shared<int>(42);
    auto queued = pool.submit([capture] { return *capture; });  // both threads are busy
    std::cout << std::boolalpha << "queued: cancelled " << queued.cancel()
              << ", its captures are gone " << (capture.use_count() == 1) << '\n';
    pool.purge();  // its empty place in the queue, too

    polling.cancel(true);  // true: stop the token and interrupt the thread
    blocked.cancel(true);
    pool.close();
    try {
        blocked.get();
    } catch (const cadre::cancellation& e) {
        std::cout << "get(): " << e.what() << '\n';
    }
    std::cout << pool.to_string() << '\n';
}
