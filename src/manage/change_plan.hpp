// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <cadre/manage/change_report.hpp>
#include <cadre/manage/pool_registry.hpp>
#include <cadre/manage/pool_settings.hpp>
#include <cadre/manage/pool_spec.hpp>

namespace cadre::manage::detail {

/// What a pool of its kind cannot take, with the reason; empty: it can.
struct pool_limits {
    pool_kind kind = pool_kind::plain;
    std::string capacity_fixed_because = {};
    std::string timeouts_unwatched_because = {};
    bool has_custom_policy = false;
    bool has_own_names = false;  ///< its thread factory is not one of ours
};

struct change_plan {
    pool_settings target = {};  ///< all that can be told of the pool, as it is to become
    std::vector<field_not_applied> not_applied = {};
};

/// What comes of a wish. Pure, so that a preview cannot differ from the change. Throws
/// std::invalid_argument for what no pool could be.
change_plan plan_change(const pool_settings& effective, const pool_settings& wished,
                        const pool_limits& limits);

/// What to wish for, so that a pool is again as it was then.
pool_settings wish_for(pool_settings state);

/// Throws std::invalid_argument for what no pool could be.
void check_settings(const pool_settings& settings);

/// How many threads such a pool may have.
std::int64_t threads_of(pool_kind kind, const pool_settings& settings);

/// Throws std::invalid_argument if the rails forbid this change of one pool.
void check_pool_rails(const guard_rails& rails, pool_kind kind, const pool_settings& before,
                      const pool_settings& after);

std::vector<field_change> differences(const pool_settings& before, const pool_settings& after);

}  // namespace cadre::manage::detail
