// SPDX-License-Identifier: Apache-2.0
#include "manage/pool_sampler.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "manage/pool_view.hpp"
#include <cadre/manage/duration_text.hpp>

namespace cadre::manage::detail {
namespace {

constexpr float unknown = std::numeric_limits<float>::quiet_NaN();

float value_of(const std::optional<double>& known) {
    return known ? static_cast<float>(*known) : unknown;
}

}  // namespace

std::string_view pool_sample::name_of(column c) {
    static constexpr std::array<std::string_view, columns> names = {
        "threads",   "active",   "core",     "maximum",  "queue",   "capacity", "submitted",
        "completed", "rejected", "wait_p50", "wait_p99", "run_p50", "run_p99"};
    return names.at(c);
}

pool_sampler::pool_sampler(const pool_registry& registry, std::chrono::nanoseconds interval,
                           std::chrono::nanoseconds kept, wall_clock wall)
    : registry_(registry),
      interval_(interval),
      most_looks_(interval > std::chrono::nanoseconds(0)
                      ? static_cast<std::size_t>(kept / interval) + 1
                      : 0),
      wall_(std::move(wall)) {
    if (interval < std::chrono::milliseconds(100) || interval > kept)
        throw std::invalid_argument("sample_interval (" + to_text(interval) +
                                    ") must be from 100ms to " + to_text(kept));
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

pool_sampler::~pool_sampler() {
    thread_.request_stop();
    thread_.join();
}

void pool_sampler::run(const std::stop_token& stop) {
    std::mutex nothing;  // only time and the stop are waited for
    std::unique_lock lock(nothing);
    while (!stop.stop_requested()) {
        try {
            look_now();
        } catch (const std::exception&) {
            // No memory, say: a look is missing, the next may succeed.
        }
        woken_.wait_for(lock, stop, interval_, [] { return false; });
    }
}

pool_sample pool_sampler::sample_of(const managed_pool& pool, steady::time_point now) {
    const auto view = view_of(pool);
    const auto& s = view.snapshot;
    auto& before = before_[pool.name()];
    const double passed = std::chrono::duration<double>(now - before.at).count();
    const auto rate = [&](std::int64_t total, std::int64_t earlier) {
        if (before.at == steady::time_point() || passed <= 0) return unknown;
        return static_cast<float>(
            std::max(0.0, static_cast<double>(total - earlier) / passed));  // made anew: from zero
    };
    pool_sample sample;
    auto& v = sample.values;
    v[pool_sample::threads] = static_cast<float>(s.pool_size);
    v[pool_sample::active] = static_cast<float>(s.active_count);
    v[pool_sample::core] = static_cast<float>(s.core_pool_size);
    v[pool_sample::maximum] = static_cast<float>(thread_limit(s));
    v[pool_sample::queue] = static_cast<float>(s.queue_size);
    v[pool_sample::capacity] = view.capacity ? static_cast<float>(*view.capacity) : unknown;
    v[pool_sample::submitted] = rate(s.submitted_task_count, before.submitted);
    v[pool_sample::completed] = rate(s.completed_task_count, before.completed);
    v[pool_sample::rejected] = rate(s.rejected_task_count, before.rejected);
    const auto waited = quantiles_of(view.wait.since(before.wait));
    const auto ran = quantiles_of(view.run.since(before.run));
    v[pool_sample::wait_p50] = value_of(waited.p50);
    v[pool_sample::wait_p99] = value_of(waited.p99);
    v[pool_sample::run_p50] = value_of(ran.p50);
    v[pool_sample::run_p99] = value_of(ran.p99);
    before = {.at = now,
              .submitted = s.submitted_task_count,
              .completed = s.completed_task_count,
              .rejected = s.rejected_task_count,
              .wait = view.wait,
              .run = view.run};
    return sample;
}

void pool_sampler::look_now() {
    const std::lock_guard one(looking_);
    const auto now = steady::now();
    look made;
    const auto pools = registry_.pools();
    advisers_.look(pools);
    for (const auto& pool : pools) {
        if (made.pools.size() == most_pools) break;
        made.pools.emplace_back(pool->name(), sample_of(*pool, now));
    }
    std::erase_if(before_, [&](const auto& old) { return old.second.at != now; });
    made.time = std::chrono::duration<double>(wall_().time_since_epoch()).count();
    const std::lock_guard lock(mutex_);
    // After a wall clock that was set back, the charts go on as they were, ahead of it.
    if (!looks_.empty() && made.time <= looks_.back().time)
        made.time = looks_.back().time +
                    std::max(1e-3, std::chrono::duration<double>(now - looked_at_).count());
    // As it is shown, so that who asks for what came after it is not given it again.
    made.time = std::round(made.time * 1000) / 1000;
    looked_at_ = now;
    for (const auto& [name, sums] : before_) {
        auto& kept = last_minute_[name];
        kept.push_back(sums);
        while (kept.size() > 1 && kept[1].at <= now - std::chrono::minutes(1)) kept.pop_front();
    }
    std::erase_if(last_minute_, [&](const auto& old) { return !before_.contains(old.first); });
    looks_.push_back(std::move(made));
    while (looks_.size() > most_looks_) looks_.pop_front();
}

std::vector<pool_sampler::look> pool_sampler::since(double time) const {
    const std::lock_guard lock(mutex_);
    const auto from =
        std::find_if(looks_.begin(), looks_.end(), [&](const look& l) { return l.time > time; });
    return {from, looks_.end()};
}

pool_sampler::recent_times pool_sampler::recent(const std::string& pool,
                                                const pool_view& now) const {
    latency_histogram wait;
    latency_histogram run;
    {
        const std::lock_guard lock(mutex_);
        if (const auto found = last_minute_.find(pool); found != last_minute_.end()) {
            wait = found->second.front().wait;
            run = found->second.front().run;
        }
    }
    return {quantiles_of(now.wait.since(wait)), quantiles_of(now.run.since(run))};
}

std::optional<pool_sample> pool_sampler::latest(std::string_view pool) const {
    const std::lock_guard lock(mutex_);
    if (looks_.empty()) return std::nullopt;
    for (const auto& [name, sample] : looks_.back().pools)
        if (name == pool) return sample;
    return std::nullopt;
}

}  // namespace cadre::manage::detail
