// SPDX-License-Identifier: Apache-2.0
//
// A future_task alone, run on threads of its own.

#include <memory>
#include <vector>

#include <cadre/future.hpp>
#include <cadre/task.hpp>

#include "commands.hpp"
#include "tasks.hpp"
#include "trace.hpp"

namespace oracle {

namespace {

using string_task = cadre::future_task<std::string>;

/// All of them are kept: one that is destroyed unrun would complete its future.
std::vector<std::shared_ptr<string_task>>& kept() {
    static auto& all = *new std::vector<std::shared_ptr<string_task>>();
    return all;
}

std::map<std::string, std::shared_ptr<string_task>>& tasks() {
    static auto& all = *new std::map<std::string, std::shared_ptr<string_task>>();
    return all;
}

std::string make(const words& w) {
    const auto& name = w.at(1);
    const auto tell_done = [name](cadre::future_state how) {
        event("done " + name + (how == cadre::future_state::cancelled ? " cancelled" : ""));
    };
    const auto made = std::make_shared<string_task>(
        cadre::named(name, body(name, w.value_or(2, "gate"))), tell_done);
    kept().push_back(made);
    tasks()[name] = made;
    futures()[name] = {hold(made->get_future()), 0};
    return "";
}

/// Does something with a task in the background; without such a task that is what fails.
template <class Operation>
std::string with_task(const words& w, Operation operation) {
    const auto& name = w.at(1);
    const auto found = tasks().find(name);
    const auto task = found == tasks().end() ? nullptr : found->second;
    background(w.command() + " " + name, [=] {
        if (!task) throw std::invalid_argument("there is no such task");
        return std::string(operation(*task));
    });
    return "";
}

}  // namespace

void add_future_task_commands(command_table& commands) {
    commands.add("task", make);
    commands.add("run", [](const words& w) {
        return with_task(w, [](string_task& t) {
            t();
            return "returned";
        });
    });
    commands.add("run_and_reset", [](const words& w) {
        return with_task(w, [](string_task& t) { return text(t.run_and_reset()); });
    });
}

}  // namespace oracle
