// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <cadre/manage/config_manager.hpp>

namespace cadre::manage::detail {

/// What became of applying a configuration.
struct apply_result {
    std::vector<std::string> unmatched = {};
    std::vector<std::string> orphans = {};
    std::vector<setting_not_applied> not_applied = {};
    std::vector<config_problem> problems = {};  ///< of pools that came later
};

/// Brings the pools of a registry to what a configuration says. Used by one thread at a time. Keeps
/// what each pool had from its code in the fields that documents have changed.
class config_applier {
public:
    explicit config_applier(pool_registry& registry) : registry_(registry) {}

    /// All or nothing. Throws configuration_error with what is wrong.
    apply_result apply(const configuration& wanted, const change_origin& origin);
    /// Only to pools that were registered since, each on its own: one that cannot be as it says is
    /// left as it is, with a problem. `origin_of` is asked with the file that speaks of the pool.
    apply_result apply_to_new(
        const configuration& wanted,
        const std::function<change_origin(const std::string& file)>& origin_of);

private:
    struct known_pool {
        std::weak_ptr<managed_pool> pool = {};
        pool_settings from_code = {};
        std::optional<pool_spec> made_as =
            {};                             ///< by documents: of that, no code has said anything
        pool_settings from_documents = {};  ///< what was applied last
        bool was_tried = false;
        bool was_applied = false;
        std::vector<field_not_applied> not_applied = {};
        std::vector<config_problem> problems = {};
    };
    struct pool_plan {
        std::shared_ptr<managed_pool> pool = {};
        pool_settings change = {};
        pool_settings said = {};
    };

    known_pool& known(const std::shared_ptr<managed_pool>& pool);
    void forget_what_is_gone();
    std::vector<pool_plan> plan(const configuration& wanted);
    static pool_plan plan_for(const std::shared_ptr<managed_pool>& pool, const known_pool& before,
                              const pool_entry* entry);
    void apply_to(const std::shared_ptr<managed_pool>& pool, const configuration& wanted,
                  const change_origin& origin);
    static void check_step(const pool_plan& plan, const pool_entry* entry, int max_step,
                           std::vector<config_problem>& problems);
    std::vector<pool_spec> missing(const configuration& wanted) const;
    void create(const pool_spec& spec, const change_origin& origin);
    std::vector<change_report> carry_out(const std::vector<pool_plan>& plans,
                                         const std::vector<pool_spec>& to_be_made,
                                         const thread_limits& limits, const change_origin& origin);
    void undo(const std::vector<change_report>& reports, const change_origin& origin);
    void note(const std::vector<pool_plan>& plans, const std::vector<change_report>& reports);
    apply_result result_of(const configuration& wanted) const;

    pool_registry& registry_;
    std::map<std::string, known_pool> known_;
};

}  // namespace cadre::manage::detail
