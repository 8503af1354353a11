// SPDX-License-Identifier: Apache-2.0
#include "manage/config_applier.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "manage/registry_core.hpp"

namespace cadre::manage::detail {
namespace {

template <class Function>
void for_each_field(Function function) {
    function(&pool_settings::core_pool_size);
    function(&pool_settings::maximum_pool_size);
    function(&pool_settings::keep_alive);
    function(&pool_settings::allow_core_thread_time_out);
    function(&pool_settings::queue_capacity);
    function(&pool_settings::rejection);
    function(&pool_settings::thread_name_prefix);
    function(&pool_settings::prestart_core_threads);
    function(&pool_settings::run_timeout);
    function(&pool_settings::queue_timeout);
    function(&pool_settings::interrupt_on_run_timeout);
}

/// What the documents say, and for what they said before and do not now, what the code said.
pool_settings change_to(const pool_settings& said, const pool_settings& said_before,
                        const pool_settings& from_code) {
    pool_settings change = said;
    for_each_field([&](auto field) {
        if (!(said.*field) && said_before.*field) change.*field = from_code.*field;
    });
    return change;
}

pool_spec spec_of(const std::string& name, const pool_entry& entry) {
    pool_spec spec{.name = name, .settings = entry.settings};
    if (entry.kind == "scheduled") spec.kind = pool_kind::scheduled;
    spec.queue = entry.kind == "priority" ? queue_kind::priority : parse_queue_kind(entry.queue);
    return spec;
}

std::string why_not_kind(const std::string& kind) {
    if (kind == "eager") return "there are no eager pools here; a synchronous queue comes near";
    if (kind == "ordered") return "order by key is had from keyed_strands on any pool";
    return "a pool is of one kind for its life; needs a restart";
}

/// What documents say and only a new pool could have.
std::vector<field_not_applied> fixed_for_life(const managed_pool& pool, const pool_entry& entry) {
    std::vector<field_not_applied> result;
    const auto queue = pool.queue_type();
    const bool scheduled = pool.kind() == pool_kind::scheduled;
    const std::string kind = scheduled ? "scheduled" : queue == "priority" ? "priority" : "common";
    const bool is_so = entry.kind == kind || (entry.kind == "common" && !scheduled);
    if (entry.places.contains("kind") && !is_so)
        result.push_back({"kind", entry.kind, kind, why_not_kind(entry.kind)});
    if (entry.places.contains("queue") && !scheduled && entry.kind != "priority" &&
        queue != entry.queue)
        result.push_back(
            {"queue", entry.queue, queue, "a pool has one queue for its life; needs a restart"});
    return result;
}

/// Where the documents say this of a pool; its entry, if they do not.
config_place place_of(const pool_entry& entry, std::string_view field) {
    auto found = entry.places.find(field);
    if (found == entry.places.end()) found = entry.places.find("");
    return found == entry.places.end() ? config_place{} : found->second;
}

/// A rule about a field begins with its name.
config_problem problem_of(const pool_entry& entry, std::string rule) {
    auto at = place_of(entry, rule.substr(0, rule.find_first_of(" :")));
    return {std::move(at.file), at.line, std::move(at.key), std::move(rule)};
}

/// The registry names the pool first.
config_problem located(const std::string& refusal, const configuration& wanted) {
    for (const auto& [name, entry] : wanted.pools) {
        const std::string prefix = "pool '" + name + "': ";
        if (refusal.starts_with(prefix)) return problem_of(entry, refusal.substr(prefix.size()));
    }
    return {.rule = refusal};
}

}  // namespace

apply_result config_applier::apply(const configuration& wanted, const change_origin& origin) {
    // A pool that leaves while we are at it, or that the code registers before we can make it, is
    // no fault of the documents. Each time one has left or come, so it is not tried for ever unless
    // pools come and go without end.
    constexpr int attempts = 1000;
    for (int i = 1;; ++i) {
        forget_what_is_gone();
        const auto plans = plan(wanted);
        const auto to_be_made = missing(wanted);
        try {
            note(plans, carry_out(plans, to_be_made, wanted.limits, origin));
            return result_of(wanted);
        } catch (const std::exception& refused) {
            const bool same_pools =
                std::all_of(plans.begin(), plans.end(),
                            [](const auto& p) { return p.pool->is_registered(); }) &&
                std::all_of(to_be_made.begin(), to_be_made.end(),
                            [&](const auto& spec) { return registry_.find(spec.name) == nullptr; });
            if (!same_pools && i < attempts) continue;
            if (const auto* error = dynamic_cast<const configuration_error*>(&refused))
                throw *error;
            throw configuration_error({located(refused.what(), wanted)});
        }
    }
}

apply_result config_applier::apply_to_new(
    const configuration& wanted,
    const std::function<change_origin(const std::string& file)>& origin_of) {
    forget_what_is_gone();
    for (const auto& pool : registry_.pools()) {
        if (known(pool).was_tried) continue;
        const auto entry = wanted.pools.find(pool->name());
        apply_to(pool, wanted,
                 entry == wanted.pools.end() ? change_origin() : origin_of(entry->second.file));
    }
    return result_of(wanted);
}

void config_applier::apply_to(const std::shared_ptr<managed_pool>& pool,
                              const configuration& wanted, const change_origin& origin) {
    auto& entry = known(pool);
    entry.was_tried = true;
    const auto said = wanted.pools.find(pool->name());
    const auto plan = plan_for(pool, entry, said == wanted.pools.end() ? nullptr : &said->second);
    std::string problem;
    try {
        return note({plan}, carry_out({plan}, {}, wanted.limits, origin));
    } catch (const std::exception& refused) {
        problem = refused.what();
    } catch (...) {
        problem = "pool '" + pool->name() + "': something that is no std::exception was thrown";
    }
    // One that has left meanwhile is no fault of the documents.
    if (pool->is_registered()) entry.problems = {located(problem, wanted)};
}

/// Changes first, for a new pool may need the threads that another gives up.
std::vector<change_report> config_applier::carry_out(const std::vector<pool_plan>& plans,
                                                     const std::vector<pool_spec>& to_be_made,
                                                     const thread_limits& limits,
                                                     const change_origin& origin) {
    std::vector<pool_change> changes;
    for (const auto& p : plans)
        if (p.change != pool_settings{}) changes.push_back({p.pool->name(), p.change});
    auto& core = *registry_.core_;
    const auto before = core.rails_of_documents();
    const auto without_step = [&](guard_rails rails) {
        rails.max_step.reset();  // plan() has checked the steps
        core.set_rails_of_documents(rails);
    };
    const guard_rails rails{limits.max_threads_per_pool, limits.max_threads_per_process,
                            limits.max_step};
    std::vector<change_report> reports;
    std::vector<std::string> created;
    try {
        without_step(rails);
        static_cast<void>(registry_.preview(changes, to_be_made));
        reports = registry_.reconfigure(changes, origin);
        for (const auto& spec : to_be_made) {
            create(spec, origin);
            created.push_back(spec.name);
        }
        core.set_rails_of_documents(rails);
        return reports;
    } catch (...) {
        without_step(before);
        for (const auto& name : created) registry_.remove(name, origin);
        undo(reports, origin);
        core.set_rails_of_documents(before);
        throw;
    }
}

void config_applier::undo(const std::vector<change_report>& reports, const change_origin& origin) {
    for (const auto& report : reports) {
        try {
            if (report.changed())
                registry_.reconfigure({{report.pool, wish_for(report.before)}}, origin);
        } catch (...) {
            // It is in the history; what made us undo is what is told.
        }
    }
}

void config_applier::note(const std::vector<pool_plan>& plans,
                          const std::vector<change_report>& reports) {
    for (const auto& p : plans) {
        auto& pool = known(p.pool);
        pool.from_documents = p.said;
        pool.was_tried = true;
        pool.was_applied = true;
        pool.not_applied.clear();
        pool.problems.clear();
    }
    for (const auto& report : reports) known_[report.pool].not_applied = report.not_applied;
}

apply_result config_applier::result_of(const configuration& wanted) const {
    apply_result result;
    for (const auto& [name, pool] : known_) {
        if (!wanted.pools.contains(name)) result.orphans.push_back(name);
        for (const auto& field : pool.not_applied) result.not_applied.push_back({name, field});
        const auto entry = wanted.pools.find(name);
        const auto there = pool.pool.lock();
        if (entry != wanted.pools.end() && there)
            for (const auto& field : fixed_for_life(*there, entry->second))
                result.not_applied.push_back({name, field});
        result.problems.insert(result.problems.end(), pool.problems.begin(), pool.problems.end());
    }
    for (const auto& [name, entry] : wanted.pools)
        if (registry_.find(name) == nullptr) result.unmatched.push_back(name);
    return result;
}

void config_applier::forget_what_is_gone() {
    std::erase_if(known_, [](const auto& entry) {
        const auto pool = entry.second.pool.lock();
        return !pool || !pool->is_registered();
    });
}

config_applier::known_pool& config_applier::known(const std::shared_ptr<managed_pool>& pool) {
    auto& entry = known_[pool->name()];
    // A pool of the same name that was registered since is another one.
    if (entry.pool.lock() != pool) entry = {.pool = pool, .from_code = pool->settings()};
    return entry;
}

std::vector<config_applier::pool_plan> config_applier::plan(const configuration& wanted) {
    std::vector<pool_plan> plans;
    std::vector<config_problem> problems;
    for (const auto& pool : registry_.pools()) {
        const auto& before = known(pool);
        const auto found = wanted.pools.find(pool->name());
        const auto* entry = found == wanted.pools.end() ? nullptr : &found->second;
        plans.push_back(plan_for(pool, before, entry));
        if (before.was_applied && wanted.limits.max_step)
            check_step(plans.back(), entry, *wanted.limits.max_step, problems);
    }
    if (!problems.empty()) throw configuration_error(std::move(problems));
    return plans;
}

config_applier::pool_plan config_applier::plan_for(const std::shared_ptr<managed_pool>& pool,
                                                   const known_pool& before,
                                                   const pool_entry* entry) {
    // One that documents made, and speak of no more, keeps running as it is.
    if (entry == nullptr && before.made_as) return {pool, {}, before.from_documents};
    const pool_settings said = entry == nullptr ? pool_settings{} : entry->settings;
    auto from_code = before.from_code;
    if (before.made_as) {
        auto spec = *before.made_as;
        spec.settings = said;
        from_code = complete_settings(spec);
    }
    return {pool, change_to(said, before.from_documents, wish_for(from_code)), said};
}

void config_applier::check_step(const pool_plan& plan, const pool_entry* entry, int max_step,
                                std::vector<config_problem>& problems) {
    const auto now = plan.pool->settings();
    const auto check = [&](const char* key, std::optional<int> from, std::optional<int> to) {
        if (!from || !to || std::abs(*to - *from) <= max_step) return;
        auto at = entry == nullptr ? config_place{} : place_of(*entry, key);
        if (entry == nullptr || !entry->places.contains(key))
            at.key = "pools." + plan.pool->name() + "." + key;
        problems.push_back({std::move(at.file), at.line, std::move(at.key),
                            "changes from " + std::to_string(*from) + " to " + std::to_string(*to) +
                                ", by more than max_step (" + std::to_string(max_step) + ")"});
    };
    check("core_pool_size", now.core_pool_size, plan.change.core_pool_size);
    // That of a scheduled pool follows its core, whatever is said.
    if (plan.pool->kind() != pool_kind::scheduled)
        check("maximum_pool_size", now.maximum_pool_size, plan.change.maximum_pool_size);
}

std::vector<pool_spec> config_applier::missing(const configuration& wanted) const {
    std::vector<pool_spec> specs;
    for (const auto& [name, entry] : wanted.pools) {
        if (!entry.auto_create || registry_.find(name) != nullptr) continue;
        try {
            specs.push_back(spec_of(name, entry));
        } catch (const std::invalid_argument& refused) {
            throw configuration_error({problem_of(entry, refused.what())});
        }
    }
    return specs;
}

void config_applier::create(const pool_spec& spec, const change_origin& origin) {
    std::shared_ptr<managed_pool> made;
    try {
        made = registry_.create(spec, origin);
    } catch (const std::bad_alloc&) {
        throw std::runtime_error("pool '" + spec.name + "': there is no memory for it");
    } catch (const std::system_error& failed) {  // a thread that cannot be had
        throw std::runtime_error("pool '" + spec.name + "': " + failed.what());
    }
    auto& entered = known(made);
    entered.made_as = spec;
    entered.from_documents = spec.settings;
    entered.was_tried = true;
    entered.was_applied = true;
}

}  // namespace cadre::manage::detail
