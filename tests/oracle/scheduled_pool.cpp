// SPDX-License-Identifier: Apache-2.0
//
// A scheduled_thread_pool_executor as the commands see it. The reference wraps what is executed
// there in a future of its own, so such tasks have no name, none of their errors leaves, and only
// those with a delay can be found again.

#include <cadre/scheduled_thread_pool_executor.hpp>

#include "gateway.hpp"
#include "pool_under_test.hpp"
#include "trace.hpp"

namespace oracle {

namespace {

using cadre::task;
using std::chrono::milliseconds;

auto marked(const std::string& name, int number, body b) {
    return cadre::prioritized(number, cadre::named(name, std::move(b)));
}

class scheduled_pool final : public pool_of<cadre::scheduled_thread_pool_executor> {
public:
    explicit scheduled_pool(cadre::scheduled_pool_options options)
        : pool_of(std::make_unique<cadre::scheduled_thread_pool_executor>(std::move(options))) {}

    void execute(const std::string&, int, body b) override { pool().execute(std::move(b)); }
    std::shared_ptr<held_future> submit(const std::string& name, int number, body b) override {
        return hold(pool().submit(marked(name, number, std::move(b))));
    }
    std::shared_ptr<held_future> schedule(const words& w, int number) {
        const auto& name = w.at(1);
        const bool once = w.command() == "schedule";
        auto work = marked(name, number, body(name, w.value_or(once ? 3 : 4, "quick")));
        const milliseconds initial(to_long(w.find(2)));
        if (once) return hold<std::string>(pool().schedule(std::move(work), initial));
        if (w.size() < 4) throw java_error("ArrayIndexOutOfBoundsException");
        const milliseconds period(to_long(w.find(3)));
        return hold<void>(w.command() == "fixed_rate"
                              ? pool().schedule_at_fixed_rate(std::move(work), initial, period)
                              : pool().schedule_with_fixed_delay(std::move(work), initial, period));
    }
    cadre::executor_service& for_invoke_all() override { return hidden_; }
    cadre::executor_service& for_completion() override { return hidden_; }
    bool tells_done() const override { return false; }

    /// Only the last task of a name is known by it, and only once its future is.
    std::string name_of(const task& t) const override {
        const std::string name(t.name());
        const auto number = numbers().find(name);
        if (number != numbers().end() && number->second == t.priority()) return name;
        const auto future = futures().find(name);
        if (future != futures().end() && future->second.number == t.priority()) return name;
        return "?";
    }
    bool remove(int number, const held_future* owner) override {
        return owner && remove_numbered(number, *owner);
    }
    void set(const std::string& what, bool on) {
        if (what == "remove_on_cancel")
            pool().set_remove_on_cancel_policy(on);
        else if (what == "delayed_after_shutdown")
            pool().set_execute_existing_delayed_tasks_after_shutdown_policy(on);
        else
            pool().set_continue_existing_periodic_tasks_after_shutdown_policy(on);
    }
    bool shows_queue_in_order() const override { return false; }
    bool shows_returned_in_order() const override { return false; }

private:
    gateway hidden_{pool(), gateway::done::silent, gateway::future::hidden};
};

}  // namespace

std::unique_ptr<pool_under_test> make_scheduled_pool(const pool_options& options) {
    const auto is_set = [&](const char* key, bool otherwise) {
        const auto* value = find(options, key);
        return value ? to_bool(*value) : otherwise;
    };
    const auto* const policy = find(options, "policy");
    cadre::scheduled_pool_options made;
    made.core_pool_size = number_or(options, "core", 1);
    made.thread_factory = make_factory(options);
    made.rejection = make_policy(policy ? *policy : "abort");
    made.hooks = telling_hooks();
    // Of what is executed there nothing leaves a thread in the reference.
    made.hooks.uncaught_exception = [](const task&, const std::exception_ptr&) {};
    made.hooks.periodic_failed = [](const task&, const std::exception_ptr&) {};
    made.remove_on_cancel = is_set("remove_on_cancel", false);
    made.execute_existing_delayed_tasks_after_shutdown = is_set("delayed_after_shutdown", true);
    made.continue_existing_periodic_tasks_after_shutdown = is_set("periodic_after_shutdown", false);
    return std::make_unique<scheduled_pool>(std::move(made));
}

bool is_scheduled_setting(const std::string& what) {
    return what == "remove_on_cancel" || what == "delayed_after_shutdown" ||
           what == "periodic_after_shutdown";
}

void set_scheduled(pool_under_test& pool, const std::string& what, bool on) {
    auto* const scheduled = dynamic_cast<scheduled_pool*>(&pool);
    if (!scheduled) throw java_error("ClassCastException");
    scheduled->set(what, on);
}

std::shared_ptr<held_future> schedule(pool_under_test& pool, const words& w, int number) {
    auto* const scheduled = dynamic_cast<scheduled_pool*>(&pool);
    if (!scheduled) throw java_error("ClassCastException");
    return scheduled->schedule(w, number);
}

}  // namespace oracle
