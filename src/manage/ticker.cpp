// SPDX-License-Identifier: Apache-2.0

#include "ticker.hpp"

#include <algorithm>
#include <csignal>
#include <exception>
#include <system_error>

#include <pthread.h>

#include <cadre/task_observer.hpp>

namespace cadre::manage::detail {
namespace {

constexpr auto pause = (task_observer::most_ticks_behind - 1) * task_observer::tick_unit;

std::uint64_t now_in_units() noexcept {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                                      task_observer::tick_unit);
}

/// How long it is not tried again to make a thread that could not be had.
constexpr std::uint64_t units_between_tries = 1000;

// Held round a fork: a child finds it free.
constinit std::mutex choosing;
constinit std::atomic<std::uint32_t> forks = 0;  // between this process and the one that watches

void watch_forks() {
    static const int error = pthread_atfork([] { choosing.lock(); }, [] { choosing.unlock(); },
                                            [] {
                                                choosing.unlock();
                                                forks.fetch_add(1);
                                            });
    if (error != 0) throw std::system_error(error, std::generic_category(), "pthread_atfork");
}

}  // namespace

/// A process that was forked from one with a ticker gets its own. The inherited one has no thread,
/// and a lock that may be held by nobody, so it is left alone.
std::shared_ptr<ticker> ticker::of_this_process() {
    watch_forks();
    const std::lock_guard lock(choosing);
    static auto& shared = *new std::weak_ptr<ticker>;  // never destroyed: monitors may be made late
    auto found = shared.lock();
    if (!found || found->is_inherited()) {
        found.reset(new ticker, [](ticker* last) {
            if (!last->is_inherited()) delete last;
        });
        shared = found;
    }
    return found;
}

bool ticker::is_inherited() const noexcept { return made_after_ != forks.load(); }

ticker::ticker() : made_after_(forks.load()) {}

ticker::~ticker() {
    if (!thread_.joinable()) return;
    {
        const std::lock_guard lock(mutex_);
        ends_ = true;
        changed_.notify_one();
    }
    thread_.join();
}

void ticker::start(listener& who) noexcept {
    if (is_inherited()) return;
    const std::lock_guard lock(mutex_);
    try {
        if (std::find(listeners_.begin(), listeners_.end(), &who) != listeners_.end()) return;
        if (!thread_.joinable()) {
            if (now_in_units() < next_try_) return;
            next_try_ = now_in_units() + units_between_tries;
            thread_ = std::thread([this] { run(); });
        }
        listeners_.push_back(&who);
        if (!who.time_passed(now_in_units())) return listeners_.pop_back();
        if (listeners_.size() == 1) changed_.notify_one();
    } catch (const std::exception&) {}
}

void ticker::stop(listener& who) noexcept {
    if (is_inherited()) return;
    const std::lock_guard lock(mutex_);
    std::erase(listeners_, &who);
}

void ticker::run() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);  // signals of the process are for others
    pthread_setname_np(pthread_self(), "cadre-ticker");
    std::unique_lock lock(mutex_);
    while (!ends_) {
        if (listeners_.empty())
            changed_.wait(lock, [this] { return ends_ || !listeners_.empty(); });
        else if (!changed_.wait_for(lock, pause, [this] { return ends_; }))
            tell_all();
    }
}

void ticker::tell_all() noexcept {
    const auto now = now_in_units();
    std::erase_if(listeners_, [now](listener* who) { return !who->time_passed(now); });
}

}  // namespace cadre::manage::detail
