// SPDX-License-Identifier: Apache-2.0

#include "gateway.hpp"

#include <cadre/detail/future_core.hpp>

#include "trace.hpp"

namespace oracle {

namespace {

using cadre::detail::future_core;

/// The task that the driver's thread is handing to its pool.
const future_core* under_way = nullptr;

/// Tells that a task is done, unless it is because its pool has just refused it.
class done_event final : public cadre::detail::completion {
public:
    done_event(const future_core& task, std::string name) : task_(task), name_(std::move(name)) {}
    void run() override {
        const std::unique_ptr<done_event> self(this);
        const bool cancelled = task_.is_cancelled();
        const bool refused = cancelled && is_driver_thread() && under_way == &task_;
        if (refused && !current_passage().refused_are_done) return;
        event("done " + name_ + (cancelled ? " cancelled" : ""));
    }

private:
    const future_core& task_;
    const std::string name_;
};

const future_core* tell_when_done(const cadre::task& t) {
    auto* const core =
        reinterpret_cast<future_core*>(cadre::detail::task_access::identity(t));  // it has a future
    auto told = std::make_unique<done_event>(*core, current_passage().done_name);
    if (core->attach(*told)) told.release();
    return core;
}

}  // namespace

void gateway::execute(cadre::task t) {
    ++current_passage().passed;
    struct hand_over {
        ~hand_over() { under_way = nullptr; }
    } const scope;
    if (done_ == done::told) under_way = tell_when_done(t);
    if (future_ == future::hidden) t = [inner = std::move(t)]() mutable { inner(); };
    pool_.execute(std::move(t));
}

passage& current_passage() {
    static passage the_one;
    return the_one;
}

}  // namespace oracle
