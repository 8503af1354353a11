// SPDX-License-Identifier: Apache-2.0
//
// A task that is scheduled while a scheduler without threads is shut down, at each place where the
// one may come in between the other: after each mutex that shutdown() unlocks, the task is queued,
// and the rest of the shutdown comes before a worker is asked for. Whatever becomes of the task,
// it is over when the pool has terminated.

#include <cadre/cadre.hpp>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <thread>

#include <dlfcn.h>
#include <pthread.h>

namespace {

using namespace std::chrono_literals;

enum stage { begins, about_to_queue, pauses_shutdown, has_queued, is_shut_down };
enum class role { other, schedules, shuts_down };

std::atomic<int> reached = begins;
int pause_after = 0;  // so many unlocks of the one that shuts down
thread_local role own = role::other;
thread_local int calls = 0;

void reach(stage s) {
    int seen = reached;
    while (seen < s && !reached.compare_exchange_weak(seen, s)) {}
    reached.notify_all();
}
void await(stage s) {
    for (int seen = reached; seen < s; seen = reached) reached.wait(seen);
}
/// Of the calling thread, while it is in neither role.
template <class Call>
void aside(Call call) {
    const auto before = own;
    own = role::other;
    call();
    own = before;
}
template <class Function>
Function* original(const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

void expect(bool fact, const char* what) {
    if (fact) return;
    std::cerr << "failed: " << what << ", paused after unlock " << pause_after << '\n';
    std::_Exit(1);
}

void play() {
    reached = begins;
    cadre::scheduled_thread_pool_executor pool(1);
    cadre::scheduled_future<void> result;
    std::thread scheduler([&] {
        own = role::schedules;
        try {
            result = pool.schedule([] {}, 0s);
        } catch (const cadre::rejected_execution&) {}
        own = role::other;
        reach(has_queued);
    });
    await(about_to_queue);
    std::thread ender([&] {
        own = role::shuts_down;
        pool.shutdown();
        own = role::other;
        reach(is_shut_down);
    });
    scheduler.join();
    ender.join();
    expect(pool.await_termination(60s), "the pool terminates");
    expect(pool.queue().empty(), "a pool that has terminated has no tasks");
    expect(!result.valid() || result.is_done(), "a task is over when its pool is");
}

}  // namespace

extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
    static auto* const lock = original<int(pthread_mutex_t*)>("pthread_mutex_lock");
    if (own == role::schedules) {
        ++calls;
        aside([] {
            reach(calls == 1 ? about_to_queue : has_queued);
            await(calls == 1 ? pauses_shutdown : is_shut_down);
        });
    }
    return lock(mutex);
}

extern "C" int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
    static auto* const unlock = original<int(pthread_mutex_t*)>("pthread_mutex_unlock");
    const int result = unlock(mutex);
    if (own == role::shuts_down && ++calls == pause_after)
        aside([] {
            reach(pauses_shutdown);
            await(has_queued);
        });
    return result;
}

int main() {
    for (pause_after = 1; pause_after <= 8; ++pause_after) play();
    std::cout << "ok\n";
}
