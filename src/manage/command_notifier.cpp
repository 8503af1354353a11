// SPDX-License-Identifier: Apache-2.0
#include <cadre/manage/notifiers.hpp>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <thread>

extern char** environ;

namespace cadre::manage {
namespace {

/// The event as a file of its own, so that a program that does not read it costs nobody a signal.
class input_file {
public:
    explicit input_file(const std::string& text) : file_(::memfd_create("alarm", MFD_CLOEXEC)) {
        if (file_ < 0 || ::write(file_, text.data(), text.size()) < 0 ||
            ::lseek(file_, 0, SEEK_SET) < 0) {
            const int error = errno;
            if (file_ >= 0) ::close(file_);
            throw std::system_error(error, std::generic_category(), "memory for the event");
        }
    }
    ~input_file() { ::close(file_); }
    input_file(const input_file&) = delete;
    input_file& operator=(const input_file&) = delete;
    int descriptor() const { return file_; }

private:
    const int file_;
};

pid_t start(const std::vector<std::string>& command, int input) {
    std::vector<char*> arguments;
    arguments.reserve(command.size() + 1);
    for (const auto& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    pid_t child = -1;
    const this_thread::original_signals_scope mask;  // the command can be ended by SIGTERM
    const int error =
        ::posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0)
        throw std::system_error(error, std::generic_category(), "command (" + command[0] + ")");
    return child;
}

}  // namespace

command_notifier::command_notifier(command_options options) : options_(std::move(options)) {
    if (options_.command.empty() || options_.command[0].empty())
        throw std::invalid_argument("command: is empty");
    if (options_.timeout.count() <= 0)
        throw std::invalid_argument("timeout (" + std::to_string(options_.timeout.count()) +
                                    " ns) must be positive");
}

void command_notifier::send(const alarm_event& event) {
    const input_file input(to_json(event));
    const pid_t child = start(options_.command, input.descriptor());
    const auto deadline = std::chrono::steady_clock::now() + options_.timeout;
    int status = 0;
    for (;;) {
        const pid_t ended = ::waitpid(child, &status, WNOHANG);
        if (ended == child) break;
        if (ended < 0 && errno != EINTR) return;  // somebody else collects our children
        if (std::chrono::steady_clock::now() >= deadline) {
            ::kill(child, SIGKILL);
            while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {}
            throw std::runtime_error("command (" + options_.command[0] +
                                     ") took too long and was killed");
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        throw std::runtime_error("command (" + options_.command[0] + ") ended with status " +
                                 std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : status));
}

}  // namespace cadre::manage
