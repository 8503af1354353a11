// SPDX-License-Identifier: Apache-2.0
#include "support/waiting_call.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>

namespace cadre::testing {

int system_thread_id() { return static_cast<int>(::syscall(SYS_gettid)); }

bool is_asleep(int system_thread) {
    std::ifstream file("/proc/self/task/" + std::to_string(system_thread) + "/stat");
    std::string text;
    std::getline(file, text);
    const auto name_end = text.rfind(')');
    return name_end != std::string::npos && text.size() > name_end + 2 && text[name_end + 2] == 'S';
}

waiting_call::waiting_call(std::function<void()> call)
    : thread_([this, call = std::move(call)] { run(call); }) {
    if (!eventually([&] { return over_ || (system_id_ != 0 && is_asleep(system_id_)); }))
        ADD_FAILURE() << "the call neither waits nor ends";
}

waiting_call::~waiting_call() {
    interrupt();
    end();
}

void waiting_call::run(const std::function<void()>& call) {
    system_id_ = system_thread_id();
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
