// SPDX-License-Identifier: Apache-2.0
// Coroutines on a pool: a producer that sleeps between its orders, two cooks that take them from a
// queue. Nobody blocks a thread while it waits, and one thread is enough for all of them.

#include <iostream>
#include <string>

#include <cadre/cadre.hpp>

using namespace std::chrono_literals;
using orders = cadre::awaitable_queue<std::string>;

cadre::future<void> take_orders(orders& queue, cadre::scheduled_executor_service& timers) {
    for (const char* dish : {"soup", "fish", "cake", "coffee"}) {
        co_await cadre::sleep_on(timers, 5ms);
        queue.put(dish);
    }
    queue.close();
}

cadre::future<int> cook(orders& queue, cadre::executor& pool, std::string name) {
    int cooked = 0;
    while (const auto dish = co_await queue.async_take(pool)) {
        std::cout << name << " cooks " << *dish << '\n';
        ++cooked;
    }
    co_return cooked;
}

cadre::future<int> dinner(cadre::executor& pool, cadre::scheduled_executor_service& timers) {
    co_await pool.schedule();  // from here on, on a thread of the pool
    orders queue(10);
    auto ann = cook(queue, pool, "ann");
    auto bob = cook(queue, pool, "bob");
    co_await take_orders(queue, timers);
    const int of_ann = co_await std::move(ann);
    co_return of_ann + co_await std::move(bob);
}

int main() {
    cadre::thread_pool_executor pool({.core_pool_size = 1, .name = "kitchen"});
    cadre::scheduled_thread_pool_executor timers({.core_pool_size = 1, .name = "timers"});
    std::cout << dinner(pool, timers).get() << " dishes\n";
}
