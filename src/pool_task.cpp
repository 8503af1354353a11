// SPDX-License-Identifier: Apache-2.0

#include "pool_task.hpp"

#include <algorithm>
#include <chrono>

#include <cadre/errors.hpp>

#include "coarse_stamp.hpp"

namespace cadre::detail {

namespace {

struct decorated_task {
    task inner;
    intrusive_ptr<future_core> result;
    std::string name;
    int priority;

    void operator()() { inner(); }
    std::string_view task_name() const noexcept {
        return inner.name().empty() ? std::string_view(name) : inner.name();
    }
    int task_priority() const noexcept { return inner.priority() ? inner.priority() : priority; }
    std::uintptr_t task_identity() const noexcept {
        return reinterpret_cast<std::uintptr_t>(result.get());
    }
};

/// Too large to lie inside its task; so in memory that is kept for the next.
struct stamped_task : in_recycled_memory {
    stamped_task(task t, std::int64_t when) : inner(std::move(t)), stamp(when) {}
    task inner;
    std::int64_t stamp;

    void operator()() { inner(); }
    std::string_view task_name() const noexcept { return inner.name(); }
    int task_priority() const noexcept { return inner.priority(); }
    std::int64_t task_stamp() const noexcept { return stamp; }
    std::uintptr_t task_identity() const noexcept { return task_access::identity(inner); }
};

}  // namespace

std::int64_t task_access::coarse_stamp_of(std::uintptr_t identity) noexcept {
    constexpr auto ticks = (std::int64_t{1} << coarse_tick_bits) - 1;
    const std::int64_t now = std::chrono::steady_clock::now().time_since_epoch().count();
    const auto then =
        static_cast<std::int64_t>(std::uint64_t{identity} >> (coarse_number_bits + 1)) & ticks;
    const auto ago = ((now >> tick_bits) - then) & ticks;
    return std::min(((now >> tick_bits) - ago + most_ticks_behind) << tick_bits, now);
}

task stamped(task t, std::int64_t stamp) { return task(stamped_task(std::move(t), stamp)); }

task decorated(const std::function<task(task)>& decorate_task, task t) {
    decorated_task made{
        {}, intrusive_ptr<future_core>(result_of(t)), std::string(t.name()), t.priority()};
    made.inner = decorate_task(std::move(t));
    if (!made.inner) throw std::invalid_argument("decorate_task returned an empty task");
    return task(std::move(made));
}

std::string called(const task& t) {
    return t.name().empty() ? std::string("a task") : "task '" + std::string(t.name()) + "'";
}

bool is_interruption(const std::exception_ptr& error) noexcept {
    try {
        std::rethrow_exception(error);
    } catch (const interrupted&) {
        return true;
    } catch (...) {
        return false;
    }
}

}  // namespace cadre::detail
