// SPDX-License-Identifier: Apache-2.0

#include <cadre/thread.hpp>

#include <algorithm>
#include <atomic>
#include <climits>
#include <csignal>
#include <system_error>

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cadre/detail/condition.hpp>
#include <cadre/errors.hpp>

#include "forks.hpp"
#include "thread_factories.hpp"

namespace cadre {

/// Shared by the thread object and the thread itself, so that either may go first.
struct thread::running {
    running(thread_attributes a, std::function<void()> b)
        : attributes(std::move(a)),
          body(std::move(b)),
          control(detail::intrusive_ptr<detail::thread_control>::adopt(
              new detail::thread_control(attributes.name))) {}

    const thread_attributes attributes;
    std::function<void()> body;  // the thread's own once it runs
    const detail::intrusive_ptr<detail::thread_control> control;
    pthread_t id{};              // the thread object's
    sigset_t mask_of_creator{};  // set before the thread is made

    std::mutex mutex;  // guards `over`
    detail::condition ended;
    bool over = false;
};

namespace {

class thread_attribute_set {
public:
    explicit thread_attribute_set(const thread_attributes& wanted) {
        pthread_attr_init(&attributes_);
        if (wanted.stack_size > 0) set_stack_size(wanted.stack_size);
    }
    ~thread_attribute_set() { pthread_attr_destroy(&attributes_); }
    thread_attribute_set(const thread_attribute_set&) = delete;
    thread_attribute_set& operator=(const thread_attribute_set&) = delete;
    const pthread_attr_t* get() const { return &attributes_; }

private:
    void set_stack_size(std::size_t size) {
        const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        const auto least = static_cast<std::size_t>(PTHREAD_STACK_MIN) + page;
        const std::size_t wanted = std::max(size, least);
        const std::size_t whole = wanted + (page - wanted % page) % page;
        if (whole < wanted || pthread_attr_setstacksize(&attributes_, whole) != 0) {
            pthread_attr_destroy(&attributes_);
            throw std::invalid_argument("stack_size (" + std::to_string(size) +
                                        ") is more than a thread can have");
        }
    }
    pthread_attr_t attributes_;
};

/// Keeps signals meant for the process away from threads made while it lives; those that a
/// thread brings on itself stay.
class signals_blocked_scope {
public:
    signals_blocked_scope() {
        sigset_t all;
        sigfillset(&all);
        for (int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF})
            sigdelset(&all, own);
        pthread_sigmask(SIG_BLOCK, &all, &before_);
    }
    const sigset_t& before() const { return before_; }
    ~signals_blocked_scope() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    signals_blocked_scope(const signals_blocked_scope&) = delete;
    signals_blocked_scope& operator=(const signals_blocked_scope&) = delete;

private:
    sigset_t before_;
};

void check(const thread_attributes& wanted) {
    if (wanted.nice < -20 || wanted.nice > 19)
        throw std::invalid_argument("nice (" + std::to_string(wanted.nice) +
                                    ") is not between -20 and 19");
    for (int cpu : wanted.cpus)
        if (cpu < 0 || cpu >= CPU_SETSIZE)
            throw std::invalid_argument("cpus has " + std::to_string(cpu) +
                                        ", which is not between 0 and " +
                                        std::to_string(CPU_SETSIZE - 1));
}

/// What of the attributes can be done only by the thread itself; all of it best effort.
void apply_to_this_thread(const thread_attributes& wanted) {
    if (!wanted.name.empty()) pthread_setname_np(pthread_self(), wanted.name.substr(0, 15).c_str());
    if (wanted.nice != 0)
        setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), wanted.nice);
    if (!wanted.cpus.empty()) {
        cpu_set_t set;
        CPU_ZERO(&set);
        for (int cpu : wanted.cpus) CPU_SET(static_cast<std::size_t>(cpu), &set);
        pthread_setaffinity_np(pthread_self(), sizeof set, &set);
    }
}

}  // namespace

thread::thread(std::function<void()> body) : thread(thread_attributes{}, std::move(body)) {}

thread::thread(thread_attributes attributes, std::function<void()> body) {
    if (!body) throw std::invalid_argument("body is empty: a thread needs something to run");
    check(attributes);
    const thread_attribute_set set(attributes);
    auto started = std::make_shared<running>(std::move(attributes), std::move(body));
    auto argument = std::make_unique<std::shared_ptr<running>>(started);
    detail::thread_control::prepare();
    const signals_blocked_scope blocked;
    // A worker makes its successor: what counts is who made the first of them.
    const sigset_t* inherited = detail::mask_of_children();
    started->mask_of_creator = inherited ? *inherited : blocked.before();
    if (const int error = pthread_create(&started->id, set.get(), &thread::enter, argument.get()))
        throw std::system_error(error, std::generic_category(), "cannot start a thread");
    static_cast<void>(argument.release());  // the thread has it
    running_ = std::move(started);
}

void* thread::enter(void* argument) {
    const std::unique_ptr<std::shared_ptr<running>> passed(
        static_cast<std::shared_ptr<running>*>(argument));
    running& self = **passed;
    detail::set_mask_of_children(self.mask_of_creator);
    const bool leaves_by_itself = self.control->enter();
    [&]() noexcept {  // an exception that leaves the body ends the process here
        try {
            apply_to_this_thread(self.attributes);
            self.body();
            self.body = nullptr;  // releases the captures before join() returns
        } catch (const interrupted&) {
            self.body = nullptr;
        }
    }();
    self.control->end();
    if (!leaves_by_itself) self.control->leave();
    detail::deferred_wake wake;
    const std::lock_guard lock(self.mutex);
    self.over = true;
    self.ended.notify_all(wake);
    return nullptr;
}

thread& thread::operator=(thread&& other) noexcept {
    if (this == &other) return *this;
    join_quietly();
    running_ = std::move(other.running_);
    return *this;
}

thread::~thread() { join_quietly(); }

void thread::join_quietly() noexcept {
    if (running_) running_->control->abandon();
    join_now();
}

void thread::join_now() noexcept {
    if (!running_) return;
    if (pthread_equal(running_->id, pthread_self()))
        pthread_detach(running_->id);  // a thread cannot wait for itself
    else
        pthread_join(running_->id, nullptr);
    running_ = nullptr;
}

void thread::join() {
    if (!running_) throw illegal_state("join() without a thread");
    if (pthread_equal(running_->id, pthread_self()))
        throw illegal_state("join() of the calling thread would wait for ever");
    {
        std::unique_lock lock(running_->mutex);
        running_->ended.wait(lock, [this] { return running_->over; });
    }
    pthread_join(running_->id, nullptr);
    running_ = nullptr;
}

void thread::detach() {
    if (!running_) throw illegal_state("detach() without a thread");
    pthread_detach(running_->id);
    running_ = nullptr;
}

void thread::interrupt() {
    if (running_) running_->control->interrupt();
}

bool thread::is_interrupted() const { return running_ && running_->control->is_interrupted(); }

thread_handle thread::handle() const {
    if (!running_) throw illegal_state("handle() without a thread");
    return thread_handle(running_->control);
}

thread_handle thread_handle::current() {
    return thread_handle(
        detail::intrusive_ptr<detail::thread_control>(&detail::thread_control::current()));
}

namespace this_thread {

bool interrupted() { return detail::thread_control::current().take_interrupt(); }

bool is_interrupted() { return detail::thread_control::current().is_interrupted(); }

void interruption_point() { detail::thread_control::current().throw_if_interrupted(); }

std::stop_token stop_token() {
    auto& self = detail::thread_control::current();
    return self.running ? self.running->stop_token(self) : std::stop_token();
}

original_signals_scope::original_signals_scope() noexcept {
    const sigset_t* original = detail::mask_of_children();
    pthread_sigmask(SIG_SETMASK, original, &before_);
}

original_signals_scope::~original_signals_scope() {
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void sleep_until(detail::steady_time deadline) {
    auto& self = detail::thread_control::current();
    for (;;) {
        self.throw_if_interrupted();
        if (std::chrono::steady_clock::now() >= deadline) return;
        self.park_until(deadline);
    }
}

}  // namespace this_thread

thread_factory default_thread_factory() { return detail::default_factory(); }

thread_factory named_thread_factory(std::string prefix, thread_attributes attributes) {
    return detail::prefix_factory(std::move(prefix), std::move(attributes));
}

namespace detail {

void join_whatever_comes(thread& t) noexcept { t.join_now(); }

thread make_thread_or_refuse(thread_attributes attributes, std::function<void()> body) {
    constexpr int retries = 5;  // some 30 ms in all: the kernel may refuse once under load
    for (int i = 0;; ++i) {
        try {
            return thread(attributes, body);
        } catch (const std::system_error& error) {
            if (error.code() != std::errc::resource_unavailable_try_again) throw;
        }
        if (i == retries) return thread();
        std::this_thread::sleep_for(std::chrono::milliseconds(1 << i));
    }
}

default_factory::default_factory() {
    static std::atomic<int> factories = 0;
    number_ = ++factories;
}

thread default_factory::operator()(std::function<void()> body) const {
    return make("pool-" + std::to_string(number_), std::move(body));
}

thread default_factory::make(const std::string& pool_name, std::function<void()> body) const {
    const int thread_number = made_->fetch_add(1) + 1;
    return make_thread_or_refuse({.name = pool_name + "-thread-" + std::to_string(thread_number)},
                                 std::move(body));
}

thread prefix_factory::operator()(std::function<void()> body) const {
    thread_attributes attributes = attributes_;
    attributes.name = prefix_ + "-" + std::to_string(made_->fetch_add(1) + 1);
    return make_thread_or_refuse(std::move(attributes), std::move(body));
}

}  // namespace detail

}  // namespace cadre
