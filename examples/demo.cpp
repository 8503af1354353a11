// SPDX-License-Identifier: Apache-2.0
// A small service under a mixed load, for `make run`: clients send requests, each request asks a
// database and now and then orders a report.
//
//   requests  bounded array queue; when it is full, the client does the work itself
//   io        a thread for each question to the database, up to 64; idle ones leave
//   batch     one thread on a priority queue: reports of gold customers go first
//
// The requests pool is too small for the rush hour. In the middle of the run it is resized, live.

#include <array>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <numbers>

#include <unistd.h>

#include <cadre/cadre.hpp>

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

namespace {

/// How long the reports of one kind of customer lay in the queue.
struct waiting_time {
    std::atomic<std::int64_t> reports = 0;
    std::atomic<std::int64_t> milliseconds = 0;
    void add(steady::duration d) {
        ++reports;
        milliseconds += std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
    }
    double average() const {
        return reports == 0 ? 0.0
                            : static_cast<double>(milliseconds) / static_cast<double>(reports);
    }
};

struct service {
    waiting_time gold, others;  // before the pools: their tasks use them
    cadre::thread_pool_executor batch{
        {.core_pool_size = 1,
         .queue = std::make_unique<cadre::priority_blocking_queue<cadre::task>>(),
         .name = "batch"}};
    cadre::thread_pool_executor io{
        {.core_pool_size = 0,
         .maximum_pool_size = 64,
         .keep_alive = 500ms,
         .queue = std::make_unique<cadre::synchronous_queue<cadre::task>>(),
         .rejection = cadre::block_policy{1s},
         .name = "io"}};
    cadre::thread_pool_executor requests{
        {.core_pool_size = 2,
         .maximum_pool_size = 4,
         .queue = std::make_unique<cadre::array_blocking_queue<cadre::task>>(32),
         .rejection = cadre::caller_runs_policy{},
         .name = "requests"}};

    void handle(int number) {
        cadre::this_thread::sleep_for(8ms);
        io.execute([number] { cadre::this_thread::sleep_for(10ms + number % 20 * 1ms); });
        if (number % 10 == 0) order_report(number % 50 == 0);
    }
    void order_report(bool for_gold) {
        const auto ordered = steady::now();
        batch.execute(cadre::prioritized(for_gold ? 10 : 0, [this, for_gold, ordered] {
            (for_gold ? gold : others).add(steady::now() - ordered);
            cadre::this_thread::sleep_for(20ms);
        }));
    }
};

/// Sends requests until it is interrupted: 350 a second on average, in two waves.
void send_requests(service& to, int seconds) {
    const auto begin = steady::now();
    double due = 0;
    for (int sent = 0;; cadre::this_thread::sleep_for(10ms)) {
        const double hours = std::chrono::duration<double>(steady::now() - begin).count() / seconds;
        due = 350.0 * seconds *
              (hours - std::sin(4 * std::numbers::pi * hours) / (5 * std::numbers::pi));
        for (; sent < due; ++sent) to.requests.execute([&to, sent] { to.handle(sent); });
    }
}

void print_header(int seconds) {
    const bool terminal = ::isatty(STDOUT_FILENO) != 0;
    std::printf("Three pools under a mixed load for %d s. Ctrl-C ends it.\n\n", seconds);
    std::printf(
        "%s       requests                                   io                     batch\n"
        "  sec  threads  queue                done by-client  threads  busy  done  queue  done%s\n",
        terminal ? "\033[1m" : "", terminal ? "\033[0m" : "");
}

/// What happened between two looks at the three pools.
void print_row(int second, const service& s, std::array<cadre::pool_snapshot, 3>& before) {
    const std::array now = {s.requests.snapshot(), s.io.snapshot(), s.batch.snapshot()};
    const auto done = [&](std::size_t pool) {
        return static_cast<long>(now[pool].completed_task_count -
                                 before[pool].completed_task_count);
    };
    const auto capacity = now[0].queue_size + now[0].queue_remaining_capacity;
    const std::string bar(now[0].queue_size * 12 / capacity, '#');
    const auto back = now[0].rejected_task_count - before[0].rejected_task_count;
    std::printf("%5d  %3d/%-3d  [%-12s] %2zu  %5ld %9ld  %7d %5d %5ld  %5zu %5ld\n", second,
                now[0].pool_size, now[0].maximum_pool_size, bar.c_str(), now[0].queue_size, done(0),
                static_cast<long>(back), now[1].pool_size, now[1].active_count, done(1),
                now[2].queue_size, done(2));
    std::fflush(stdout);
    before = now;
}

void print_summary(const service& s) {
    std::printf("\n  pool      tasks run  most threads  when it was full\n");
    const auto row = [](const cadre::thread_pool_executor& pool, const char* policy) {
        const auto now = pool.snapshot();
        std::printf("  %-9s %9ld  %12d  %ld %s\n", now.name.c_str(),
                    static_cast<long>(now.completed_task_count), now.largest_pool_size,
                    static_cast<long>(now.rejected_task_count), policy);
    };
    row(s.requests, "run by the client that sent them");
    row(s.io, "waited for a thread");
    row(s.batch, "(it has no bound)");
    std::printf("\n  Reports waited %.0f ms for gold customers, %.0f ms for the others.\n",
                s.gold.average(), s.others.average());
}

/// -1 if the arguments make no sense.
int seconds_of(int argc, char** argv) {
    if (argc == 1) return 8;
    if (argc != 3 || std::strcmp(argv[1], "--seconds") != 0) return -1;
    int seconds = -1;
    const char* const end = argv[2] + std::strlen(argv[2]);
    const auto read = std::from_chars(argv[2], end, seconds);
    return read.ec == std::errc() && read.ptr == end && seconds >= 1 && seconds <= 3600 ? seconds
                                                                                        : -1;
}

}  // namespace

int main(int argc, char** argv) {
    const int seconds = seconds_of(argc, argv);
    if (seconds < 0) {
        std::fprintf(stderr, "demo: bad arguments; it takes --seconds N, N from 1 to 3600\n");
        return 2;
    }
    sigset_t ending;  // blocked before any thread is made, and waited for below
    sigemptyset(&ending);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &ending, nullptr);

    service s;
    cadre::thread clients({.name = "clients"}, [&] { send_requests(s, seconds); });
    std::array<cadre::pool_snapshot, 3> before;
    print_header(seconds);
    const timespec one_second = {.tv_sec = 1, .tv_nsec = 0};
    for (int second = 1; second <= seconds; ++second) {
        if (sigtimedwait(&ending, nullptr, &one_second) > 0) {
            std::printf("\n      stopping: what was accepted is finished\n");
            break;
        }
        print_row(second, s, before);
        if (second == seconds / 2) {
            s.requests.resize(8, 12);
            std::printf("       resize(8, 12), while it works\n");
        }
    }
    clients.interrupt();
    clients.join();
    for (auto* pool : {&s.requests, &s.io, &s.batch}) pool->close();  // in the order of the flow
    print_summary(s);
}
