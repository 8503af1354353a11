// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/ledger.hpp"
#include "support/watched.hpp"
#include <cadre/task.hpp>

namespace cadre::testing {

struct totals {
    std::size_t episodes = 0;
    std::size_t tasks = 0;
    std::size_t accepted = 0;
    std::size_t refused = 0;
    std::size_t ran = 0;
    std::size_t failed = 0;
    std::size_t called_off = 0;
    std::size_t dropped = 0;
    std::size_t futures = 0;
};

enum class ending { close, shutdown, shutdown_now, destructor };

/// One pool, from its making to its end, and the ledger of what it was given.
class episode {
public:
    explicit episode(std::size_t tasks) : tasks_(tasks) {}
    virtual ~episode() = default;
    episode(const episode&) = delete;
    episode& operator=(const episode&) = delete;

    /// Returns what is wrong; empty if nothing is.
    virtual std::string play() = 0;
    /// The plan, and how the pool is; from any thread.
    virtual std::string snapshot() const = 0;

    std::uint64_t progress() const { return tasks_.settled(); }
    /// After play(): closes the ledger, and returns what is wrong in it or with a future.
    std::string close(totals& sum) const {
        const auto books = tasks_.close();
        ++sum.episodes;
        sum.tasks += tasks_.size();
        sum.accepted += books.accepted;
        sum.refused += books.refused;
        sum.ran += books.ran;
        sum.failed += books.failed;
        sum.called_off += books.called_off;
        sum.dropped += books.dropped;
        sum.futures += futures_;
        if (!books.error.empty()) return books.error;
        if (told_ && *told_ != books.failed)
            return std::to_string(books.failed) + " tasks threw, and " + std::to_string(*told_) +
                   " exceptions were told";
        if (books.dropped > explained_)
            return std::to_string(books.dropped) + " were dropped, of which " +
                   std::to_string(explained_) + " were returned, discarded or cancelled by the end";
        return {};
    }

protected:
    /// Ends a pool in one of the ways there are, save by the destructor; returns what came back.
    template <class Pool>
    static std::size_t finish(Pool& pool, ending how) {
        std::size_t returned = 0;
        switch (how) {
            case ending::close:
                pool.close();
                return 0;
            case ending::shutdown:
                pool.shutdown();
                break;
            case ending::shutdown_now:
                returned = pool.shutdown_now().size();
                break;
            case ending::destructor:
                return 0;
        }
        pool.await_termination(std::chrono::minutes(10));
        return returned;
    }

    /// After the end: a future is done; its task ran unless the future says that it was cancelled,
    /// and the other way round unless somebody cancelled it while it ran. A task that nobody called
    /// off and whose future is cancelled is explained by the end of the pool.
    template <class Future>
    std::string check(std::size_t number, const Future& result) {
        ++futures_;
        const std::string task = "of task " + std::to_string(number);
        if (!result.is_done()) return "the future " + task + " is pending after the end";
        if (!tasks_.has_run(number) && !result.is_cancelled())
            return "the future " + task + " has a result, and the task did not run";
        if (tasks_.has_run(number) && !tasks_.was_called_off(number) && result.is_cancelled())
            return "the future " + task + " is cancelled, though the task ran";
        if (tasks_.has_failed(number) && !result.is_cancelled() && !result.exception())
            return "the future " + task + " has lost its exception";
        return {};
    }

    /// The hook of a pool that counts what its tasks throw.
    auto count_failures() {
        return [this](const task&, const std::exception_ptr& thrown) {
            try {
                std::rethrow_exception(thrown);
            } catch (const ledger::failure&) {
                ++failures_told_;
            } catch (...) {}  // of a thread that could not be made
        };
    }

    ledger tasks_;
    std::atomic<std::size_t> failures_told_ = 0;
    /// How many of those that threw must have been told to somebody; nothing: not asked.
    std::optional<std::size_t> told_ = {};
    std::size_t futures_ = 0;
    std::size_t explained_ = 0;  ///< tasks that may have been dropped though nobody called them off
};

/// A pool of any queue, policy and size, resized and ended in any way; tasks with futures are
/// cancelled and removed, and some tasks throw. The number chooses queue and policy: all pairs of
/// them come in turn.
std::unique_ptr<episode> pool_episode(std::size_t number, std::mt19937& random);
/// What most pools do most of the time: very many small tasks through execute(), until the end.
std::unique_ptr<episode> mass_episode(std::mt19937& random);
/// Tasks of a work-stealing pool that submit others, and wait for them, or not.
std::unique_ptr<episode> stealing_episode(std::mt19937& random);
/// Timers: due at once, soon and never, cancelled and removed, with all policies of the end.
std::unique_ptr<episode> timer_episode(std::mt19937& random);

}  // namespace cadre::testing
