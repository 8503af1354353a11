// SPDX-License-Identifier: Apache-2.0

#include "trace.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>

#include <cadre/errors.hpp>
#include <cadre/thread.hpp>

#include "tasks.hpp"
#include "words.hpp"

namespace oracle {

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

const std::thread::id driver = std::this_thread::get_id();

std::mutex events_mutex;
std::vector<std::string> events;  // guarded by events_mutex
std::atomic<int> busy = 0;
auto& waiters = *new std::vector<cadre::thread>();  // of the driver thread; never destroyed

std::size_t event_count() {
    std::lock_guard lock(events_mutex);
    return events.size();
}

}  // namespace

bool is_driver_thread() { return std::this_thread::get_id() == driver; }

void event(const std::string& what) {
    const bool at_caller = is_driver_thread() && what != "terminated";
    std::lock_guard lock(events_mutex);
    events.push_back(at_caller ? what + " @caller" : what);
}

std::vector<std::string> take_events() {
    std::vector<std::string> seen;
    {
        std::lock_guard lock(events_mutex);
        seen.swap(events);
    }
    std::sort(seen.begin(), seen.end());
    return seen;
}

busy_scope::busy_scope() { ++busy; }
busy_scope::~busy_scope() { --busy; }

void settle(const std::function<std::string()>& snapshot) {
    const auto limit = clock::now() + 5s;
    auto since = clock::now();
    std::string last;
    for (auto now = since; now < limit; now = clock::now()) {
        const auto state =
            std::to_string(event_count()) + " " + std::to_string(busy.load()) + " " + snapshot();
        if (state != last || busy.load() > 0) {
            last = state;
            since = clock::now();
        } else if (clock::now() - since > 60ms) {
            return;
        }
        std::this_thread::sleep_for(2ms);  // of turns.cpp: over when nobody else can act
    }
}

std::string fail(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const cadre::rejected_execution&) {
        return "! rejected";
    } catch (const cadre::cancellation&) {
        return "! cancelled";
    } catch (const cadre::timeout&) {
        return "! timeout";
    } catch (const cadre::interrupted&) {
        return "! interrupted";
    } catch (const cadre::no_such_element&) {
        return "! no_such_element";
    } catch (const task_error& e) {
        return "! " + e.unwrapped();
    } catch (const std::invalid_argument&) {
        return "! invalid_argument";
    } catch (const cadre::illegal_state&) {
        return "! illegal_state";
    } catch (const java_error& e) {
        return std::string("! ") + e.what();
    } catch (const std::exception& e) {
        return std::string("! unexpected: ") + e.what();
    }
}

void background(const std::string& what, std::function<std::string()> operation) {
    waiters.emplace_back([what, operation = std::move(operation)] {
        std::string result;
        try {
            result = operation();
        } catch (...) {
            result = fail(std::current_exception());
        }
        event(what + " -> " + result);
    });
}

void interrupt_waiters() {
    for (auto& waiter : waiters) waiter.interrupt();
}

std::string bracketed(const std::vector<std::string>& names) {
    std::string joined;
    for (const auto& name : names) joined += (joined.empty() ? "" : " ") + name;
    return "[" + joined + "]";
}

}  // namespace oracle
