// SPDX-License-Identifier: Apache-2.0
// A pool with a bounded queue and a policy; one task; its result.

#include <iostream>

#include <cadre/cadre.hpp>

using namespace std::chrono_literals;

int main() {
    cadre::thread_pool_executor pool(
        {.core_pool_size = 2,
         .maximum_pool_size = 8,
         .keep_alive = 30s,
         .queue = std::make_unique<cadre::array_blocking_queue<cadre::task>>(1024),
         .rejection = cadre::caller_runs_policy{},
         .name = "orders"});
    auto answer = pool.submit([](int a, int b) { return a * b; }, 6, 7);
    std::cout << answer.get() << '\n' << pool.to_string() << '\n';
}
