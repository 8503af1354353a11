// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "manage/json_value.hpp"
#include "manage/pool_sampler.hpp"
#include <cadre/manage/managed_pool.hpp>

/// What GET answers, as docs/http-api.md tells it.
namespace cadre::manage::detail {

json summary_of(const managed_pool& pool, const pool_sampler& sampler);
/// The summary with settings, workers, oldest queued tasks, task names and history.
json detail_of(const managed_pool& pool, const pool_sampler& sampler,
               const std::vector<change_record>& history);
json samples_of(const pool_sampler& sampler, double since);
/// Latest first; of one pool, unless `pool` is empty.
json history_of(const std::vector<change_record>& history, std::string_view pool);

}  // namespace cadre::manage::detail
