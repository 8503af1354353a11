// SPDX-License-Identifier: Apache-2.0
// header: cadre/work_stealing_pool.hpp
// link: cadre::cadre
//
// cadre's pool for nested work: a deque for each worker.

#include <memory>
#include <utility>

#include <cadre/executors.hpp>

#include "peer.hpp"

namespace {

class stealing_pool {
public:
    explicit stealing_pool(int workers) : pool_(cadre::executors::work_stealing_pool(workers)) {}
    template <class F>
    void execute(F f) {
        pool_->execute(std::move(f));
    }
    template <class F>
    auto submit(F f) {
        return pool_->submit(std::move(f));
    }

private:
    std::unique_ptr<cadre::executor_service> pool_;
};

}  // namespace

bench::peer bench::this_peer() {
    return bench::peer("cadre, work-stealing pool").pool<stealing_pool>();
}
