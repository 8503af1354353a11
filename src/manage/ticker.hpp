// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace cadre::manage::detail {

/// Tells those who want to know that time goes by, every four units of task_observer::tick_unit, so
/// that whoever needs a rough time for each of millions of tasks reads a variable instead of a
/// clock. To be woken more often would cost more than all the rest of a monitor. One for all
/// monitors of the process; it has a thread from the first start() on, which sleeps without a time
/// limit while nobody wants to be told.
class ticker {
public:
    class listener {
    public:
        /// Under the ticker's lock; `now` in units. False: it wants to be told no more.
        virtual bool time_passed(std::uint64_t now) noexcept = 0;

    protected:
        ~listener() = default;
    };

    static std::shared_ptr<ticker> of_this_process();
    ticker();
    ~ticker();
    ticker(const ticker&) = delete;
    ticker& operator=(const ticker&) = delete;

    /// Tells it at once, and from then on. Does nothing if there is no thread or memory to be had,
    /// nor in a child of the process that made it.
    void start(listener& who) noexcept;
    /// After that it is not told any more.
    void stop(listener& who) noexcept;

private:
    bool is_inherited() const noexcept;
    void run();
    void tell_all() noexcept;

    const std::uint32_t made_after_;  // so many forks

    std::mutex mutex_;                 // guards all below
    std::condition_variable changed_;  // signalled by the first start() and by the end
    std::vector<listener*> listeners_;
    bool ends_ = false;
    std::uint64_t next_try_ = 0;  // of making the thread, in units
    std::thread thread_;
};

}  // namespace cadre::manage::detail
