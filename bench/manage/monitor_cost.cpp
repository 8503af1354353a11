// SPDX-License-Identifier: Apache-2.0
//
// What a monitor costs: empty tasks through a pool with and without one, in turns, so that whatever
// else the machine does hits both. Prints the medians of throughput and processor time.
//
//     build/bench/bench/monitor_cost [rounds] [tasks]

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include <cadre/manage/pool_monitor.hpp>
#include <cadre/thread_pool_executor.hpp>

namespace {

struct cost {
    double tasks_per_second;
    double processor_ns;  // a task, of all threads
};

double processor_seconds() {
    std::timespec t{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

cost measure(int tasks, bool watched) {
    const cadre::manage::pool_monitor monitor;
    cadre::thread_pool_executor pool({.core_pool_size = cadre::available_processors(),
                                      .hooks = watched ? monitor.hooks() : cadre::pool_hooks()});
    pool.prestart_all_core_threads();
    const auto start = std::chrono::steady_clock::now();
    const auto used = processor_seconds();
    for (int i = 0; i < tasks; ++i) pool.execute([] {});
    pool.close();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    return {tasks / took.count(), (processor_seconds() - used) * 1e9 / tasks};
}

double median(const std::vector<cost>& all, double cost::*which) {
    std::vector<double> values;
    for (const auto& one : all) values.push_back(one.*which);
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 15;
    const int tasks = argc > 2 ? std::atoi(argv[2]) : 1'000'000;
    std::vector<cost> plain;
    std::vector<cost> watched;
    for (int i = 0; i < rounds; ++i) {
        plain.push_back(measure(tasks, false));
        watched.push_back(measure(tasks, true));
    }
    const auto print = [&](const char* what, const char* unit, double cost::*which, double scale) {
        const double without = median(plain, which);
        const double with = median(watched, which);
        std::printf("%s: without a monitor %.2f %s, with one %.2f: %+.1f %%\n", what,
                    without * scale, unit, with * scale, 100 * (with / without - 1));
    };
    print("throughput", "million tasks/s", &cost::tasks_per_second, 1e-6);
    print("processor time", "ns a task", &cost::processor_ns, 1);
}
