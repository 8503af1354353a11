// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <cadre/executors.hpp>

namespace cadre::testing {

using namespace std::chrono_literals;

/// The least a service can be: it runs each task where it is executed.
class inline_service : public executor_service {
public:
    void execute(task t) override {
        if (!t) throw std::invalid_argument("the task is empty");
        if (shutdown_) throw rejected_execution("shut down");
        t();
    }
    void shutdown() override { shutdown_ = true; }
    std::vector<task> shutdown_now() override {
        shutdown();
        return {};
    }
    bool is_shutdown() const override { return shutdown_; }
    bool is_terminated() const override { return shutdown_; }
    using executor_service::await_termination;
    bool await_termination(std::chrono::nanoseconds) override { return shutdown_; }

private:
    std::atomic<bool> shutdown_ = false;
};

// A kind of service: make(n) gives one that runs n tasks at a time, if it can run several.

struct inline_kind {
    static constexpr const char* name = "inline_service";
    static auto make(int) { return std::make_unique<inline_service>(); }
};
struct linked_pool_kind {
    static constexpr const char* name = "pool_with_linked_queue";
    static auto make(int threads) {
        return std::make_unique<thread_pool_executor>(
            threads, threads, 0ns, std::make_unique<linked_blocking_queue<task>>());
    }
};
struct synchronous_pool_kind {
    static constexpr const char* name = "pool_with_synchronous_queue";
    static auto make(int threads) {
        return std::make_unique<thread_pool_executor>(
            thread_pool_options{.core_pool_size = threads,
                                .maximum_pool_size = 64,
                                .queue = std::make_unique<synchronous_queue<task>>()});
    }
};
struct single_kind {
    static constexpr const char* name = "single_thread_executor";
    static auto make(int) { return executors::single_thread_executor(); }
};
struct unconfigurable_kind {
    static constexpr const char* name = "unconfigurable";
    static auto make(int threads) {
        return executors::unconfigurable(executors::fixed_thread_pool(threads));
    }
};
struct cached_kind {
    static constexpr const char* name = "cached_thread_pool";
    static auto make(int) { return executors::cached_thread_pool(); }
};
/// Its tasks are of a type of the user's own.
struct decorated_pool_kind {
    static constexpr const char* name = "decorated_pool";
    static auto make(int threads) {
        const auto wrapped = [](task t) { return task([t = std::move(t)]() mutable { t(); }); };
        return std::make_unique<thread_pool_executor>(
            thread_pool_options{.core_pool_size = threads, .hooks = {.decorate_task = wrapped}});
    }
};
struct scheduled_kind {
    static constexpr const char* name = "scheduled_thread_pool_executor";
    static auto make(int threads) { return executors::scheduled_thread_pool(threads); }
};
struct decorated_scheduled_kind {
    static constexpr const char* name = "decorated_scheduled_pool";
    static auto make(int threads) {
        const auto wrapped = [](task t) { return task([t = std::move(t)]() mutable { t(); }); };
        return std::make_unique<scheduled_thread_pool_executor>(
            scheduled_pool_options{.core_pool_size = threads, .hooks = {.decorate_task = wrapped}});
    }
};
struct stealing_kind {
    static constexpr const char* name = "work_stealing_pool";
    static auto make(int threads) { return executors::work_stealing_pool(threads); }
};
/// Those that run several tasks at once.
using concurrent_kinds =
    ::testing::Types<linked_pool_kind, synchronous_pool_kind, unconfigurable_kind, cached_kind,
                     decorated_pool_kind, scheduled_kind, decorated_scheduled_kind, stealing_kind>;
/// Those on which a task runs while its submitter goes on.
using thread_kinds = ::testing::Types<linked_pool_kind, synchronous_pool_kind, unconfigurable_kind,
                                      cached_kind, decorated_pool_kind, scheduled_kind,
                                      decorated_scheduled_kind, stealing_kind, single_kind>;
using service_kinds =
    ::testing::Types<linked_pool_kind, synchronous_pool_kind, unconfigurable_kind, cached_kind,
                     decorated_pool_kind, scheduled_kind, decorated_scheduled_kind, stealing_kind,
                     single_kind, inline_kind>;

struct service_names {
    template <class Kind>
    static std::string GetName(int) {
        return Kind::name;
    }
};

/// What the services are given to call.
using callable = std::function<std::string()>;
inline const callable text = [] { return "text"; };
inline const callable fails = []() -> std::string { throw std::out_of_range("no such page"); };

}  // namespace cadre::testing
