// SPDX-License-Identifier: Apache-2.0
//
// A loop is an object shared by its caller and its helpers, tasks of the executor. Each takes one
// chunk after the other, by a counter, until there is none. The caller's function, and what it
// refers to, is there only until the caller returns: so a helper enters, under the mutex, and finds
// the loop closed if it comes late; and the caller closes it and waits for those who are inside.
// Nobody waits for a helper that has not started, so it does not matter when, or if, it ever does.
// A failure is seen by the others within their chunks, as a stop is: these may be long.

#include <cadre/parallel.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

#include <cadre/context.hpp>
#include <cadre/detail/condition.hpp>
#include <cadre/detail/held_exception.hpp>
#include <cadre/errors.hpp>

namespace cadre::detail {

namespace {

using loop_body = function_ref<void(std::size_t, std::size_t)>;

class loop {
public:
    loop(std::size_t count, std::size_t chunks, const parallel_options& how, loop_body body)
        : count_(count), chunks_(chunks), chunk_(how.chunk), stop_(how.stop), body_(body) {}

    bool has_more() const noexcept {
        return next_.load(std::memory_order_relaxed) < chunks_ && !over_.load();
    }
    /// Takes chunks and runs them until there is none left.
    void work() noexcept {
        try {
            while (has_more()) {
                const std::size_t number = next_.fetch_add(1, std::memory_order_relaxed);
                if (number >= chunks_) return;
                const std::size_t from = number * chunk_;
                run_chunk(from, from + std::min(chunk_, count_ - from));
            }
        } catch (...) {
            fail(std::current_exception());
        }
    }
    void fail(std::exception_ptr error) noexcept {
        over_ = true;
        const std::lock_guard lock(mutex_);
        if (!error_) error_.hold(std::move(error));
    }
    void help() noexcept {
        {
            const std::lock_guard lock(mutex_);
            if (closed_) return;
            ++inside_;
        }
        work();
        deferred_wake wake;
        const std::lock_guard lock(mutex_);
        if (--inside_ == 0) nobody_inside_.notify_all(wake);
    }
    /// Waits until no helper is inside, whatever comes, and throws what has failed.
    void close() {
        thread_control::current_whatever_comes();  // the waits below have no time to fail
        bool was_interrupted = false;
        std::unique_lock lock(mutex_);
        closed_ = true;
        while (inside_ > 0) {
            try {
                nobody_inside_.wait(lock, [this] { return inside_ == 0; });
            } catch (const interrupted&) {
                was_interrupted = over_ = true;
            }
        }
        lock.unlock();
        auto& self = thread_control::current();
        if (was_interrupted) self.interrupt();
        if (error_) std::rethrow_exception(error_.get());  // the interrupt is for the next wait
        if (was_interrupted) self.throw_if_interrupted();
    }

private:
    using clock = std::chrono::steady_clock;

    /// In slices, between which it looks whether the loop is over. One takes some ten microseconds,
    /// if elements take about the same time: for the looks not to be felt, and a stop soon.
    void run_chunk(std::size_t from, const std::size_t to) {
        std::size_t slice = 1;
        auto began = clock::now();
        while (from != to && !over_.load(std::memory_order_relaxed)) {
            if (stop_.stop_requested()) throw cancellation("the loop was stopped");
            const std::size_t end = from + std::min(slice, to - from);
            body_(from, end);
            from = end;
            const auto ended = clock::now();
            if (ended - began < std::chrono::microseconds(10))
                slice = std::min<std::size_t>(2 * slice, 4096);
            else
                slice = std::max<std::size_t>(slice / 2, 1);
            began = ended;
        }
    }

    const std::size_t count_;
    const std::size_t chunks_;
    const std::size_t chunk_;
    const std::stop_token stop_;
    const loop_body body_;
    std::atomic<std::size_t> next_ = 0;  // the first chunk that nobody has taken
    std::atomic<bool> over_ = false;     // failed or interrupted: no chunk is to start

    std::mutex mutex_;  // guards all below
    condition nobody_inside_;
    int inside_ = 0;
    bool closed_ = false;
    held_exception error_;  // the first
};

int usual_concurrency() {
    static const int processors = available_processors();  // it reads files
    return processors;
}

}  // namespace

chunked_work::chunked_work(std::size_t count, parallel_options how)
    : count_(count), how_(std::move(how)) {
    if (how_.concurrency < 0)
        throw std::invalid_argument("concurrency (" + std::to_string(how_.concurrency) +
                                    ") is negative");
    if (how_.concurrency == 0) how_.concurrency = usual_concurrency();
    const auto shares = static_cast<std::size_t>(how_.concurrency) * 8;
    if (how_.chunk == 0) how_.chunk = std::max<std::size_t>(count_ / shares, 1);
    how_.chunk = std::min(how_.chunk, std::max<std::size_t>(count_, 1));
    chunks_ = count_ / how_.chunk + (count_ % how_.chunk != 0);
}

void chunked_work::run(executor& where, loop_body body) const {
    if (count_ == 0) return;
    const auto shared = std::make_shared<loop>(count_, chunks_, how_, body);
    const auto helpers = std::min<std::size_t>(static_cast<std::size_t>(how_.concurrency), chunks_);
    try {
        for (std::size_t i = 1; i < helpers && shared->has_more(); ++i)
            where.execute(with_context(task([shared] { shared->help(); })));
    } catch (const interrupted&) {
        shared->fail(std::current_exception());
    } catch (...) {
        // No more helpers, for whatever reason: the loop needs none.
    }
    shared->work();
    shared->close();
}

}  // namespace cadre::detail
