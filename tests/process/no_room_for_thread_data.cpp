// SPDX-License-Identifier: Apache-2.0
//
// Threads that the system has no memory left for to note what is to be done when they end. They
// work, wait, are interrupted and stopped like others; so do the destructors of their thread_local
// objects. A continuation that such a thread cannot run fails.

#include <cadre/cadre.hpp>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <latch>
#include <thread>

#include <dlfcn.h>
#include <pthread.h>

namespace {

std::atomic<bool> has_room = true;
std::atomic<int> refused = 0;
std::atomic<int> waited_at_the_end = 0;

int failed(const char* what) {
    std::fprintf(stderr, "%s\n", what);
    return 1;
}

/// Waits when its thread ends.
struct late_waiter {
    bool used = false;
    ~late_waiter() {
        using namespace std::chrono_literals;
        try {
            cadre::this_thread::sleep_for(1ms);  // any wait would do
        } catch (const std::system_error&) {}    // no room for that thread's data once more
        if (used) ++waited_at_the_end;
    }
};
thread_local late_waiter late;

}  // namespace

extern "C" int pthread_setspecific(pthread_key_t key, const void* value) noexcept {
    using function = int (*)(pthread_key_t, const void*);
    static const auto real = reinterpret_cast<function>(dlsym(RTLD_NEXT, "pthread_setspecific"));
    if (!has_room && value) {
        ++refused;
        return ENOMEM;
    }
    return real(key, value);
}

int main() {
    using namespace std::chrono_literals;
    cadre::this_thread::interrupted();  // the main thread has its own
    has_room = false;
    {
        cadre::thread_pool_executor pool({.core_pool_size = 3});
        auto answer = pool.submit([] {
            late.used = true;
            return 42;
        });
        if (answer.get() != 42) return failed("a task was not run");
        std::latch started(1);
        std::atomic<bool> interrupted = false;
        auto stopped = pool.submit([&](std::stop_token stop) {
            started.count_down();
            try {
                cadre::this_thread::sleep_for(1h);  // until it is interrupted
            } catch (const cadre::interrupted&) {
                interrupted = stop.stop_requested();
            }
        });
        started.wait();
        pool.shutdown_now();
        if (!pool.await_termination(30s)) return failed("the pool did not end");
        if (!interrupted) return failed("a task was not interrupted");
    }
    cadre::future_task<int> source([] { return 1; });
    auto next = source.get_future().then([](int i) { return i; });
    std::thread([&] { source.set(1); }).join();
    if (!next.is_done()) return failed("a continuation was lost");
    if (refused == 0) return failed("nobody asked for room");
    if (waited_at_the_end != 1) return failed("a thread did not end as others do");
    has_room = true;
    cadre::thread_pool_executor pool({.core_pool_size = 1});
    if (pool.submit([] { return 7; }).get() != 7) return failed("a task was not run afterwards");
    std::printf("%d times refused, all tasks run or interrupted\n", refused.load());
}
