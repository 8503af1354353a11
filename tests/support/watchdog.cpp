// SPDX-License-Identifier: Apache-2.0
//
// Each thread is sent SIGPROF, which workers do not block, and prints its own stack.

#include "support/watchdog.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <memory>
#include <utility>

#include <execinfo.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cadre::testing {

namespace {

constexpr auto longest_snapshot = std::chrono::seconds(5);

std::atomic<int> printed = 0;

void print_this_stack(int) {
    std::array<void*, 64> frames = {};
    const int depth = backtrace(frames.data(), static_cast<int>(frames.size()));
    backtrace_symbols_fd(frames.data(), depth, STDERR_FILENO);
    ++printed;
}

}  // namespace

void print_all_stacks() {
    static std::mutex one_at_a_time;
    const std::lock_guard lock(one_at_a_time);
    printed = 0;
    void* here = nullptr;
    backtrace(&here, 1);  // the first call loads a library, which no signal handler may
    std::signal(SIGPROF, print_this_stack);
    const auto process = getpid();
    int sent = 0;
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
        const int id = std::atoi(thread.path().filename().c_str());
        std::fprintf(stderr, "--- thread %d\n", id);
        if (syscall(SYS_tgkill, process, id, SIGPROF) != 0) continue;
        ++sent;
        for (int i = 0; i < 200 && printed < sent; ++i)  // one after the other, if they answer
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
}

watchdog::watchdog(std::chrono::milliseconds patience, std::function<std::uint64_t()> progress,
                   std::function<std::string()> snapshot)
    : patience_(patience),
      progress_(std::move(progress)),
      snapshot_(std::move(snapshot)),
      watcher_([this] { watch(); }) {}

watchdog::~watchdog() {
    {
        const std::lock_guard lock(mutex_);
        over_ = true;
    }
    ended_.notify_all();
    watcher_.join();
}

/// The snapshot may wait for what those hold that hang. That must not keep the process from its
/// end.
std::string watchdog::snapshot_if_it_comes() {
    auto told = std::make_shared<std::promise<std::string>>();
    auto snapshot = told->get_future();
    std::thread([told, ask = snapshot_] { told->set_value(ask()); }).detach();
    if (snapshot.wait_for(longest_snapshot) == std::future_status::ready) return snapshot.get();
    return "no snapshot: it waits for something that one of these holds";
}

/// Patience is counted in looks, not by the clock: a machine that stood still for a while, and this
/// thread with it, has not been watched meanwhile.
void watchdog::watch() {
    const auto between_looks = std::min(patience_, std::chrono::milliseconds(500));
    std::uint64_t seen = progress_();
    auto still = std::chrono::milliseconds::zero();
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, between_looks, [this] { return over_; })) {
        const auto current = progress_();
        still = std::exchange(seen, current) == current ? still + between_looks : still.zero();
        if (still < patience_) continue;
        std::fprintf(stderr, "watchdog: nothing has moved for %lld ms\n",
                     static_cast<long long>(patience_.count()));
        print_all_stacks();
        std::fprintf(stderr, "%s\n", snapshot_if_it_comes().c_str());
        std::abort();
    }
}

}  // namespace cadre::testing
