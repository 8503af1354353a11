// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <cadre/manage/advice.hpp>
#include <cadre/manage/managed_pool.hpp>

namespace cadre::manage::detail {

/// An adviser for each pool that has a monitor. What it says comes from the load of a minute, or at
/// first from what there is.
class pool_advisers {
public:
    /// To be called now and then with all pools there are.
    void look(const std::vector<std::shared_ptr<managed_pool>>& pools,
              std::chrono::steady_clock::time_point now = std::chrono::steady_clock::now());

    struct advised {
        std::shared_ptr<managed_pool> pool;
        sizing_advice advice;
    };
    /// Of pools whose threads should be more or fewer than they are set to; by name.
    std::vector<advised> advice() const;
    /// How many tasks the pool has rejected in this minute and the one before it.
    std::int64_t rejected_lately(const managed_pool& pool) const;

private:
    struct measured {
        std::shared_ptr<managed_pool> pool = {};
        std::unique_ptr<pool_adviser> adviser = {};
        std::chrono::steady_clock::time_point at = {};
        std::optional<sizing_advice> advice = {};
        bool has_a_minute = false;  // behind its advice
        bool seen = false;          // in the look that is under way
    };

    /// How many a pool had rejected when a minute began.
    struct rejections {
        std::weak_ptr<managed_pool> pool = {};
        const managed_pool* address = nullptr;
        std::chrono::steady_clock::time_point at = {};
        std::int64_t this_minute = 0;
        std::int64_t last_minute = 0;

        /// Without holding it: whoever lets go of it last waits for its tasks.
        bool is_of(const managed_pool& wanted) const {
            return address == &wanted && !pool.expired();
        }
    };
    void look_at_rejections(const std::vector<std::shared_ptr<managed_pool>>& pools,
                            std::chrono::steady_clock::time_point now);

    mutable std::mutex mutex_;  // guards all below
    std::map<std::string, measured> pools_;
    std::map<std::string, rejections> rejections_;
};

}  // namespace cadre::manage::detail
