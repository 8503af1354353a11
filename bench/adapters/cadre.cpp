// SPDX-License-Identifier: Apache-2.0
// link: cadre::cadre
//
// cadre's default pool (linked queue) and its scheduler.

#include <memory>
#include <stdexcept>

#include <cadre/queue/linked_blocking_queue.hpp>
#include <cadre/scheduled_thread_pool_executor.hpp>
#include <cadre/thread_pool_executor.hpp>
#include <cadre/version.hpp>

#include "peer.hpp"

namespace {

struct linked_pool : cadre::thread_pool_executor {
    explicit linked_pool(int workers) : thread_pool_executor({.core_pool_size = workers}) {}
};

template <class Policy>
struct bounded_pool : cadre::thread_pool_executor {
    bounded_pool(int workers, int capacity)
        : thread_pool_executor(
              {.core_pool_size = workers,
               .queue = std::make_unique<cadre::linked_blocking_queue<cadre::task>>(capacity),
               .rejection = Policy()}) {}
};

class scheduler {
public:
    using handle = cadre::scheduled_future<void>;

    explicit scheduler(int workers) : pool_({.core_pool_size = workers, .remove_on_cancel = true}) {
        pool_.prestart_all_core_threads();
    }
    template <class F>
    handle after(std::chrono::nanoseconds delay, F f) {
        return pool_.schedule(std::move(f), delay);
    }
    template <class F>
    handle every(std::chrono::nanoseconds period, F f) {
        return pool_.schedule_at_fixed_rate(std::move(f), period, period);
    }
    void cancel(handle& timer) { timer.cancel(); }
    void settle() {
        if (!pool_.queue().empty()) throw std::runtime_error("cancelled timers are still queued");
    }
    void stop() {
        pool_.shutdown_now();
        pool_.close();
    }

private:
    cadre::scheduled_thread_pool_executor pool_;
};

}  // namespace

bench::peer bench::this_peer() {
    return bench::peer("cadre")
        .pool<linked_pool>()
        .caller_runs<bounded_pool<cadre::caller_runs_policy>>()
        .blocking<bounded_pool<cadre::block_policy>>()
        .timers<scheduler>();
}
