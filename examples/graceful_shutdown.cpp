// SPDX-License-Identifier: Apache-2.0
// A service that ends on SIGTERM or Ctrl-C: it takes no more work, finishes what it has within a
// grace period, and then stops the rest and says what was left undone.

#include <csignal>
#include <iostream>

#include <unistd.h>

#include <cadre/cadre.hpp>

using namespace std::chrono_literals;

int main() {
    // Before any thread is made. The library's threads block signals by themselves; those of
    // other libraries inherit it from here.
    sigset_t ending;
    sigemptyset(&ending);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &ending, nullptr);

    cadre::thread_pool_executor pool({.core_pool_size = 2, .name = "service"});
    std::atomic<int> finished = 0;
    std::atomic<int> broken_off = 0;
    for (int i = 0; i < 100; ++i)
        pool.execute([&] {
            try {
                cadre::this_thread::sleep_for(20ms);
                ++finished;
            } catch (const cadre::interrupted&) {
                ++broken_off;
            }
        });

    // Stands for the operator, so that this program ends by itself.
    cadre::thread somebody([] {
        cadre::this_thread::sleep_for(200ms);
        ::kill(::getpid(), SIGTERM);
    });

    int signal = 0;
    sigwait(&ending, &signal);  // the main thread has nothing else to do
    std::cout << "got " << (signal == SIGTERM ? "SIGTERM" : "SIGINT") << ", taking no more work\n";

    pool.shutdown();
    if (!pool.await_termination(200ms)) {
        std::cout << "the grace period is over, interrupting\n";
        const auto never_ran = pool.shutdown_now();  // dropping them cancels their futures
        pool.await_termination(10s);
        std::cout << finished << " finished, " << broken_off << " broken off, " << never_ran.size()
                  << " never ran\n";
    }
    std::cout << pool.to_string() << '\n';
}
