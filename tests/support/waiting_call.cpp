// SPDX-License-Identifier: Apache-2.0
#include "support/waiting_call.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

namespace cadre::testing {

namespace {

std::string told_by_the_kernel(int system_thread, const std::string& what) {
    std::ifstream file("/proc/self/task/" + std::to_string(system_thread) + "/" + what);
    std::string text;
    std::getline(file, text);
    return text;
}

bool is_asleep(int system_thread) {
    const auto text = told_by_the_kernel(system_thread, "stat");
    const auto name_end = text.rfind(')');
    return name_end != std::string::npos && text.size() > name_end + 2 && text[name_end + 2] == 'S';
}

}  // namespace

waiting_thread waiting_thread::current() {
    return {static_cast<int>(::syscall(SYS_gettid)), detail::thread_control::current()};
}

// Every wait of the library is one on the futex in the thread's control, but for a thread that is
// joined: at its end the kernel wakes whoever sleeps on a futex that is not private to the process.
// One with a time limit that a stop of the process ended, of a debugger or a machine that sleeps,
// goes on as another system call, with the arguments as they were.
bool waiting_thread::waits() const {
    if (!is_asleep(system_id_)) return false;
    // The number of the system call and its arguments, the first two of which are the futex and
    // what is done with it; or a word.
    const auto text = told_by_the_kernel(system_id_, "syscall");
    if (text.empty()) return true;
    std::istringstream call(text);
    long number = -1;
    std::uintptr_t futex = 0;
    std::uintptr_t operation = 0;
    call >> number >> std::hex >> futex >> operation;
    const auto control = reinterpret_cast<std::uintptr_t>(control_);
    return call && (number == SYS_futex || number == SYS_restart_syscall) &&
           (futex - control < sizeof(detail::thread_control) ||
            (operation & FUTEX_PRIVATE_FLAG) == 0);
}

waiting_call::waiting_call(std::function<void()> call)
    : thread_([this, call = std::move(call)] { run(call); }) {
    settle();
}

void waiting_call::settle() const {
    if (!eventually([&] { return over_ || (has_begun_ && caller_->waits()); }))
        ADD_FAILURE() << "the call neither waits nor ends";
}

waiting_call::~waiting_call() {
    interrupt();
    end();
}

void waiting_call::run(const std::function<void()>& call) {
    caller_ = waiting_thread::current();
    has_begun_ = true;
    try {
        call();
        outcome_ = outcome::returned;
    } catch (const cadre::interrupted&) {
        outcome_ =
            this_thread::is_interrupted() ? outcome::interrupted_with_flag : outcome::interrupted;
    } catch (...) {
        outcome_ = outcome::failed;
    }
    over_ = true;
}

waiting_call::outcome waiting_call::end() {
    if (!eventually([&] { return over_.load(); })) {
        std::fputs("a call that should have ended still waits\n", stderr);
        std::abort();  // its thread cannot be joined
    }
    return outcome_;
}

void expect_interruptible(std::function<void()> call) {
    waiting_call flag_set_before([&] {
        thread_handle::current().interrupt();
        call();
    });
    EXPECT_TRUE(flag_set_before.was_interrupted()) << "with the flag set before";
    waiting_call waits(call);
    waits.interrupt();
    EXPECT_TRUE(waits.was_interrupted()) << "while it waited";
}

}  // namespace cadre::testing
