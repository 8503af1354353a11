// SPDX-License-Identifier: Apache-2.0
// header: concurrentqueue/blockingconcurrentqueue.h
//
// The same in bulks of 32, which a producer hands over at once. So it does not do what the other
// pools do, who are given one task after the other: it shows what the queue allows.

#include <array>
#include <iterator>

#include "moodycamel_pool.hpp"
#include "peer.hpp"

namespace {

class bulk_pool : public bench::moodycamel_pool<32> {
public:
    using moodycamel_pool::moodycamel_pool;
    /// At most 32.
    template <class F>
    void execute_bulk(F f, long count) {
        std::array<task, 32> tasks;
        for (long i = 0; i < count; ++i) tasks[static_cast<std::size_t>(i)] = f;
        queue_.enqueue_bulk(std::make_move_iterator(tasks.begin()),
                            static_cast<std::size_t>(count));
    }
};

}  // namespace

bench::peer bench::this_peer() {
    return bench::peer("moodycamel's queue in bulks of 32").pool<bulk_pool>();
}
