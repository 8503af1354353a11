// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include <concurrentqueue/blockingconcurrentqueue.h>

namespace bench {

/// The least that makes a pool of moodycamel's queue: threads that wait on it and take up to Bulk
/// tasks at a time. Tasks of several producers have no common order.
template <std::size_t Bulk>
class moodycamel_pool {
public:
    explicit moodycamel_pool(int workers) {
        for (int i = 0; i < workers; ++i) workers_.emplace_back([this] { run(); });
    }
    /// Empty tasks end the workers, each of which may take a bulk of them.
    ~moodycamel_pool() {
        for (std::size_t i = 0; i < workers_.size() * Bulk; ++i) queue_.enqueue(nullptr);
        for (auto& worker : workers_) worker.join();
    }
    template <class F>
    void execute(F f) {
        queue_.enqueue(std::move(f));
    }
    template <class F>
    std::future<int> submit(F f) {
        auto shared = std::make_shared<std::packaged_task<int()>>(std::move(f));
        auto result = shared->get_future();
        execute([shared] { (*shared)(); });
        return result;
    }

protected:
    using task = std::function<void()>;

    void run() {
        std::vector<task> taken(Bulk);
        for (bool ended = false; !ended;) {
            const std::size_t count = queue_.wait_dequeue_bulk(taken.begin(), Bulk);
            for (std::size_t i = 0; i < count; ++i) {
                if (taken[i])
                    taken[i]();
                else
                    ended = true;
                taken[i] = nullptr;
            }
        }
    }

    moodycamel::BlockingConcurrentQueue<task> queue_;

private:
    std::vector<std::thread> workers_;
};

}  // namespace bench
