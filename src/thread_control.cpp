// SPDX-License-Identifier: Apache-2.0
//
// The parker. permit_ is a futex word with three values:
//   none    nobody sleeps, no wake-up is remembered
//   granted a wake-up came while nobody slept; the next park returns at once and uses it up
//   asleep  the thread sleeps, or is about to
// Only the thread itself goes from none to asleep, and only by a compare-exchange that fails if
// a permit came in between; unpark() exchanges in `granted` and calls the kernel only if it found
// `asleep`. The kernel compares the word again before it sleeps. So a permit is never lost, and
// one that nobody needs costs no system call.
//
// Every wait of the library ends here, one thread to a futex word. That is why it depends neither
// on pthread_cond_signal, which in glibc before 2.41 may wake nobody when several threads wait
// (bug 25847), nor on std::counting_semaphore, whose release loses wake-ups in libstdc++ 12.
//
// The interrupt flag is set before the unpark(), and every wait looks at the flag after each
// return of park_until() and before the first, so an interrupt cannot slip between look and sleep.

#include <cadre/detail/thread_control.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <new>
#include <system_error>

#include <pthread.h>

#include <cadre/detail/schedule_point.hpp>
#include <cadre/errors.hpp>

#include "forks.hpp"
#include "futex.hpp"
#include "wait_graph.hpp"

namespace cadre::detail {

namespace {

constexpr std::uint32_t none = 0;
constexpr std::uint32_t granted = 1;
constexpr std::uint32_t asleep = 2;

// What id_is_ says. std::atomic::wait would share a table of libstdc++ with strangers.
constexpr std::uint32_t unknown = 0;
constexpr std::uint32_t awaited = 1;
constexpr std::uint32_t known = 2;

thread_local thread_control* current_control = nullptr;

/// Lets go of the control of a thread that ends: after the destructors of the thread's
/// thread_local objects, which may still wait for something.
constinit std::atomic<bool> has_exit_key = false;
pthread_key_t exit_key() {
    static const pthread_key_t key = [] {
        pthread_key_t made{};
        const int error = pthread_key_create(
            &made, [](void* control) { static_cast<thread_control*>(control)->leave(); });
        if (error != 0) throw std::system_error(error, std::generic_category(), "no thread key");
        has_exit_key = true;
        return made;
    }();
    return key;
}

/// What is copied to be thrown: the text of an exception takes memory, a copy shares it. An
/// interrupt must not be lost for want of memory. Made when the library is loaded, and never
/// destroyed: threads may end after everything else.
constinit std::atomic<const interrupted*> an_interrupted = nullptr;
[[gnu::constructor]] void make_an_interrupted() {
    alignas(interrupted) static std::byte storage[sizeof(interrupted)];
    // release: pairs with throw_if_interrupted(), for threads may run before this does.
    an_interrupted.store(::new (static_cast<void*>(storage)) interrupted(),
                         std::memory_order_release);
}

/// When the library is unloaded, that function goes with it, and threads that used the library must
/// not call it any more when they end: their controls are left where they are.
[[gnu::destructor]] void forget_exit_key() {
    if (has_exit_key) pthread_key_delete(exit_key());
}

}  // namespace

thread_control& thread_control::current() {
    if (!current_control) {
        prepare();
        auto control = intrusive_ptr<thread_control>::adopt(new thread_control(std::string()));
        if (const int error = control->let_go_at_exit())
            throw std::system_error(error, std::generic_category(), "no room for a thread's data");
        control->make_current();
    }
    return *current_control;
}

thread_control* thread_control::current_if_any() noexcept { return current_control; }

thread_control& thread_control::current_whatever_comes() noexcept {
    for (;;) {
        try {
            return current();
        } catch (...) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
}

void thread_control::prepare() {
    watch_forks();
    static_cast<void>(exit_key());
}

int thread_control::let_go_at_exit() noexcept {
    const int error = pthread_setspecific(exit_key(), this);
    return error == EINVAL ? 0 : error;  // which it is while the library is being unloaded
}

void thread_control::make_current() noexcept {
    add_ref();
    id_.store(std::this_thread::get_id());
    if (id_is_.exchange(known) == awaited) futex_wake_all(id_is_);
    current_control = this;
}

std::thread::id thread_control::id() const noexcept {
    std::uint32_t seen = unknown;
    id_is_.compare_exchange_strong(seen, awaited);
    while (id_is_.load() == awaited) futex_wait(id_is_, awaited, forever);
    return id_.load();
}

bool thread_control::enter() noexcept {
    const bool leaves_by_itself = let_go_at_exit() == 0;
    make_current();
    return leaves_by_itself;
}

void thread_control::leave() noexcept {
    current_control = nullptr;
    end();
    release();
}

void thread_control::before_fork() noexcept {
    if (!current_control) return;
    current_control->mutex_.lock();
    auto* const running = current_control->running;
    auto* const slot = running ? running->slot_if_any() : nullptr;
    if (slot) slot->mutex_.lock();
    current_control->held_for_fork_ = slot;
}

void thread_control::after_fork() noexcept {
    if (!current_control) return;
    if (auto* const slot = std::exchange(current_control->held_for_fork_, nullptr))
        slot->mutex_.unlock();
    current_control->mutex_.unlock();
}

void thread_control::release() noexcept {
    // acq_rel: what each holder did happens before the deletion by the last one.
    if (references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    wait_for_graph_readers();
    delete this;
}

void thread_control::park_until(steady_time deadline) noexcept {
    std::uint32_t seen = none;
    CADRE_SCHEDULE_POINT("a park");
    if (permit_.compare_exchange_strong(seen, asleep)) futex_wait(permit_, asleep, deadline);
    permit_.exchange(none);
}

void thread_control::unpark() noexcept {
    if (permit_.exchange(granted) == asleep) futex_wake_one(permit_);
}

void thread_control::raise(std::uint32_t bit) noexcept {
    if (ended_.load()) return;
    flags_.fetch_or(bit);
    CADRE_SCHEDULE_POINT("between flag and wake-up");
    unpark();
}

void thread_control::interrupt_for(const future_core& task) noexcept {
    std::lock_guard lock(mutex_);
    for (auto* s = suspended_; s; s = s->outer_)
        if (s->task_ == &task) {
            s->missed_ = true;
            return;
        }
    interrupt();
}

bool thread_control::is_told_to_stop() const {
    std::lock_guard lock(mutex_);
    return stop_requested_;
}

bool thread_control::stop_if_no_sources() noexcept {
    std::lock_guard lock(mutex_);
    if (!stop_sources_.empty()) return false;
    stop_requested_ = true;
    return true;
}

void thread_control::copy_stop_sources(std::vector<std::stop_source>& to) const noexcept {
    std::lock_guard lock(mutex_);
    try {
        to.insert(to.end(), stop_sources_.begin(), stop_sources_.end());
    } catch (const std::bad_alloc&) {}
}

void thread_control::throw_if_interrupted() {
    if (!wait_must_end()) return;
    only_nudged_ = !(flags_.fetch_and(~visible_) & interrupted_bit);
    const auto* const made = an_interrupted.load(std::memory_order_acquire);
    if (!made) throw interrupted();  // another library is still being loaded
    throw interrupted(*made);
}

std::string thread_control::name() const {
    std::lock_guard lock(mutex_);
    return name_;
}

void thread_control::rename(std::string name) {
    std::lock_guard lock(mutex_);
    name_.swap(name);
}

void thread_control::end() noexcept {
    ended_.store(true);
    flags_.store(0);
}

/// One after the other, for a copy of all of them would take memory. Those that come meanwhile are
/// stopped by whoever asks for them.
void thread_control::request_stop_all() noexcept {
    std::unique_lock lock(mutex_);
    stop_requested_ = true;
    for (;;) {
        const auto next = std::find_if(stop_sources_.begin(), stop_sources_.end(),
                                       [](const auto& s) { return !s.stop_requested(); });
        if (next == stop_sources_.end()) return;
        std::stop_source source = *next;
        lock.unlock();  // users' callbacks run in here
        source.request_stop();
        lock.lock();
    }
}

std::stop_token stop_slot::stop_token(thread_control& runner) {
    {
        std::lock_guard lock(mutex_);
        if (source_.stop_possible()) return source_.get_token();
    }
    // What takes memory comes first: without it there is no token that a stop would not reach.
    std::stop_source made;
    bool stopped = false;
    {
        std::lock_guard lock(runner.mutex_);
        runner.stop_sources_.push_back(made);
        stopped = runner.stop_requested_;
    }
    {
        std::lock_guard lock(mutex_);
        source_ = made;
        used_.store(true, std::memory_order_relaxed);
        stopped = stopped || requested_;
    }
    if (stopped) made.request_stop();
    return made.get_token();
}

void stop_slot::request_stop() {
    std::stop_source source(std::nostopstate);
    {
        std::lock_guard lock(mutex_);
        requested_ = true;
        used_.store(true, std::memory_order_relaxed);
        source = source_;
    }
    source.request_stop();
}

void stop_slot::forget(thread_control& runner) noexcept {
    std::stop_source source(std::nostopstate);
    {
        std::lock_guard lock(mutex_);
        source.swap(source_);
        requested_ = false;
        used_.store(false, std::memory_order_relaxed);
    }
    std::lock_guard lock(runner.mutex_);
    std::erase(runner.stop_sources_, source);
}

}  // namespace cadre::detail
