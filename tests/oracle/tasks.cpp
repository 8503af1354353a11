// SPDX-License-Identifier: Apache-2.0

#include "tasks.hpp"

#include <mutex>

#include <cadre/detail/condition.hpp>
#include <cadre/errors.hpp>
#include <cadre/thread.hpp>

#include "commands.hpp"
#include "trace.hpp"
#include "words.hpp"

namespace oracle {

namespace {

class gate {
public:
    void open() {
        cadre::detail::deferred_wake wake;
        std::lock_guard lock(mutex_);
        open_ = true;
        opened_.notify_all(wake);
    }
    /// Throws cadre::interrupted, also if the gate is open.
    void pass() {
        cadre::this_thread::interruption_point();
        std::unique_lock lock(mutex_);
        opened_.wait(lock, [this] { return open_; });
    }

private:
    std::mutex mutex_;  // guards all below
    cadre::detail::condition opened_;
    bool open_ = false;
};

/// Never destroyed: tasks may wait at a gate when the driver exits.
gate& gate_of(const std::string& name) {
    static std::mutex mutex;
    static auto& gates = *new std::map<std::string, gate>();  // guarded by mutex
    std::lock_guard lock(mutex);
    return gates[name];
}

void pass_stubbornly(const std::string& name) {
    bool hit = false;
    for (bool passed = false; !passed;) {
        try {
            gate_of(name).pass();
            passed = true;
        } catch (const cadre::interrupted&) {
            hit = true;
        }
    }
    if (hit) event("ignored-interrupt " + name);
}

void sleep(std::int64_t milliseconds) {
    if (milliseconds < 0) throw std::invalid_argument("timeout value is negative");
    cadre::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

/// Throws what the reference's task does if there is no such part.
const std::string& part_of_kind(const std::vector<std::string>& kind, std::size_t i) {
    if (i < kind.size()) return kind[i];
    throw task_error(
        "Index " + std::to_string(i) + " out of bounds for length " + std::to_string(kind.size()),
        "ArrayIndexOutOfBoundsException");
}

}  // namespace

std::string body::operator()() {
    const int run = ++*runs_;
    event("start " + name_ + (run > 1 ? "#" + std::to_string(run) : ""));
    try {
        this->run(run);
    } catch (const cadre::interrupted&) {
        event("interrupted " + name_);
    } catch (const std::invalid_argument& e) {
        throw task_error(e.what(), "invalid_argument");
    }
    return value();
}

void body::run(int run) const {
    if (kind_ == nameless) throw task_error("null", "invalid_argument");
    const auto kind = split(kind_, ':');
    const auto& what = part_of_kind(kind, 0);
    const task_error boom("boom " + name_, "boom " + name_);
    if (what == "throw") throw boom;
    if (what == "throw_after") {
        if (run >= to_int(&part_of_kind(kind, 1))) throw boom;
        return;
    }
    if (what == "interrupt_self") {
        cadre::thread_handle::current().interrupt();
    } else if (what == "sleep") {
        const busy_scope busy;
        sleep(to_long(&part_of_kind(kind, 1)));
    } else if (what == "gate") {
        gate_of(name_).pass();
    } else if (what == "stubborn") {
        pass_stubbornly(name_);
    } else if (what != "quick") {
        throw std::invalid_argument("unknown kind " + kind_);
    }
    event("end " + name_ + (cadre::this_thread::is_interrupted() ? " interrupted-flag" : ""));
}

void release(const std::string& name) { gate_of(name).open(); }

std::map<std::string, numbered_future>& futures() {
    static auto& all = *new std::map<std::string, numbered_future>();
    return all;
}

held_future& future_of(const std::string& name) {
    const auto found = futures().find(name);
    if (found == futures().end()) throw std::invalid_argument("there is no future " + name);
    return *found->second.future;
}

std::string fail_of_future(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const task_error& e) {
        return std::string("! ") + e.what();
    } catch (...) {
        return fail(error);
    }
}

std::string outcome(const held_future& f) {
    try {
        auto value = f.get_for(std::chrono::milliseconds(200));
        for (auto at = value.find("null"); at != value.npos; at = value.find("null", at))
            value.replace(at, 4, "void");
        return value;
    } catch (...) {
        return fail_of_future(std::current_exception());
    }
}

void add_future_commands(command_table& commands) {
    commands.add("release", [](const words& w) {
        release(w.at(1));
        return "";
    });
    commands.add("cancel", [](const words& w) {
        return std::string("= ") +
               text(future_of(w.at(1)).cancel(w.value_or(2, "") == "interrupt"));
    });
    commands.add("get", [](const words& w) {
        const auto found = futures().find(w.at(1));
        // An unknown name is no error of the command but of the get.
        if (found == futures().end()) return std::string("= ! invalid_argument");
        return "= " + outcome(*found->second.future);
    });
    commands.add("is_done", [](const words& w) {
        return std::string("= ") + text(future_of(w.at(1)).is_done());
    });
    commands.add("is_cancelled", [](const words& w) {
        return std::string("= ") + text(future_of(w.at(1)).is_cancelled());
    });
    commands.add("get_blocking", [](const words& w) {
        const auto& name = w.at(1);
        const auto found = futures().find(name);
        const auto f = found == futures().end() ? nullptr : found->second.future;
        background("get " + name, [f] {
            if (!f) throw std::invalid_argument("there is no such future");
            try {
                return f->get();
            } catch (...) {
                return fail_of_future(std::current_exception());
            }
        });
        return "";
    });
}

}  // namespace oracle
