// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <cadre/detail/export.hpp>
#include <cadre/rejection.hpp>

/// Rejection policies by name: abort, caller_runs, discard, discard_oldest, block, block(500ms),
/// and those registered here. All functions may be called from any thread.
namespace cadre::manage::rejection_policies {

/// Makes a policy known, for all pools of the process. Throws std::invalid_argument if the name is
/// taken or empty, or the policy is.
///
///     rejection_policies::add("to_disk", [&](task t, thread_pool_executor&) { spill(t); });
CADRE_API void add(std::string name, rejected_execution_handler policy);
/// False if it was not there. Pools that have it keep it.
CADRE_API bool remove(std::string_view name);

/// Throws std::invalid_argument, with the names there are, if there is no such policy.
CADRE_API rejected_execution_handler make(std::string_view name);
CADRE_API std::vector<std::string> names();

/// The name of a policy that is built in or was made here; nothing for any other.
CADRE_API std::optional<std::string> name_of(const rejected_execution_handler& policy);

}  // namespace cadre::manage::rejection_policies
