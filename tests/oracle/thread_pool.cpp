// SPDX-License-Identifier: Apache-2.0
//
// A thread_pool_executor as the commands see it.

#include <algorithm>

#include <cadre/queue/array_blocking_queue.hpp>
#include <cadre/queue/linked_blocking_queue.hpp>
#include <cadre/queue/priority_blocking_queue.hpp>
#include <cadre/queue/synchronous_queue.hpp>

#include "gateway.hpp"
#include "picky_queue.hpp"
#include "pool_under_test.hpp"
#include "trace.hpp"

namespace oracle {

namespace {

using cadre::task;
using task_queue = cadre::blocking_queue<task>;

std::string name_of(const task& t) { return t.name().empty() ? "?" : std::string(t.name()); }

struct by_name {
    bool operator()(const task& a, const task& b) const { return a.name() < b.name(); }
};

std::unique_ptr<task_queue> make_queue(const std::string& spec) {
    const auto q = split(spec, ':');
    const bool sized = q.size() > 1;
    const auto& kind = part(q, 0);
    if (kind == "array")
        return std::make_unique<cadre::array_blocking_queue<task>>(to_int(&part(q, 1)),
                                                                   q.size() > 2);
    if (kind == "linked")
        return std::make_unique<cadre::linked_blocking_queue<task>>(sized ? to_int(&q[1])
                                                                          : cadre::unbounded);
    if (kind == "sync") return std::make_unique<cadre::synchronous_queue<task>>(sized);
    if (kind == "priority")  // only tasks with a name can be compared
        return std::make_unique<picky_queue>(
            std::make_unique<cadre::priority_blocking_queue<task, by_name>>(),
            [](const task& t) { return !t.name().empty(); });
    if (kind == "delay")  // no task has a delay
        return std::make_unique<picky_queue>(std::make_unique<cadre::linked_blocking_queue<task>>(),
                                             [](const task&) { return false; });
    throw std::invalid_argument("unknown queue " + spec);
}

cadre::pool_hooks all_hooks() {
    auto hooks = telling_hooks();
    hooks.before_execute = [](const cadre::thread_handle&, const task& t) {
        if (hooks_are_told()) event("before " + name_of(t));
    };
    hooks.after_execute = [](const task& t, const std::exception_ptr& error) {
        if (hooks_are_told()) event("after " + name_of(t) + (error ? " error" : ""));
    };
    return hooks;
}

class thread_pool final : public pool_of<cadre::thread_pool_executor> {
public:
    thread_pool(cadre::thread_pool_options options, bool ordered)
        : pool_of(std::make_unique<cadre::thread_pool_executor>(std::move(options))),
          ordered_(ordered) {}

    void execute(const std::string& name, int number, body b) override {
        pool().execute(cadre::prioritized(number, cadre::named(name, std::move(b))));
    }
    std::shared_ptr<held_future> submit(const std::string& name, int number, body b) override {
        return hold(seen_.submit(cadre::prioritized(number, cadre::named(name, std::move(b)))));
    }
    cadre::executor_service& for_invoke_all() override { return seen_; }
    cadre::executor_service& for_completion() override { return hidden_; }
    bool tells_done() const override { return true; }

    std::string name_of(const task& t) const override { return oracle::name_of(t); }
    bool remove(int number, const held_future* owner) override {
        if (owner) return remove_numbered(number, *owner);
        const auto wanted = [number](const task& t) { return t.priority() == number; };
        return number != 0 && pool().remove_if(wanted) > 0;
    }
    bool shows_queue_in_order() const override { return ordered_; }
    bool shows_returned_in_order() const override { return true; }

private:
    const bool ordered_;
    gateway seen_{pool(), gateway::done::told, gateway::future::seen};
    gateway hidden_{pool(), gateway::done::told, gateway::future::hidden};
};

}  // namespace

std::unique_ptr<pool_under_test> make_thread_pool(const pool_options& options) {
    const auto* const queue = find(options, "queue");
    const auto* const policy = find(options, "policy");
    const auto spec = queue ? *queue : "linked";
    cadre::thread_pool_options made;
    made.core_pool_size = number_or(options, "core", 1);
    made.maximum_pool_size = number_or(options, "max", 1);
    made.keep_alive = std::chrono::milliseconds(number_or(options, "keep_alive", 0));
    made.queue = make_queue(spec);
    made.thread_factory = make_factory(options);
    made.rejection = make_policy(policy ? *policy : "abort");
    made.hooks = all_hooks();
    // In the options a maximum of zero has a meaning of its own.
    if (made.maximum_pool_size == 0) throw std::invalid_argument("max=0");
    return std::make_unique<thread_pool>(std::move(made),
                                         spec.starts_with("array") || spec.starts_with("linked"));
}

}  // namespace oracle
