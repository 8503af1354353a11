// SPDX-License-Identifier: Apache-2.0

#include "ticker.hpp"

#include <algorithm>
#include <exception>

#include <pthread.h>
#include <unistd.h>

#include <cadre/task_observer.hpp>

namespace cadre::manage::detail {
namespace {

constexpr auto pause = (task_observer::most_ticks_behind - 1) * task_observer::tick_unit;

std::uint64_t now_in_units() noexcept {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                                      task_observer::tick_unit);
}

}  // namespace

/// A process that was forked from one with a ticker gets its own. The inherited one has no thread,
/// and a lock that may be held by nobody, so it is left alone.
std::shared_ptr<ticker> ticker::of_this_process() {
    static std::mutex mutex;
    static std::weak_ptr<ticker> shared;
    const std::lock_guard lock(mutex);
    auto found = shared.lock();
    if (!found || found->is_inherited()) {
        found.reset(new ticker, [](ticker* last) {
            if (!last->is_inherited()) delete last;
        });
        shared = found;
    }
    return found;
}

bool ticker::is_inherited() const noexcept { return process_ != ::getpid(); }

ticker::ticker() : process_(::getpid()) {}

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
    try {
        const std::lock_guard lock(mutex_);
        if (std::find(listeners_.begin(), listeners_.end(), &who) != listeners_.end()) return;
        if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
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
