// SPDX-License-Identifier: Apache-2.0
#include "change_plan.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include <cadre/manage/rejection_policies.hpp>
#include <cadre/manage/settings_text.hpp>
#include <cadre/queue/blocking_queue.hpp>

namespace cadre::manage::detail {
namespace {

[[noreturn]] void refuse(const pool_settings& settings, const char* field, const std::string& why) {
    throw std::invalid_argument(std::string(field) + " (" + field_text(settings, field) + ") " +
                                why);
}

void check_sizes(const pool_settings& s) {
    if (s.core_pool_size && *s.core_pool_size < 0) refuse(s, "core_pool_size", "is negative");
    if (s.maximum_pool_size && *s.maximum_pool_size < 1)
        refuse(s, "maximum_pool_size", "is not positive");
    if (s.core_pool_size && s.maximum_pool_size && *s.maximum_pool_size < *s.core_pool_size)
        refuse(s, "maximum_pool_size",
               "is below core_pool_size (" + std::to_string(*s.core_pool_size) + ")");
    if (s.queue_capacity && *s.queue_capacity < 1)
        refuse(s, "queue_capacity", "must be at least 1");
    if (s.queue_capacity && *s.queue_capacity > static_cast<std::size_t>(unbounded))
        refuse(s, "queue_capacity", "is above " + std::to_string(unbounded));
}

void check_times(const pool_settings& s) {
    if (s.keep_alive && s.keep_alive->count() < 0) refuse(s, "keep_alive", "is negative");
    if (s.keep_alive && s.keep_alive->count() == 0 && s.allow_core_thread_time_out.value_or(false))
        refuse(s, "keep_alive", "must not be zero while core threads may time out");
    if (s.run_timeout && s.run_timeout->count() < 0) refuse(s, "run_timeout", "is negative");
    if (s.queue_timeout && s.queue_timeout->count() < 0) refuse(s, "queue_timeout", "is negative");
}

void check_prefix(const pool_settings& s) {
    if (!s.thread_name_prefix) return;
    const auto& prefix = *s.thread_name_prefix;
    if (prefix.empty()) refuse(s, "thread_name_prefix", "is empty");
    const auto is_control = [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    };
    if (std::any_of(prefix.begin(), prefix.end(), is_control))
        throw std::invalid_argument("thread_name_prefix has a control character in it");
}

void check_rejection(const std::string& name, const pool_limits& limits) {
    if (name != "custom")
        static_cast<void>(rejection_policies::make(name));
    else if (!limits.has_custom_policy)
        throw std::invalid_argument(
            "rejection (custom): the pool came without a policy of its own");
}

}  // namespace

void check_settings(const pool_settings& settings) {
    check_sizes(settings);
    check_times(settings);
    check_prefix(settings);
}

pool_settings wish_for(pool_settings state) {
    // A pool that has none has the names of its own factory.
    if (!state.thread_name_prefix) state.thread_name_prefix = "";
    return state;
}

change_plan plan_change(const pool_settings& effective, const pool_settings& wished,
                        const pool_limits& limits) {
    pool_settings possible = wished;
    const bool own_names =
        limits.has_own_names && wished.thread_name_prefix && wished.thread_name_prefix->empty();
    if (own_names) possible.thread_name_prefix.reset();
    check_settings(possible);
    if (wished.rejection && wished.rejection != effective.rejection)
        check_rejection(*wished.rejection, limits);
    change_plan plan;
    const auto strike = [&](auto member, const char* field, const std::string& reason) {
        if (possible.*member && possible.*member != effective.*member)
            plan.not_applied.push_back(
                {field, field_text(wished, field), field_text(effective, field), reason});
        (possible.*member).reset();
    };
    if (limits.kind == pool_kind::scheduled) {
        // It follows the core, which may be about to change.
        const int core = possible.core_pool_size.value_or(effective.core_pool_size.value_or(0));
        const int follows = std::max(core, 1);
        if (possible.maximum_pool_size.value_or(follows) != follows)
            plan.not_applied.push_back(
                {"maximum_pool_size", field_text(wished, "maximum_pool_size"),
                 std::to_string(follows), "a scheduled pool has no more threads than its core"});
        possible.maximum_pool_size.reset();
    }
    if (!limits.capacity_fixed_because.empty())
        strike(&pool_settings::queue_capacity, "queue_capacity", limits.capacity_fixed_because);
    if (!limits.timeouts_unwatched_because.empty()) {
        const auto& reason = limits.timeouts_unwatched_because;
        strike(&pool_settings::run_timeout, "run_timeout", reason);
        strike(&pool_settings::queue_timeout, "queue_timeout", reason);
        strike(&pool_settings::interrupt_on_run_timeout, "interrupt_on_run_timeout", reason);
    }
    plan.target = merged(possible, effective);
    if (own_names) plan.target.thread_name_prefix.reset();
    // A scheduled pool's maximum follows its core.
    if (limits.kind == pool_kind::scheduled && plan.target.core_pool_size)
        plan.target.maximum_pool_size = std::max(*plan.target.core_pool_size, 1);
    check_settings(plan.target);
    return plan;
}

std::int64_t threads_of(pool_kind kind, const pool_settings& settings) {
    const int core = settings.core_pool_size.value_or(0);
    return kind == pool_kind::scheduled ? std::max(core, 1)
                                        : settings.maximum_pool_size.value_or(std::max(core, 1));
}

void check_pool_rails(const guard_rails& rails, pool_kind kind, const pool_settings& before,
                      const pool_settings& after) {
    const char* const field = kind == pool_kind::scheduled ? "core_pool_size" : "maximum_pool_size";
    if (rails.max_threads_per_pool && threads_of(kind, after) > *rails.max_threads_per_pool &&
        threads_of(kind, after) > threads_of(kind, before))
        refuse(
            after, field,
            "is above max_threads_per_pool (" + std::to_string(*rails.max_threads_per_pool) + ")");
    if (!rails.max_step) return;
    const auto check_step = [&](const char* name, std::optional<int> from, std::optional<int> to) {
        if (!from || !to) return;
        const auto step = std::abs(std::int64_t{*to} - *from);
        if (step > *rails.max_step)
            refuse(after, name,
                   "is " + std::to_string(step) + " away from " + std::to_string(*from) +
                       ", and max_step is " + std::to_string(*rails.max_step));
    };
    check_step("core_pool_size", before.core_pool_size, after.core_pool_size);
    check_step("maximum_pool_size", before.maximum_pool_size, after.maximum_pool_size);
}

std::vector<field_change> differences(const pool_settings& before, const pool_settings& after) {
    std::vector<field_change> found;
    for (const auto& field : field_names()) {
        auto was = field_text(before, field);
        auto is = field_text(after, field);
        if (was != is) found.push_back({field, std::move(was), std::move(is)});
    }
    return found;
}

}  // namespace cadre::manage::detail
