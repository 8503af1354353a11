// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <cadre/detail/export.hpp>
#include <cadre/manage/pool_settings.hpp>
#include <cadre/thread_pool_executor.hpp>

namespace cadre::manage {

enum class pool_kind { plain, scheduled };
/// Only linked queues can be resized; those of the priority and transfer kinds have no bound.
enum class queue_kind { linked, array, synchronous, priority, transfer, deque };

CADRE_API const char* to_text(pool_kind kind);
CADRE_API const char* to_text(queue_kind kind);
/// Throw std::invalid_argument with the text and what it may be.
CADRE_API pool_kind parse_pool_kind(std::string_view text);
CADRE_API queue_kind parse_queue_kind(std::string_view text);

/// A pool to be made. What the settings do not say is as in thread_pool_options.
struct pool_spec {
    std::string name = {};
    pool_kind kind = pool_kind::plain;
    queue_kind queue = queue_kind::linked;  ///< of a plain pool; for its life
    pool_settings settings = {};
    /// Of your own; the pool's monitor works beside them.
    pool_hooks hooks = {};
};

}  // namespace cadre::manage
