// SPDX-License-Identifier: Apache-2.0

#include "pool_commands.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <optional>
#include <vector>

#include <cadre/completion_service.hpp>

#include "gateway.hpp"
#include "pool_under_test.hpp"
#include "tasks.hpp"
#include "trace.hpp"

namespace oracle {

namespace {

using cadre::task;
using std::chrono::milliseconds;
using completion_service = cadre::executor_completion_service<std::string>;

// Nothing here is ever destroyed: tasks may be under way when the driver exits.
auto& pools = *new std::vector<std::unique_ptr<pool_under_test>>();  // the last one counts
auto& completions = *new std::vector<std::unique_ptr<completion_service>>();
auto& kept_tasks = *new std::vector<task>();
std::atomic<int> threads = 0;  // that the factory made since the last pool
std::atomic<bool> hooks_told = false;
int last_number = 0;

std::string message_of(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& e) {
        return e.what();
    }
}

/// The handler of the policy `record`. It keeps the task, which may have a future.
void record(task t, cadre::thread_pool_executor&) {
    event("handler " + (pools.empty() ? std::string("?") : pools.back()->name_of(t)));
    keep(std::move(t));
}

std::string make_pool(const words& w) {
    pool_options options;
    for (std::size_t i = 1; i < w.size(); ++i) {
        const auto [key, value] = key_and_value(w[i]);
        options[key] = value;
    }
    threads = 0;
    hooks_told = find(options, "hooks") && *find(options, "hooks") == "true";
    pools.push_back(w.command() == "pool" ? make_thread_pool(options)
                                          : make_scheduled_pool(options));
    if (const auto* core_timeout = find(options, "core_timeout"))
        pools.back()->allow_core_thread_time_out(to_bool(*core_timeout));
    completions.push_back(std::make_unique<completion_service>(pools.back()->for_completion()));
    return "";
}

std::string execute(const words& w) {
    const auto& name = w.at(1);
    const int number = next_number();
    numbers()[name] = number;
    current_pool().execute(name, number, body(name, w.value_or(2, "gate")));
    return "";
}

void remember(const std::string& name, std::shared_ptr<held_future> future, int number) {
    futures()[name] = {std::move(future), number};
    numbers()[name] = number;
}

/// Of a command that sends a task even if that has no name.
body body_of(const words& w) {
    return {w.value_or(1, "null"), w.find(1) ? w.value_or(2, "gate") : body::nameless};
}

std::string submit(const words& w) {
    const auto name = w.value_or(1, "null");
    const int number = next_number();
    current_passage() = {name};
    auto submitted = current_pool().submit(name, number, body_of(w));
    remember(w.at(1), std::move(submitted), number);
    return "";
}

std::string schedule_command(const words& w) {
    const int number = next_number();
    // The reference looks at the arguments before it finds that there is no pool.
    if (pools.empty() && w.command() != "schedule" && w.size() == 3) {
        to_long(w.find(2));
        throw java_error("ArrayIndexOutOfBoundsException");
    }
    auto scheduled = schedule(current_pool(), w, number);
    remember(w.at(1), std::move(scheduled), number);
    return "";
}

std::string remove(const words& w) {
    const auto found = numbers().find(w.at(1));
    const int number = found == numbers().end() ? 0 : found->second;
    const auto owner = futures().find(w.at(1));
    const bool owned = number != 0 && owner != futures().end() && owner->second.number == number;
    return std::string("= ") +
           text(current_pool().remove(number, owned ? owner->second.future.get() : nullptr));
}

std::string set(const words& w) {
    const auto& what = w.at(1);
    const auto* const value = w.find(2);
    if (what == "core")
        current_pool().set_core_pool_size(to_int(value));
    else if (what == "max")
        current_pool().set_maximum_pool_size(to_int(value));
    else if (what == "keep_alive")
        current_pool().set_keep_alive(milliseconds(to_int(value)));
    else if (what == "core_timeout")
        current_pool().allow_core_thread_time_out(value && to_bool(*value));
    else if (what == "policy")
        current_pool().set_policy(make_policy(value ? *value : "abort"));
    else if (is_scheduled_setting(what))
        set_scheduled(current_pool(), what, value && to_bool(*value));
    else
        throw not_understood("unknown setting " + what);
    return "";
}

std::string shutdown_now(const words&) {
    auto& pool = current_pool();
    std::vector<std::string> names;
    for (auto& t : pool.shutdown_now()) {
        names.push_back(pool.name_of(t));
        keep(std::move(t));
    }
    if (!pool.shows_returned_in_order()) std::sort(names.begin(), names.end());
    return "= " + bracketed(names);
}

std::string queued(const words&) {
    auto& pool = current_pool();
    std::vector<std::string> names;
    pool.for_each_queued([&](const task& t) { names.push_back(pool.name_of(t)); });
    if (!pool.shows_queue_in_order()) std::sort(names.begin(), names.end());
    return "= " + bracketed(names);
}

struct batch {
    std::vector<std::pair<std::string, body>> tasks;
    std::optional<milliseconds> timeout;
};

batch batch_of(const words& w) {
    constexpr std::string_view timeout = "timeout=";
    batch b;
    for (std::size_t i = 1; i < w.size(); ++i) {
        if (w[i].starts_with(timeout)) {
            const auto number = w[i].substr(timeout.size());
            b.timeout = milliseconds(to_long(&number));
            if (b.timeout->count() < 0) b.timeout.reset();  // as if nothing was said
        } else {
            const auto [name, kind] = key_and_value(w[i]);
            b.tasks.emplace_back(name, body(name, kind));
        }
    }
    return b;
}

std::string invoke_all(const words& w) {
    const auto b = batch_of(w);
    auto& pool = current_pool().for_invoke_all();
    using named_body = decltype(cadre::named("", b.tasks.front().second));
    std::vector<named_body> callables;
    for (const auto& [name, work] : b.tasks) callables.push_back(cadre::named("batch", work));

    current_passage() = {"batch", 0, true};
    // With a timeout the reference makes all futures first, and cancels in the end also those
    // that it never sent.
    struct cancel_unsent {
        bool timed;
        std::size_t all;
        bool told;
        ~cancel_unsent() {
            const auto sent = static_cast<std::size_t>(current_passage().passed);
            for (auto i = sent; timed && told && i < all; ++i) event("done batch cancelled");
        }
    };
    std::vector<cadre::future<std::string>> results;
    {
        const cancel_unsent at_the_end{b.timeout.has_value(), callables.size(),
                                       current_pool().tells_done()};
        results = b.timeout ? pool.invoke_all(callables, *b.timeout) : pool.invoke_all(callables);
    }
    std::string joined;
    for (auto& result : results)
        joined += (joined.empty() ? "" : ", ") + outcome(*hold(std::move(result)));
    return "= " + joined;
}

std::string invoke_any(const words& w) {
    const auto b = batch_of(w);
    auto& pool = current_pool().for_completion();
    std::vector<body> callables;
    for (const auto& [name, work] : b.tasks) callables.push_back(work);
    current_passage() = {"batch"};
    try {
        return "= " +
               (b.timeout ? pool.invoke_any(callables, *b.timeout) : pool.invoke_any(callables));
    } catch (const task_error&) {
        const auto failed = fail_of_future(std::current_exception());
        return failed.starts_with("! boom") ? "! boom" : failed;  // any one of them
    }
}

completion_service& completion() {
    if (completions.empty()) throw std::invalid_argument("there is no pool");
    return *completions.back();
}

std::string complete(const words& w) {
    current_passage() = {w.value_or(1, "null")};
    static_cast<void>(completion().submit(body_of(w)));
    return "";
}

std::string complete_poll(const words&) {
    auto next = completion().poll_for(milliseconds(300));
    return "= " + (next ? outcome(*hold(std::move(*next))) : "none");
}

void add_life_commands(command_table& commands) {
    commands.add("prestart", [](const words&) {
        return std::string("= ") + text(current_pool().prestart_core_thread());
    });
    commands.add("prestart_all", [](const words&) {
        return "= " + std::to_string(current_pool().prestart_all_core_threads());
    });
    commands.add("set", set);
    commands.add("shutdown", [](const words&) {
        current_pool().shutdown();
        return "";
    });
    commands.add("shutdown_now", shutdown_now);
    commands.add("await", [](const words& w) {
        const milliseconds timeout(to_long(w.find(1)));
        return std::string("= ") + text(current_pool().await_termination(timeout));
    });
    commands.add("sleep", [](const words& w) {
        const auto time = to_long(w.find(1));
        if (time < 0) throw std::invalid_argument("a negative time to sleep");
        cadre::this_thread::sleep_for(milliseconds(time));
        return "";
    });
}

}  // namespace

const std::string* find(const pool_options& options, const std::string& key) {
    const auto found = options.find(key);
    return found == options.end() ? nullptr : &found->second;
}

int number_or(const pool_options& options, const std::string& key, int otherwise) {
    const auto* value = find(options, key);
    return value ? to_int(value) : otherwise;
}

cadre::thread_factory make_factory(const pool_options& options) {
    constexpr std::string_view fail_after = "fail_after:";
    int most = std::numeric_limits<int>::max();
    const auto* spec = find(options, "factory");
    if (spec && spec->starts_with(fail_after)) {
        const auto number = spec->substr(fail_after.size());
        most = to_int(&number);
    }
    return [most](std::function<void()> run) {
        if (threads >= most) return cadre::thread();
        const int number = ++threads;
        return cadre::thread({.name = "worker-" + std::to_string(number)}, std::move(run));
    };
}

cadre::rejected_execution_handler make_policy(const std::string& name) {
    if (name == "abort") return cadre::abort_policy{};
    if (name == "caller_runs") return cadre::caller_runs_policy{};
    if (name == "discard") return cadre::discard_policy{};
    if (name == "discard_oldest") return cadre::discard_oldest_policy{};
    if (name == "record") return record;
    throw std::invalid_argument("unknown policy " + name);
}

cadre::pool_hooks telling_hooks() {
    cadre::pool_hooks hooks;
    hooks.terminated = [] { event("terminated"); };
    hooks.uncaught_exception = [](const task&, const std::exception_ptr& error) {
        event("uncaught " + message_of(error));
    };
    return hooks;
}

pool_under_test& current_pool() {
    if (pools.empty()) throw std::invalid_argument("there is no pool");
    return *pools.back();
}

int next_number() { return ++last_number; }

std::map<std::string, int>& numbers() {
    static auto& all = *new std::map<std::string, int>();
    return all;
}

void keep(task t) { kept_tasks.push_back(std::move(t)); }

bool hooks_are_told() { return hooks_told; }

std::string pool_snapshot_text() {
    if (pools.empty()) return "";
    const auto s = pools.back()->snapshot();
    const char* life = s.state == cadre::run_state::terminated ? "terminated"
                       : s.state == cadre::run_state::running  ? "running"
                                                               : "shutting_down";
    const auto maximum = s.maximum_pool_size == std::numeric_limits<int>::max()
                             ? "unbounded"
                             : std::to_string(s.maximum_pool_size);
    return life + (" core=" + std::to_string(s.core_pool_size)) + " max=" + maximum +
           " pool=" + std::to_string(s.pool_size) + " active=" + std::to_string(s.active_count) +
           " queued=" + std::to_string(s.queue_size) +
           " completed=" + std::to_string(s.completed_task_count) +
           " total=" + std::to_string(s.task_count) +
           " largest=" + std::to_string(s.largest_pool_size) +
           " threads=" + std::to_string(threads);
}

void add_pool_commands(command_table& commands) {
    commands.add("pool", make_pool);
    commands.add("scheduled", make_pool);
    commands.add("execute", execute);
    commands.add("submit", submit);
    for (const char* name : {"schedule", "fixed_rate", "fixed_delay"})
        commands.add(name, schedule_command);
    commands.add("remove", remove);
    commands.add("purge", [](const words&) {
        current_pool().purge();
        return "";
    });
    commands.add("queue", queued);
    commands.add("invoke_all", invoke_all);
    commands.add("invoke_any", invoke_any);
    commands.add("complete", complete);
    commands.add("complete_poll", complete_poll);
    add_life_commands(commands);
}

}  // namespace oracle
