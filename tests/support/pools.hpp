// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "support/eventually.hpp"
#include <cadre/thread_pool_executor.hpp>

namespace cadre::testing {

/// The queues that pools are given here.
inline std::unique_ptr<blocking_queue<task>> room_for(int tasks) {
    return std::make_unique<array_blocking_queue<task>>(tasks);
}
inline std::unique_ptr<blocking_queue<task>> no_room() {
    return std::make_unique<synchronous_queue<task>>();
}
inline std::unique_ptr<blocking_queue<task>> any_room() {
    return std::make_unique<linked_blocking_queue<task>>();
}

/// Waits until a pool has completed so many tasks.
inline bool has_completed(const thread_pool_executor& pool, std::int64_t tasks) {
    return eventually([&] { return pool.completed_task_count() >= tasks; });
}
/// Waits until a pool has exactly so many threads.
inline bool has_threads(const thread_pool_executor& pool, int threads) {
    return eventually([&] { return pool.pool_size() == threads; });
}

/// A thread factory that counts the threads it was asked for.
class counting_factory {
public:
    thread operator()(std::function<void()> body) const {
        ++*asked_;
        return thread(std::move(body));
    }
    int asked() const { return *asked_; }

private:
    std::shared_ptr<std::atomic<int>> asked_ = std::make_shared<std::atomic<int>>(0);
};

/// What a call throws, as text: what() of an E; empty if it throws nothing.
template <class E, class Call>
std::string message_of(Call call) {
    try {
        call();
    } catch (const E& e) {
        return e.what();
    }
    return {};
}

}  // namespace cadre::testing
