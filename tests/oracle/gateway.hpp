// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <cadre/executor.hpp>
#include <cadre/task.hpp>

namespace oracle {

/// The way of tasks with a result into a pool. It does what the reference's own futures do: it
/// has them tell `done NAME` when they complete, and hides those of a completion service from the
/// pool, for which they are a task like any other.
class gateway final : public cadre::executor_service {
public:
    enum class done { told, silent };
    enum class future { seen, hidden };
    gateway(cadre::executor_service& pool, done d, future f) : pool_(pool), done_(d), future_(f) {}

    void execute(cadre::task t) override;

    void shutdown() override { pool_.shutdown(); }
    std::vector<cadre::task> shutdown_now() override { return pool_.shutdown_now(); }
    bool is_shutdown() const override { return pool_.is_shutdown(); }
    bool is_terminated() const override { return pool_.is_terminated(); }
    bool await_termination(std::chrono::nanoseconds timeout) override {
        return pool_.await_termination(timeout);
    }

private:
    cadre::executor_service& pool_;
    const done done_;
    const future future_;
};

/// What the tasks that go through a gateway, on the driver's thread, are called when they are
/// done; how many have gone since; and whether one that its pool refuses tells that it is done:
/// only invoke_all, which cancels it, says so.
struct passage {
    std::string done_name = "?";
    int passed = 0;
    bool refused_are_done = false;
};
passage& current_passage();

}  // namespace oracle
