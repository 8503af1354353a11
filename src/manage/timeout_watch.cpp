// SPDX-License-Identifier: Apache-2.0
//
// The thread shares its state with the watch, and not more: stop callbacks of users run on it, one
// of which may well let go of the last that holds monitor and watch. That one cannot wait for the
// thread it runs on; so then it goes its way, and ends as soon as it comes back. In a child of the
// process there is no such thread; what it left is not touched there.

#include "timeout_watch.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <new>

#include "monitor_core.hpp"

namespace cadre::manage::detail {

struct timeout_watch::shared {
    std::mutex mutex;  // guards all below
    std::condition_variable changed;
    std::chrono::nanoseconds pause = {};  // zero: nothing to look for
    bool ends = false;
};

timeout_watch::~timeout_watch() {
    if (!thread_.joinable()) return;
    if (is_inherited()) {
        forget_inherited();
        return;
    }
    {
        const std::lock_guard lock(shared_->mutex);
        shared_->ends = true;
        shared_->changed.notify_one();
    }
    if (thread_.get_id() == std::this_thread::get_id())
        thread_.detach();
    else
        thread_.join();
}

bool timeout_watch::is_inherited() const { return made_in_ != ::getpid(); }

/// Neither joined nor detached: its id may be that of another thread of this process by now.
void timeout_watch::forget_inherited() noexcept {
    ::new (static_cast<void*>(&thread_)) std::thread();
    ::new (static_cast<void*>(&shared_)) std::shared_ptr<shared>();
}

void timeout_watch::set_limits(const monitor_limits& limits) {
    const std::lock_guard lock(mutex_);
    const auto core = core_.lock();
    if (!core) return;
    const auto before = core->limits();
    core->set_limits(limits);
    try {
        follow(limits);
    } catch (...) {
        core->set_limits(before);
        throw;
    }
}

void timeout_watch::follow(const monitor_limits& limits) {
    using namespace std::chrono_literals;
    const auto pause = limits.interrupt_on_run_timeout && limits.run_timeout > 0ns
                           ? std::clamp<std::chrono::nanoseconds>(limits.run_timeout / 4, 1ms, 1s)
                           : 0ns;
    if (thread_.joinable() && is_inherited()) forget_inherited();
    if (thread_.joinable()) {
        const std::lock_guard changing(shared_->mutex);
        shared_->pause = pause;
        shared_->changed.notify_one();
    } else if (pause > 0ns) {
        shared_ = std::make_shared<shared>();
        shared_->pause = pause;
        thread_ = std::thread([with = shared_, of = core_] { run(*with, of); });
        made_in_ = ::getpid();
    }
}

void timeout_watch::run(shared& with, const std::weak_ptr<monitor_core>& of) {
    // Signals of the process are for others; what a callback of users brings on itself is not.
    sigset_t all;
    sigfillset(&all);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF})
        sigdelset(&all, own);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    pthread_setname_np(pthread_self(), "cadre-timeouts");
    std::unique_lock lock(with.mutex);
    auto looked = std::chrono::steady_clock::now();
    while (!with.ends) {
        if (with.pause.count() == 0) {
            with.changed.wait(lock);
            looked = std::chrono::steady_clock::now();
        } else if (with.changed.wait_until(lock, looked + with.pause) == std::cv_status::timeout) {
            lock.unlock();
            try {
                if (const auto core = of.lock()) core->check_running();
            } catch (const std::bad_alloc&) {}  // the next look may have more memory
            lock.lock();
            looked = std::chrono::steady_clock::now();
        }
    }
}

}  // namespace cadre::manage::detail
