// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <csignal>
#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <cadre/detail/duration.hpp>
#include <cadre/detail/export.hpp>
#include <cadre/detail/thread_control.hpp>

namespace cadre {

/// How a thread is to be made.
struct thread_attributes {
    std::string name = {};       ///< the system shows its first 15 bytes; handles give all of it
    std::size_t stack_size = 0;  ///< 0: the system's default; less than its minimum: the minimum
    int nice = 0;                ///< -20 to 19; best effort: without the right, nothing changes
    std::vector<int> cpus = {};  ///< where it may run; empty: anywhere
};

/// Stands for a thread, any thread of the process; copyable, and good for longer than the thread.
/// All members may be called from any thread.
class CADRE_API thread_handle {
public:
    /// The calling thread's, whoever made it.
    static thread_handle current();

    /// Sets the thread's interrupt flag. If it waits in a blocking call of this library, that
    /// call throws interrupted; else the next one does. No effect on a thread that has ended.
    void interrupt() const noexcept { control_->interrupt(); }
    bool is_interrupted() const noexcept { return control_->is_interrupted(); }
    std::string name() const { return control_->name(); }
    std::thread::id id() const noexcept { return control_->id(); }

    friend bool operator==(const thread_handle&, const thread_handle&) = default;

private:
    friend class thread;
    explicit thread_handle(detail::intrusive_ptr<detail::thread_control> control)
        : control_(std::move(control)) {}

    detail::intrusive_ptr<detail::thread_control> control_;  // never null
};

class thread;
namespace detail {
/// Joins the thread, if there is one; an interrupt that comes meanwhile stays for later. The
/// calling thread, which cannot wait for itself, is let go of.
CADRE_API void join_whatever_comes(thread& t) noexcept;
}  // namespace detail

/// A thread that can be interrupted. Like std::jthread it is joined when destroyed, after an
/// interrupt(). An `interrupted` that leaves its body ends the thread quietly; any other
/// exception that does ends the process, as with std::thread. Signals sent to the process are
/// not delivered to it. A process that it forks has the signal mask of the thread that made it; for
/// posix_spawn(), std::system() and popen(), see this_thread::original_signals_scope.
///
///     cadre::thread worker([&] { for (;;) handle(queue.take()); });
///     ...
///     worker.interrupt();  // take() throws, the thread ends
class CADRE_API thread {
public:
    /// No thread.
    thread() noexcept = default;
    /// Starts a thread that runs `body`. Throws std::invalid_argument if the body is empty or an
    /// attribute is impossible, std::system_error if the system has no thread to give.
    explicit thread(std::function<void()> body);
    thread(thread_attributes attributes, std::function<void()> body);
    thread(thread&&) noexcept = default;
    thread& operator=(thread&& other) noexcept;
    ~thread();

    bool joinable() const noexcept { return running_ != nullptr; }
    /// Waits for the thread to end; it is then joinable no longer. An interruption point.
    /// Throws illegal_state if there is no thread or it is the calling one.
    void join();
    /// Lets the thread run on by itself.
    void detach();
    /// Has no effect without a thread, or on one that has ended.
    void interrupt();
    bool is_interrupted() const;
    /// Throws illegal_state if there is no thread.
    thread_handle handle() const;

private:
    friend void detail::join_whatever_comes(thread& t) noexcept;
    struct running;
    static void* enter(void* argument);
    void join_quietly() noexcept;
    void join_now() noexcept;

    std::shared_ptr<running> running_;  // null: no thread
};

namespace this_thread {

/// True if the calling thread has been interrupted; clears the flag.
CADRE_API bool interrupted();
/// True if the calling thread has been interrupted; leaves the flag as it is.
CADRE_API bool is_interrupted();
/// Throws cadre::interrupted, and clears the flag, if the calling thread has been interrupted.
CADRE_API void interruption_point();

/// Of the task that this thread is running: stopped by cancel(true) of its future and by
/// shutdown_now() of its pool. Outside any task: a token that is never stopped.
CADRE_API std::stop_token stop_token();

/// For tasks that start processes: std::system(), popen() and posix_spawn() hand the signal mask of
/// the calling thread on, and that of a cadre::thread blocks SIGTERM, SIGINT, SIGCHLD and the rest.
/// While this lives, the calling thread has the mask of the thread that made it, or made the thread
/// that made it: the first that is no cadre::thread. Signals of the process may be delivered to it
/// meanwhile. On any other thread it changes nothing.
///
///     pool.execute([] {
///         const cadre::this_thread::original_signals_scope scope;
///         std::system("convert in.png out.jpg");
///     });
class [[nodiscard]] CADRE_API original_signals_scope {
public:
    original_signals_scope() noexcept;
    ~original_signals_scope();
    original_signals_scope(const original_signals_scope&) = delete;
    original_signals_scope& operator=(const original_signals_scope&) = delete;

private:
    sigset_t before_;
};

CADRE_API void sleep_until(detail::steady_time deadline);

/// Sleeps for at least this long. Throws cadre::interrupted if interrupted before or meanwhile.
template <class Rep, class Period>
void sleep_for(std::chrono::duration<Rep, Period> d) {
    this_thread::sleep_until(detail::deadline_after(detail::saturated(d)));
}
template <class Clock, class Duration>
void sleep_until(std::chrono::time_point<Clock, Duration> t) {
    this_thread::sleep_until(detail::steady_deadline(t));
}

}  // namespace this_thread

/// Makes the threads of a pool: it gets what the thread is to run and returns the thread that
/// runs it; to run it itself is an illegal_state. thread{} refuses: the pool goes on with the
/// threads it has. An exception fails: it reaches whoever submitted the task that asked for a
/// thread.
using thread_factory = std::function<thread(std::function<void()> body)>;

/// Names its threads pool-N-thread-M: N counts the factories of the process, M the threads of
/// one. A pool with a name of its own puts that name in the place of pool-N. Refuses when the
/// system has no thread to give; a pool that has no thread at all then rejects the task.
CADRE_API thread_factory default_thread_factory();
/// Names its threads PREFIX-M, and gives them these attributes.
CADRE_API thread_factory named_thread_factory(std::string prefix,
                                              thread_attributes attributes = {});

/// How many processors this process may use, at least 1: the affinity mask and the CPU quotas of
/// its control groups (v1 and v2) counted, a part of a processor as a whole one.
CADRE_API int available_processors();

}  // namespace cadre
