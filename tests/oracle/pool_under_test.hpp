// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <cadre/executor.hpp>
#include <cadre/function_ref.hpp>
#include <cadre/rejection.hpp>
#include <cadre/task.hpp>
#include <cadre/thread.hpp>
#include <cadre/thread_pool_executor.hpp>

#include "tasks.hpp"
#include "words.hpp"

namespace oracle {

/// A pool of either kind, as the commands see it. What a setting or a call of the pool throws,
/// these throw.
///
/// A scenario may use a name twice, so every task that a command names has a number too. The
/// tasks carry it as their priority, by which no queue of the driver orders.
class pool_under_test {
public:
    virtual ~pool_under_test() = default;

    virtual void execute(const std::string& name, int number, body b) = 0;
    virtual std::shared_ptr<held_future> submit(const std::string& name, int number, body b) = 0;
    /// The pool as invoke_all is to see it, and as invoke_any and a completion service are.
    virtual cadre::executor_service& for_invoke_all() = 0;
    virtual cadre::executor_service& for_completion() = 0;
    /// Whether its tasks tell when they are done.
    virtual bool tells_done() const = 0;

    /// How the trace names a task of the pool.
    virtual std::string name_of(const cadre::task& t) const = 0;
    /// Takes the task of that number out of the queue, and keeps it if it has a future that is
    /// not complete. `owner` is the future of that number, if there is one.
    virtual bool remove(int number, const held_future* owner) = 0;
    virtual std::vector<cadre::task> shutdown_now() = 0;
    virtual void for_each_queued(cadre::function_ref<void(const cadre::task&)> visit) const = 0;
    /// Whether the trace shows the order in which tasks are queued, or returned by shutdown_now.
    virtual bool shows_queue_in_order() const = 0;
    virtual bool shows_returned_in_order() const = 0;

    virtual cadre::pool_snapshot snapshot() const = 0;
    virtual void purge() = 0;
    virtual bool prestart_core_thread() = 0;
    virtual int prestart_all_core_threads() = 0;
    virtual void set_core_pool_size(int core) = 0;
    virtual void set_maximum_pool_size(int maximum) = 0;
    virtual void set_keep_alive(std::chrono::milliseconds keep_alive) = 0;
    virtual void allow_core_thread_time_out(bool allow) = 0;
    virtual void set_policy(cadre::rejected_execution_handler policy) = 0;
    virtual void shutdown() = 0;
    virtual bool await_termination(std::chrono::milliseconds timeout) = 0;
};

/// Keeps a task, for one that is dropped would complete its future.
void keep(cadre::task t);

/// What the two kinds of pool have in common.
template <class Pool>
class pool_of : public pool_under_test {
public:
    explicit pool_of(std::unique_ptr<Pool> pool) : pool_(std::move(pool)) {}

    cadre::pool_snapshot snapshot() const override { return pool_->snapshot(); }
    void purge() override { pool_->purge(); }
    bool prestart_core_thread() override { return pool_->prestart_core_thread(); }
    int prestart_all_core_threads() override { return pool_->prestart_all_core_threads(); }
    void set_core_pool_size(int core) override { pool_->set_core_pool_size(core); }
    void set_maximum_pool_size(int maximum) override { pool_->set_maximum_pool_size(maximum); }
    void set_keep_alive(std::chrono::milliseconds keep_alive) override {
        pool_->set_keep_alive(keep_alive);
    }
    void allow_core_thread_time_out(bool allow) override {
        pool_->allow_core_thread_time_out(allow);
    }
    void set_policy(cadre::rejected_execution_handler policy) override {
        pool_->set_rejected_execution_handler(std::move(policy));
    }
    void for_each_queued(cadre::function_ref<void(const cadre::task&)> visit) const override {
        pool_->queue().for_each(visit);
    }
    void shutdown() override { pool_->shutdown(); }
    std::vector<cadre::task> shutdown_now() override { return pool_->shutdown_now(); }
    bool await_termination(std::chrono::milliseconds timeout) override {
        return pool_->await_termination(timeout);
    }

protected:
    Pool& pool() const { return *pool_; }
    /// Takes a task with a future out of the queue.
    bool remove_numbered(int number, const held_future& owner) {
        const auto wanted = [number](const cadre::task& t) { return t.priority() == number; };
        if (owner.is_done()) return pool_->remove_if(wanted) > 0;
        std::vector<cadre::task> removed;
        pool_->queue().extract_if(wanted, removed, 1);
        pool_->remove_if([](const auto&) { return false; });  // it may have waited for this
        const bool found = !removed.empty();
        for (auto& t : removed) keep(std::move(t));
        return found;
    }

private:
    std::unique_ptr<Pool> pool_;
};

using pool_options = std::map<std::string, std::string>;
const std::string* find(const pool_options& options, const std::string& key);
int number_or(const pool_options& options, const std::string& key, int otherwise);
/// These throw std::invalid_argument for what they do not know.
cadre::thread_factory make_factory(const pool_options& options);
cadre::rejected_execution_handler make_policy(const std::string& name);
/// The hooks that both kinds have: terminated and uncaught_exception.
cadre::pool_hooks telling_hooks();

std::unique_ptr<pool_under_test> make_thread_pool(const pool_options& options);
std::unique_ptr<pool_under_test> make_scheduled_pool(const pool_options& options);
std::shared_ptr<held_future> schedule(pool_under_test& pool, const words& w, int number);
/// True for the settings that only scheduled pools have.
bool is_scheduled_setting(const std::string& what);
void set_scheduled(pool_under_test& pool, const std::string& what, bool on);

/// Throws std::invalid_argument if there is no pool.
pool_under_test& current_pool();
/// The number of the next task, and the number that `remove` finds under a name; 0 if none.
int next_number();
std::map<std::string, int>& numbers();
/// Whether hooks=true was said of the last pool.
bool hooks_are_told();

}  // namespace oracle
