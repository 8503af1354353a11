// SPDX-License-Identifier: Apache-2.0
// package: TBB
// link: TBB::tbb
//
// oneTBB: tasks enqueued into an arena of its own.

#include <atomic>
#include <future>
#include <memory>

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/version.h>

#include "peer.hpp"

namespace {

class tbb_pool {
public:
    explicit tbb_pool(int workers)
        : limit_(tbb::global_control::max_allowed_parallelism,
                 static_cast<std::size_t>(workers) + 1),  // the calling thread counts as one
          arena_(workers, 0) {
        arena_.initialize();
    }
    template <class F>
    void execute(F f) {
        arena_.enqueue(std::move(f));
    }
    template <class F>
    std::future<int> submit(F f) {
        auto task = std::make_shared<std::packaged_task<int()>>(std::move(f));
        auto result = task->get_future();
        arena_.enqueue([task] { (*task)(); });
        return result;
    }

private:
    tbb::global_control limit_;
    tbb::task_arena arena_;
};

}  // namespace

bench::peer bench::this_peer() {
    return bench::peer(std::string("oneTBB ") + TBB_runtime_version()).pool<tbb_pool>();
}
