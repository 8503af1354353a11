// SPDX-License-Identifier: Apache-2.0
#include "support/watched.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

namespace cadre::testing {

namespace {

std::atomic<std::uint64_t> steps = 0;

std::mutex mutex;  // guards all below
std::vector<const watched_scope*> scopes;

}  // namespace

void note_progress() noexcept { steps.fetch_add(1, std::memory_order_relaxed); }
std::uint64_t progress_noted() noexcept { return steps.load(std::memory_order_relaxed); }

watched_scope::watched_scope(std::function<std::string()> tells) : tells_(std::move(tells)) {
    const std::lock_guard lock(mutex);
    scopes.push_back(this);
}
watched_scope::~watched_scope() {
    const std::lock_guard lock(mutex);
    scopes.erase(std::find(scopes.begin(), scopes.end(), this));
}

std::string all_watched() {
    const std::lock_guard lock(mutex);
    std::string all;
    for (const auto* each : scopes) all += each->tells_() + "\n";
    return all;
}

}  // namespace cadre::testing
