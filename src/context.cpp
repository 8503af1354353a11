// SPDX-License-Identifier: Apache-2.0

#include <cadre/context.hpp>

#include <algorithm>
#include <exception>
#include <iterator>
#include <mutex>

#include <cadre/detail/report.hpp>

#include "context_lock.hpp"
#include "forks.hpp"
#include "result_of.hpp"

namespace cadre::detail {

namespace {

using carriers = std::vector<std::shared_ptr<context_carrier>>;

// There before any static is made and after all are gone, as tasks may be submitted; held round a
// fork, so that a child can submit tasks whatever other threads did in its parent.
constinit std::mutex registry_mutex;

/// The list is never changed, only replaced, so that users' functions run outside the lock.
/// Whenever the mutex is free there are as many spares as carriers, the n-th with room for n: what
/// takes one carrier away needs memory for the list without it, and must not fail for want of that.
struct registry {
    std::shared_ptr<const carriers> all = std::make_shared<const carriers>();
    std::vector<std::shared_ptr<carriers>> spares;
};
/// Under registry_mutex, from the first call on.
registry& the_registry() {
    static auto* const one = new registry;  // never destroyed: tasks may be submitted that late
    return *one;
}

std::shared_ptr<const carriers> registered() {
    const std::lock_guard lock(registry_mutex);
    return the_registry().all;
}

void replace(std::shared_ptr<const carriers> next) noexcept {
    carried_contexts = static_cast<int>(next->size());
    the_registry().all = std::move(next);
}

struct task_in_context {
    task inner;
    captured_context carried;

    void operator()() {
        bool entered = false;
        try {
            carried.call([&] {
                entered = true;
                inner();
            });
        } catch (...) {
            // What keeps the task from running is its failure; who has no future tells others.
            if (entered || !fail(std::current_exception())) throw;
        }
    }
    bool fail(std::exception_ptr error) const {
        auto* const result = result_of(inner);
        // The task of a strand's ticket may be running already, on another thread.
        return result && result->state() == future_state::pending &&
               result->set_exception(std::move(error));
    }
    std::string_view task_name() const noexcept { return inner.name(); }
    int task_priority() const noexcept { return inner.priority(); }
};

}  // namespace

void lock_contexts() noexcept { registry_mutex.lock(); }
void unlock_contexts() noexcept { registry_mutex.unlock(); }

captured_context::scope::scope(captured_context& of) : of_(of) {
    try {
        for (; entered_ < of_.values_.size(); ++entered_) of_.values_[entered_]->enter();
    } catch (...) {
        leave();
        throw;
    }
}

captured_context::scope::~scope() { leave(); }

void captured_context::scope::leave() noexcept {
    while (entered_ > 0) {
        try {
            of_.values_[--entered_]->leave();
        } catch (...) {
            report_uncaught("a carried context", std::current_exception());
        }
    }
}

std::exception_ptr captured_context::try_resume(std::coroutine_handle<> waiting) {
    bool entered = false;
    try {
        call([&] {
            entered = true;
            waiting.resume();
        });
    } catch (...) {
        if (entered) throw;
        return std::current_exception();
    }
    return nullptr;
}

void captured_context::resume(std::coroutine_handle<> waiting) {
    const auto error = try_resume(waiting);
    if (!error) return;
    report_uncaught("a carried context", error);
    waiting.resume();
}

void captured_context::capture() {
    const auto all = registered();
    values_.reserve(all->size());
    for (const auto& carrier : *all) values_.push_back(carrier->capture());
}

task with_context(task t) {
    captured_context carried;
    if (carried.is_empty() || !t) return t;
    return task(task_in_context{std::move(t), std::move(carried)});
}

void register_carrier(const std::shared_ptr<context_carrier>& carrier) {
    watch_forks();
    const std::lock_guard lock(registry_mutex);
    auto& [all, spares] = the_registry();
    auto next = std::make_shared<carriers>(*all);
    next->push_back(carrier);
    auto spare = std::make_shared<carriers>();
    spare->reserve(next->size());
    spares.push_back(std::move(spare));
    replace(std::move(next));
}

void unregister_carrier(const std::shared_ptr<context_carrier>& carrier) noexcept {
    const std::lock_guard lock(registry_mutex);
    auto& [all, spares] = the_registry();
    auto next = std::move(spares.back());
    spares.pop_back();
    std::remove_copy(all->begin(), all->end(), std::back_inserter(*next), carrier);
    replace(std::move(next));
}

}  // namespace cadre::detail
