// SPDX-License-Identifier: Apache-2.0
//
// Waiting from inside a task. A worker first runs the wanted task in place if that is unstarted
// in its own pool, or, of a chain of continuations, the first one that is not complete, and waits
// for that one; a worker of a work-stealing pool runs whatever there is, and may be called back
// from its sleep, by a nudge, to run more. While nobody has started the task, the worker looks for
// it again, after ever longer pauses: it may be sent to the pool only now. If it has to block
// without a time limit, it enters the wait graph: thread -> task it waits for -> thread that runs
// it -> ... A path that leads back to itself is a cycle; the one lock of the graph makes the last
// one to enter see it. Controls of threads are reached through word_ under that lock only, and a
// control is deleted only after taking it once.

#include <algorithm>
#include <chrono>
#include <mutex>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <cadre/detail/future_core.hpp>
#include <cadre/errors.hpp>

#include "forks.hpp"
#include "helper_scope.hpp"
#include "pause.hpp"
#include "wait_graph.hpp"

namespace cadre::detail {

namespace {

// There before any static is made and after all are gone: threads may end that late.
constinit std::mutex graph_mutex;
static_assert(std::is_trivially_destructible_v<std::mutex>);

// Of a worker that waits for a task which nobody has started.
constexpr std::chrono::nanoseconds first_pause = std::chrono::milliseconds(1);
constexpr std::chrono::nanoseconds longest_pause = std::chrono::seconds(1);

std::string quoted(const future_core& task) {
    return task.name().empty() ? "an unnamed task" : "'" + std::string(task.name()) + "'";
}

}  // namespace

void wait_for_graph_readers() noexcept { std::lock_guard lock(graph_mutex); }
void lock_wait_graph() noexcept { graph_mutex.lock(); }
void unlock_wait_graph() noexcept { graph_mutex.unlock(); }

/// True if the pool that was to run it is in the process from which this one was forked.
bool future_core::is_inherited() const noexcept {
    return home() &&
           (home_.load(std::memory_order_relaxed) & process_mask) != (forks() & process_mask);
}

void future_core::check_process() const {
    if (forks() == 0) return;
    if (is_inherited() || first_unfinished()->is_inherited())
        throw illegal_state("the task belongs to a pool of the process that forked this one");
}

/// While it lives, the calling thread stands in the wait graph.
class [[nodiscard]] future_core::wait_graph_scope {
public:
    /// Throws illegal_state if `wanted` cannot complete before the calling thread goes on. Takes
    /// memory only then: all waits of all pools come through this one lock.
    wait_graph_scope(thread_control& self, const future_core& wanted) : self_(self) {
        std::lock_guard lock(graph_mutex);
        for (const auto* next = &wanted; next && !next->is_done();) {
            const thread_control* const thread = next->runner();
            if (thread == &self)
                throw illegal_state("tasks wait for each other: " + circle(self, wanted) +
                                    ", which cannot go on before that");
            next = thread ? thread->waits_for : nullptr;
        }
        self_.waits_for = &wanted;
    }
    ~wait_graph_scope() {
        std::lock_guard lock(graph_mutex);
        self_.waits_for = nullptr;
    }
    wait_graph_scope(const wait_graph_scope&) = delete;
    wait_graph_scope& operator=(const wait_graph_scope&) = delete;

private:
    /// The tasks on the way from this thread, through what it wants, as far as they are still
    /// there: those who run them may be about to end them.
    static std::string circle(const thread_control& self, const future_core& wanted) {
        std::string path = self.running_future ? quoted(*self.running_future) : "a task";
        for (const auto* next = &wanted; next;) {
            path += " waits for " + quoted(*next);
            const thread_control* const thread = next->runner();
            if (!thread || thread == &self) break;
            path += ", which";
            next = thread->waits_for;
        }
        return path;
    }

    thread_control& self_;
};

/// The chain of sources of a task that a worker waits for. The way to its end is kept from one look
/// to the next: it may be long, and gets shorter by a task at a time.
class future_core::source_chain {
public:
    explicit source_chain(const future_core& last) : last_(last) {}

    /// The unfinished end: what has to be run first. Kept alive until the next call.
    const future_core& first() {
        while (!way_.empty() && way_.back()->is_done()) way_.pop_back();
        const future_core* found = way_.empty() ? &last_ : way_.back().get();
        for (bool keeps_way = true;;) {
            auto source = found->source(dispatches_);
            if (!source || source->is_done()) return *found;
            found = source.get();
            first_ = std::move(source);
            try {
                if (keeps_way) way_.push_back(first_);
            } catch (const std::bad_alloc&) {
                keeps_way = false;
            }
        }
    }
    /// How often that one had been dispatched when its own source was looked for.
    std::uint32_t dispatches() const noexcept { return dispatches_; }

private:
    const future_core& last_;
    intrusive_ptr<future_core> first_;
    std::vector<intrusive_ptr<future_core>> way_;  // each is the source of the one before it
    std::uint32_t dispatches_ = 0;
};

bool future_core::help() const {
    auto& self = thread_control::current();
    if (is_done() || !self.helper) return false;
    return self.helper->run_in_place(*first_unfinished());
}

namespace {

/// How many results the calling thread has found complete, one after the other.
constinit thread_local unsigned ready_in_a_row = 0;

}  // namespace

/// Whoever gets many results has caught up with the workers when it comes to one that is pending.
/// Left alone for a microsecond or two, they get ahead, and need not wake anybody: that costs a
/// worker as much as many a task.
bool future_core::is_done_soon() const noexcept {
    constexpr unsigned some = 2;
    constexpr int pauses = 64;
    if (std::exchange(ready_in_a_row, 0) < some) return is_done();
    for (int i = 0; i < pauses; ++i) pause();
    if (!is_done()) return false;
    ready_in_a_row = some;
    return true;
}

void future_core::wait() const {
    if (is_done()) {
        ++ready_in_a_row;
        return;
    }
    check_process();
    auto& self = thread_control::current();
    if (!self.running && !self.helper) {  // not inside a task: nothing to help, no cycle to close
        if (!is_done_soon()) wait_until(forever);
        return;
    }
    source_chain chain(*this);
    // A result that is there beats an interrupt, as outside a task.
    for (auto pause = first_pause; !is_done(); pause = std::min(2 * pause, longest_pause)) {
        self.throw_if_interrupted();
        run_deferred_completions();
        const future_core* first = &chain.first();
        while (!is_done() && self.helper && self.helper->run_in_place(*first)) {
            run_deferred_completions();  // for what was run here may have put off some
            if (!is_done()) self.throw_if_interrupted();  // others may be run meanwhile, for long
            first = &chain.first();
        }
        if (is_done()) return;
        const auto seen = chain.dispatches();
        const wait_graph_scope scope(self, *first);
        const helper_scope helped(self);
        if (helped.must_look_again()) continue;
        // What nobody has started may come into this worker's pool only now, and find nobody else
        // there to run it. That tells nobody who waits, so they look again from time to time.
        const bool may_come = self.helper && first->state() == future_state::pending;
        const auto next_look = may_come ? std::chrono::steady_clock::now() + pause : forever;
        // When the first one of a chain is complete, the next one is the first, and may be in this
        // worker's pool. Nothing but a cancellation ends a later one sooner, and that tells of it
        // all along the chain.
        std::unique_lock lock(first->mutex_);
        if (!first->watch()) continue;
        const auto* own = first->more_if_any();
        try {
            first->changed_.wait_until(lock, next_look, [&] {
                return is_done() || first->is_done() || (own && own->dispatches != seen);
            });
        } catch (const interrupted&) {
            if (!helped.was_called()) throw;
        }
    }
}

/// The end of the chain of sources: what has to be run first.
intrusive_ptr<future_core> future_core::first_unfinished() const {
    intrusive_ptr<future_core> first(const_cast<future_core*>(this));
    while (auto source = first->source()) {
        if (source->is_done()) break;
        first = std::move(source);
    }
    return first;
}

}  // namespace cadre::detail
