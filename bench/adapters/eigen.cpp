// SPDX-License-Identifier: Apache-2.0
// package: Eigen3
// link: Eigen3::Eigen
//
// Eigen's non-blocking pool: a deque of 1,024 tasks for each worker, and the caller runs what finds
// no place.

#include <future>
#include <memory>
#include <stdexcept>
#include <string>

#include <unsupported/Eigen/CXX11/ThreadPool>

#include "peer.hpp"

namespace {

class eigen_pool {
public:
    static constexpr bool cannot_queue_all = true;

    explicit eigen_pool(int workers) : pool_(workers) {}
    template <class F>
    void execute(F f) {
        pool_.Schedule(std::move(f));
    }
    template <class F>
    std::future<int> submit(F f) {
        auto task = std::make_shared<std::packaged_task<int()>>(std::move(f));
        auto result = task->get_future();
        pool_.Schedule([task] { (*task)(); });
        return result;
    }

private:
    Eigen::ThreadPool pool_;
};

struct bounded_pool : eigen_pool {
    bounded_pool(int workers, int capacity) : eigen_pool(workers) {
        if (capacity != 1024) throw std::invalid_argument("the capacity is always 1024");
    }
};

}  // namespace

bench::peer bench::this_peer() {
    return bench::peer("Eigen " + std::to_string(EIGEN_WORLD_VERSION) + "." +
                       std::to_string(EIGEN_MAJOR_VERSION) + "." +
                       std::to_string(EIGEN_MINOR_VERSION))
        .pool<eigen_pool>()
        .caller_runs<bounded_pool>();
}
