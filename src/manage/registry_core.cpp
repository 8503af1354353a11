// SPDX-License-Identifier: Apache-2.0
//
// A change goes through these steps, for one pool as for many:
//
//   turns    whoever changes a pool has its turn; those of several are taken in the order of names
//   plan     what each pool is to become, and whether that can be; throws, with nothing changed
//   reserve  the threads of all pools are counted against the guard rails and noted in one step,
//            so that two changes of two pools cannot both take the last threads
//   apply    the setters; if one fails, what was done is undone, and what was reserved given back
//   record   the pool is asked what it has now; that, not the wish, goes to report and history

#include "registry_core.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

#include <cadre/errors.hpp>
#include <cadre/manage/settings_text.hpp>

namespace cadre::manage::detail {

struct registry_core::planned {
    managed_core* pool;
    std::shared_ptr<thread_pool_executor> use;
    pool_settings before;
    pool_settings wished;
    change_plan plan;
    std::vector<std::string> warnings = {};

    change_report report(const pool_settings& after) const {
        change_report r{.pool = pool->name(),
                        .revision = pool->revision(),
                        .changes = differences(before, after),
                        .not_applied = plan.not_applied,
                        .warnings = warnings,
                        .before = before,
                        .after = after};
        // What a third party set meanwhile.
        for (const auto& field : field_names()) {
            const auto planned_text = field_text(plan.target, field);
            const auto is = field_text(after, field);
            if (!field_text(wished, field).empty() && planned_text != is)
                r.not_applied.push_back(
                    {field, field_text(wished, field), is, "the pool has another value now"});
        }
        return r;
    }
};

registry_core::registry_core(const registry_options& options)
    : history_(options.history_size, options.change_log), rails_of_code_(options.rails) {}

std::vector<registry_core::planned> registry_core::plan(const std::vector<wish>& wishes,
                                                        const guard_rails& rails) const {
    std::vector<planned> plans;
    for (const auto& w : wishes) {
        auto& pool = *w.pool;
        try {
            auto use = pool.use();
            if (!use) throw illegal_state("is not registered any more");
            auto before = pool.effective(*use);
            auto plan = plan_change(before, w.settings, pool.limits());
            check_pool_rails(rails, pool.kind(), before, plan.target);
            plans.push_back(
                {&pool, std::move(use), std::move(before), w.settings, std::move(plan)});
        } catch (const std::invalid_argument& e) {
            throw std::invalid_argument("pool '" + pool.name() + "': " + e.what());
        } catch (const illegal_state& e) {
            throw illegal_state("pool '" + pool.name() + "': " + e.what());
        }
    }
    return plans;
}

/// Checks the sum of all pools' threads.
registry_core::thread_counts registry_core::threads_after(
    const std::vector<planned>& plans, const std::lock_guard<std::mutex>& lock,
    const std::vector<pool_spec>& to_be_made) const {
    auto threads = threads_;
    for (const auto& p : plans)  // what was set past the registry
        if (const auto found = threads.find(p.pool->name()); found != threads.end())
            found->second = threads_of(p.pool->kind(), p.before);
    const auto before = sum_of(threads);
    std::string what;
    for (const auto& p : plans) {
        const auto found = threads.find(p.pool->name());
        if (found == threads.end()) continue;  // removed meanwhile
        found->second = threads_of(p.pool->kind(), p.plan.target);
        what += (what.empty() ? "pool '" : ", '") + p.pool->name() + "'";
    }
    for (const auto& spec : to_be_made) {
        threads[spec.name] = threads_of(spec.kind, complete_settings(spec));
        what += (what.empty() ? "pool '" : ", '") + spec.name + "'";
    }
    check_total(sum_of(threads), before, what, lock);
    return threads;
}

std::int64_t registry_core::sum_of(const thread_counts& threads) {
    std::int64_t sum = 0;
    for (const auto& [name, count] : threads) sum += count;
    return sum;
}

void registry_core::check_total_with(const std::string& name, std::int64_t count,
                                     const std::lock_guard<std::mutex>& lock) const {
    const auto before = sum_of(threads_);
    check_total(before + count, before, "pool '" + name + "'", lock);
}

void registry_core::check_total(std::int64_t sum, std::int64_t before, const std::string& what,
                                const std::lock_guard<std::mutex>& lock) const {
    const auto most = narrower_rails(lock).max_threads_per_process;
    if (most && sum > *most && sum > before)
        throw std::invalid_argument(what + ": maximum_pool_size of all pools together (" +
                                    std::to_string(sum) + ") is above max_threads_per_process (" +
                                    std::to_string(*most) + ")");
}

void registry_core::apply(std::vector<planned>& plans) {
    std::size_t done = 0;
    try {
        for (; done < plans.size(); ++done) {
            auto& p = plans[done];
            p.pool->apply(*p.use, p.plan.target, p.warnings);
        }
    } catch (...) {
        std::vector<std::string> ignored;
        for (std::size_t i = 0; i < done; ++i)
            plans[i].pool->apply(*plans[i].use, plans[i].before, ignored);
        const std::lock_guard lock(mutex_);
        for (const auto& p : plans)
            if (const auto found = threads_.find(p.pool->name()); found != threads_.end())
                found->second = threads_of(p.pool->kind(), p.before);
        throw;
    }
}

std::vector<change_report> registry_core::change(const std::vector<wish>& wishes,
                                                 const change_origin& origin, change_kind kind) {
    std::vector<change_report> reports;
    std::vector<change_record> records;
    try {
        std::vector<managed_core*> cores;
        cores.reserve(wishes.size());
        for (const auto& w : wishes) cores.push_back(w.pool);
        const turns_scope turns(std::move(cores));
        if (wishes.size() == 1 && origin.only_if_revision &&
            wishes[0].pool->revision() != *origin.only_if_revision)
            throw illegal_state("pool '" + wishes[0].pool->name() + "' is at revision " +
                                std::to_string(wishes[0].pool->revision()) + ", not " +
                                std::to_string(*origin.only_if_revision));
        auto plans = plan(wishes, rails_for(kind));
        {
            const std::lock_guard lock(mutex_);
            threads_ = threads_after(plans, lock);
        }
        apply(plans);
        for (const auto& p : plans) {
            auto report = p.report(p.pool->effective(*p.use));
            if (report.changed()) {
                change_record record{.kind = kind,
                                     .pool = report.pool,
                                     .origin = origin,
                                     .changes = report.changes,
                                     .not_applied = report.not_applied,
                                     .warnings = report.warnings,
                                     .settings = report.after};
                history_.append(record);
                p.pool->set_revision(record.revision);
                report.revision = record.revision;
                report.warnings = record.warnings;
                records.push_back(std::move(record));
            }
            reports.push_back(std::move(report));
        }
    } catch (const std::logic_error& e) {
        refused(wishes, origin, e.what());
        throw;
    }
    for (const auto& record : records) history_.tell(record);
    return reports;
}

void registry_core::refused(const std::vector<wish>& wishes, const change_origin& origin,
                            const char* why) {
    for (const auto& w : wishes) {
        change_record record{.kind = change_kind::refused,
                             .pool = w.pool->name(),
                             .origin = origin,
                             .changes = differences({}, w.settings),
                             .error = why,
                             .settings = w.pool->settings()};
        history_.append(record);
        history_.tell(record);
    }
}

std::vector<change_report> registry_core::preview(const std::vector<wish>& wishes,
                                                  const std::vector<pool_spec>& to_be_made,
                                                  change_kind kind) const {
    const auto plans = plan(wishes, rails_for(kind));
    for (const auto& spec : to_be_made) {
        try {
            check_new(spec);
        } catch (const std::invalid_argument& e) {
            throw std::invalid_argument("pool '" + spec.name + "': " + e.what());
        }
    }
    {
        const std::lock_guard lock(mutex_);
        threads_after(plans, lock, to_be_made);
    }
    std::vector<change_report> reports;
    reports.reserve(plans.size());
    for (const auto& p : plans) reports.push_back(p.report(p.plan.target));
    return reports;
}

/// The settings that the pool had after that revision.
pool_settings registry_core::settings_at(const managed_core& pool, std::uint64_t revision) const {
    const auto record = history_.find(revision);
    if (!record)
        throw std::invalid_argument("revision (" + std::to_string(revision) +
                                    ") is not in the history");
    if (record->pool != pool.name())
        throw std::invalid_argument("revision (" + std::to_string(revision) + ") is of pool '" +
                                    record->pool + "', not of '" + pool.name() + "'");
    return wish_for(record->settings);
}

change_report registry_core::roll_back(managed_core& pool, std::uint64_t revision,
                                       change_origin origin) {
    pool_settings settings;
    try {
        settings = settings_at(pool, revision);
    } catch (const std::invalid_argument& e) {
        refused({{&pool, {}}}, origin, e.what());
        throw;
    }
    if (origin.comment.empty()) origin.comment = "back to revision " + std::to_string(revision);
    return change({{&pool, settings}}, origin, change_kind::rolled_back).front();
}

change_report registry_core::preview_roll_back(managed_core& pool, std::uint64_t revision) const {
    return preview({{&pool, settings_at(pool, revision)}}, {}, change_kind::rolled_back).front();
}

guard_rails registry_core::rails_for(change_kind kind) const {
    auto rails = this->rails();
    if (kind == change_kind::rolled_back) rails.max_step.reset();  // it has been like that
    return rails;
}

guard_rails registry_core::rails() const {
    const std::lock_guard lock(mutex_);
    return narrower_rails(lock);
}

guard_rails registry_core::narrower_rails(const std::lock_guard<std::mutex>&) const {
    const auto narrower = [this](std::optional<int> guard_rails::*rail) {
        const auto& one = rails_of_code_.*rail;
        const auto& other = rails_of_documents_.*rail;
        return one && other ? std::optional(std::min(*one, *other)) : one ? one : other;
    };
    return {narrower(&guard_rails::max_threads_per_pool),
            narrower(&guard_rails::max_threads_per_process), narrower(&guard_rails::max_step)};
}

void registry_core::set_rails(guard_rails rails) {
    const auto check = [](const char* name, const std::optional<int>& value, int least) {
        if (value && *value < least)
            throw std::invalid_argument(std::string(name) + " (" + std::to_string(*value) +
                                        ") must be at least " + std::to_string(least));
    };
    check("max_threads_per_pool", rails.max_threads_per_pool, 1);
    check("max_threads_per_process", rails.max_threads_per_process, 1);
    check("max_step", rails.max_step, 1);
    const std::lock_guard lock(mutex_);
    rails_of_code_ = rails;
}

guard_rails registry_core::rails_of_documents() const {
    const std::lock_guard lock(mutex_);
    return rails_of_documents_;
}

void registry_core::set_rails_of_documents(guard_rails rails) {
    const std::lock_guard lock(mutex_);
    rails_of_documents_ = rails;
}

}  // namespace cadre::manage::detail
