// SPDX-License-Identifier: Apache-2.0
// link: cadre::cadre
//
// cadre's pool on an array queue that has room for every task.

#include <memory>

#include <cadre/queue/array_blocking_queue.hpp>
#include <cadre/thread_pool_executor.hpp>

#include "peer.hpp"

namespace {

struct array_pool : cadre::thread_pool_executor {
    explicit array_pool(int workers)
        : thread_pool_executor(
              {.core_pool_size = workers,
               .queue = std::make_unique<cadre::array_blocking_queue<cadre::task>>(1 << 20)}) {}
};

}  // namespace

bench::peer bench::this_peer() { return bench::peer("cadre, array queue").pool<array_pool>(); }
