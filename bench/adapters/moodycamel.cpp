// SPDX-License-Identifier: Apache-2.0
// header: concurrentqueue/blockingconcurrentqueue.h
//
// A minimal pool over moodycamel's queue: tasks go in and out one by one.

#include "moodycamel_pool.hpp"
#include "peer.hpp"

bench::peer bench::this_peer() {
    return bench::peer("moodycamel's queue").pool<bench::moodycamel_pool<1>>();
}
