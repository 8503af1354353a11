// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <new>
#include <string>
#include <system_error>
#include <thread>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cadre::testing {

/// A process beside this one, which it stops every tenth of a second for a hundredth, and sends so
/// many signals a second, to whatever thread takes them: each ends the call in which that waits. To
/// be made before there are threads.
class disturber {
public:
    explicit disturber(int signals_a_second) {
        static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
        void* const memory = mmap(nullptr, sizeof(shared), PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
        shared_ = new (memory) shared;
        struct sigaction act = {};
        act.sa_handler = [](int) { received.fetch_add(1, std::memory_order_relaxed); };
        sigaction(SIGUSR1, &act, nullptr);  // without SA_RESTART
        const pid_t parent = getpid();
        child_ = fork();
        if (child_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
        if (child_ > 0) return;
        // It goes with its parent and not before it, which may be stopped just then.
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        std::signal(SIGINT, SIG_IGN);
        std::signal(SIGTERM, SIG_IGN);
        if (getppid() == parent) disturb(parent, signals_a_second);
        _exit(0);
    }
    ~disturber() {
        shared_->over = true;
        while (waitpid(child_, nullptr, 0) != child_) {}
        munmap(shared_, sizeof(shared));
    }
    disturber(const disturber&) = delete;
    disturber& operator=(const disturber&) = delete;

    std::string told() const {
        return std::to_string(shared_->stops) + " times stopped, " +
               std::to_string(shared_->signals) + " signals sent, " + std::to_string(received) +
               " received";
    }

private:
    struct shared {
        std::atomic<bool> over = false;
        std::atomic<std::uint64_t> stops = 0;
        std::atomic<std::uint64_t> signals = 0;
    };
    void disturb(pid_t whom, int a_second) const {
        // The pauses let the other one work; nothing rests on how long they are.
        using std::this_thread::sleep_for;
        using namespace std::chrono_literals;
        const auto began = std::chrono::steady_clock::now();
        while (!shared_->over) {
            sleep_for(1ms);  // as above
            const std::chrono::duration<double> time = std::chrono::steady_clock::now() - began;
            const auto due = static_cast<std::uint64_t>(time.count() * a_second);
            // After a long pause not all at once.
            for (int i = 0; shared_->signals < due && i < a_second / 10; ++i)
                if (kill(whom, SIGUSR1) == 0) ++shared_->signals;
            if (time.count() * 10 < static_cast<double>(shared_->stops + 1)) continue;
            kill(whom, SIGSTOP);
            sleep_for(10ms);  // as above
            kill(whom, SIGCONT);
            ++shared_->stops;
        }
    }

    inline static std::atomic<std::uint64_t> received = 0;  // signals that ran the handler

    shared* shared_ = nullptr;
    pid_t child_ = -1;
};

}  // namespace cadre::testing
