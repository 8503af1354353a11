// SPDX-License-Identifier: Apache-2.0
// A pool that is too small is made larger while it works, its queue too; then small again. No
// task is lost, and no running task is disturbed.

#include <iostream>
#include <string_view>

#include <cadre/cadre.hpp>

using namespace std::chrono_literals;

void show(std::string_view when, const cadre::thread_pool_executor& pool) {
    cadre::this_thread::sleep_for(20ms);  // new threads have begun by then
    const auto s = pool.snapshot();
    std::cout << when << ": " << s.pool_size << " threads (core " << s.core_pool_size
              << ", maximum " << s.maximum_pool_size << "), " << s.active_count << " busy, "
              << s.queue_size << " queued\n";
}

int main() {
    auto made = std::make_unique<cadre::linked_blocking_queue<cadre::task>>(4);
    auto& queue = *made;  // to resize it later; the pool owns it
    cadre::thread_pool_executor pool(
        {.core_pool_size = 1, .keep_alive = 10ms, .queue = std::move(made)});

    std::atomic<bool> open = false;
    const auto until_opened = [&] { open.wait(false); };
    for (int i = 0; i < 5; ++i) pool.execute(until_opened);
    show("full      ", pool);
    try {
        pool.execute(until_opened);
    } catch (const cadre::rejected_execution& e) {
        std::cout << "one more: " << e.what() << '\n';
    }

    pool.resize(3, 6);       // two new threads start at once, for what is queued
    queue.set_capacity(10);  // and there is room for more
    for (int i = 0; i < 5; ++i) pool.execute(until_opened);
    show("larger    ", pool);

    pool.resize(1, 2);      // busy threads are left alone; they leave once idle for keep_alive
    queue.set_capacity(2);  // drops nothing: refuses until enough have left
    show("small     ", pool);
    open = true;
    open.notify_all();
    while (pool.completed_task_count() < 10 || pool.pool_size() > 1)
        cadre::this_thread::sleep_for(1ms);
    show("idle again", pool);
}
