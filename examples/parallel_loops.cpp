// SPDX-License-Identifier: Apache-2.0
// A loop, a sum and a table, each spread over the threads of a pool and the calling one; then two
// tasks that belong together, of which one fails.

#include <cmath>
#include <iostream>
#include <stdexcept>
#include <vector>

#include <cadre/cadre.hpp>

using namespace std::chrono_literals;

int main() {
    cadre::thread_pool_executor pool({.core_pool_size = 2, .name = "work"});

    std::vector<double> waves(100'000);
    cadre::parallel_for(pool, 0, 100'000,
                        [&](int i) { waves[static_cast<std::size_t>(i)] = std::sin(i / 1000.0); });
    const auto square = [](double x) { return x * x; };
    const double energy = cadre::parallel_reduce(pool, waves, 0.0, std::plus<>(), square);
    std::cout << "energy of " << waves.size() << " samples: " << energy << '\n';

    const std::vector<std::string> words = {"structured", "waiting", "for", "all"};
    for (const auto length : cadre::parallel_transform(pool, words, &std::string::size))
        std::cout << length << ' ';
    std::cout << "letters\n";

    cadre::task_group group(pool);  // no task of it outlives this scope
    auto price = group.submit([] {
        cadre::this_thread::sleep_for(1h);  // interrupted when the other fails
        return 42;
    });
    group.submit([] { throw std::runtime_error("the warehouse does not answer"); });
    try {
        group.wait();
    } catch (const std::runtime_error& e) {
        std::cout << "the order failed: " << e.what() << "; the other task was "
                  << (price.is_cancelled() ? "stopped" : "left running") << '\n';
    }
}
