// SPDX-License-Identifier: Apache-2.0
//
// What a monitor costs: empty tasks through a pool with and without one, in turns, so that whatever
// else the machine does hits both. Prints the medians of throughput and processor time, and of how
// much more or less of them a monitor makes in a round, with the middle half.
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

/// The value below which that share of them is.
double quantile(std::vector<double> values, double share) {
    std::sort(values.begin(), values.end());
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

std::vector<double> each(const std::vector<cost>& all, double cost::*which) {
    std::vector<double> values;
    for (const auto& one : all) values.push_back(one.*which);
    return values;
}

}  // namespace

int main(int argc, char** argv) {
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 15;
    const int tasks = argc > 2 ? std::atoi(argv[2]) : 1'000'000;
    std::vector<cost> plain;
    std::vector<cost> watched;
    for (int i = 0; i < rounds; ++i) {
        if (i % 2 == 0) plain.push_back(measure(tasks, false));
        watched.push_back(measure(tasks, true));
        if (i % 2 != 0) plain.push_back(measure(tasks, false));
    }
    const auto print = [&](const char* what, const char* unit, double cost::*which, double scale) {
        const auto without = each(plain, which);
        const auto with = each(watched, which);
        std::vector<double> more;  // of each round, in percent
        for (std::size_t i = 0; i < with.size(); ++i)
            more.push_back(100 * (with[i] / without[i] - 1));
        std::printf(
            "%s: without a monitor %.2f %s, with one %.2f; in turns %+.1f %% (%+.1f to %+.1f)\n",
            what, quantile(without, 0.5) * scale, unit, quantile(with, 0.5) * scale,
            quantile(more, 0.5), quantile(more, 0.25), quantile(more, 0.75));
    };
    print("throughput", "million tasks/s", &cost::tasks_per_second, 1e-6);
    print("processor time", "ns a task", &cost::processor_ns, 1);
}
