// SPDX-License-Identifier: Apache-2.0
#include <cadre/manage/advice.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <stdexcept>

namespace cadre::manage {
namespace {

double advice_seconds(std::chrono::nanoseconds d) {
    return std::chrono::duration<double>(d).count();
}

std::string rounded(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g", value);
    return text;
}

void check_options(const advice_options& o) {
    const auto refuse = [](const char* name, double value, const char* rule) {
        throw std::invalid_argument(std::string(name) + " (" + rounded(value) + ") " + rule);
    };
    if (o.min_threads < 1) refuse("min_threads", o.min_threads, "must be at least 1");
    if (o.max_threads < o.min_threads) refuse("max_threads", o.max_threads, "is below min_threads");
    if (!(o.utilisation > 0 && o.utilisation <= 1))
        refuse("utilisation", o.utilisation, "must be above 0 up to 1");
    if (o.processors < 1) refuse("processors", o.processors, "must be at least 1");
    if (o.target_wait.count() <= 0)
        refuse("target_wait", static_cast<double>(o.target_wait.count()), "must be positive");
}

int at_least_one(double threads) {
    return static_cast<int>(std::clamp(std::ceil(threads - 1e-9), 1.0, 1e6));
}

/// How long tasks wait for one of so many threads if they come by chance: Erlang's formula, of
/// which B is the share that finds all busy and would go away, C the share that waits instead.
double mean_wait(double busy, int threads, double run) {
    if (busy >= threads) return std::numeric_limits<double>::infinity();
    double b = 1;
    for (int i = 1; i <= threads; ++i) b = busy * b / (i + busy * b);
    const double c = b / (1 - busy / threads * (1 - b));
    return c * run / (threads - busy);
}

/// What was measured counts for more than what is computed: tasks may come in bursts, or have
/// come before.
bool is_held_up(const pool_load& load, const advice_options& options) {
    return load.mean_wait > options.target_wait || load.rejections_per_second > 0;
}

std::string trouble_of(const pool_load& load, const advice_options& options) {
    if (load.mean_wait > options.target_wait)
        return "tasks waited for " + rounded(advice_seconds(load.mean_wait)) +
               " s on average, more than the " + rounded(advice_seconds(options.target_wait)) +
               " s aimed at";
    return rounded(load.rejections_per_second) + " tasks/s were rejected";
}

}  // namespace

sizing_advice advise(const pool_load& load, const advice_options& options) {
    check_options(options);
    sizing_advice advice;
    const double run = advice_seconds(load.mean_run);
    if (load.arrivals_per_second <= 0 || run <= 0) {
        advice.reasons.emplace_back("nothing arrived, or nothing was completed: no advice");
        return advice;
    }
    advice.enough_data = true;
    const double busy = load.arrivals_per_second * run;
    const int needed = at_least_one(busy / options.utilisation);
    advice.reasons.push_back("Little's law: " + rounded(load.arrivals_per_second) + " tasks/s of " +
                             rounded(run) + " s keep " + rounded(busy) + " threads busy; at " +
                             rounded(100 * options.utilisation) + " % that is " +
                             std::to_string(needed));
    const double share = std::clamp(load.compute_share, 0.001, 1.0);
    const int useful = at_least_one(options.processors * options.utilisation / share);
    advice.reasons.push_back("tasks compute " + rounded(100 * share) +
                             " % of their time: more than " + std::to_string(useful) +
                             " threads only share " + std::to_string(options.processors) +
                             " processors");
    const double aim = advice_seconds(options.target_wait);
    const int most = std::clamp(useful, options.min_threads, options.max_threads);
    int core = std::clamp(needed, options.min_threads, most);
    if (const double wait = mean_wait(busy, core, run); wait > aim && core < most) {
        while (core < most && mean_wait(busy, core, run) > aim) ++core;
        advice.reasons.push_back("a task would wait for " + rounded(wait) +
                                 " s on average, more than the " + rounded(aim) +
                                 " s aimed at: " + std::to_string(core) + " threads");
    }
    int maximum = std::clamp(std::min(2 * core, std::max(useful, core)), core, options.max_threads);
    if (is_held_up(load, options)) {
        if (core < std::min(load.core_threads, most)) {
            core = std::min(load.core_threads, most);
            advice.reasons.push_back(trouble_of(load, options) + ": no fewer than " +
                                     std::to_string(core) + " threads");
        }
        maximum = std::max({maximum, core, std::min(load.maximum_threads, most)});
    }
    advice.settings.core_pool_size = core;
    advice.settings.maximum_pool_size = maximum;
    if (needed > useful)
        advice.reasons.emplace_back(
            "the load is more than the processors can do: it will queue or be rejected");
    const double per_second = core / run;
    const auto capacity = static_cast<std::size_t>(std::max(1.0, per_second * aim));
    advice.settings.queue_capacity = capacity;
    advice.reasons.push_back(
        (core == 1 ? "1 thread does " : std::to_string(core) + " threads do ") +
        rounded(per_second) + " tasks/s: with " + std::to_string(capacity) +
        " queued the last waits for " + rounded(static_cast<double>(capacity) / per_second) + " s");
    return advice;
}

pool_adviser::pool_adviser(std::shared_ptr<managed_pool> pool) : pool_(std::move(pool)) {
    if (!pool_ || !pool_->monitor())
        throw std::invalid_argument("pool (" + (pool_ ? pool_->name() : std::string("null")) +
                                    ") has no monitor");
    last_ = now();
}

pool_adviser::look pool_adviser::now() const {
    return {.at = std::chrono::steady_clock::now(),
            .snapshot = pool_->snapshot(),
            .metrics = pool_->monitor()->metrics()};
}

pool_load pool_adviser::load() {
    auto next = now();
    const double period = std::max(advice_seconds(next.at - last_.at), 1e-9);
    const auto run = next.metrics.run.since(last_.metrics.run);
    const auto wait = next.metrics.wait.since(last_.metrics.wait);
    const auto per_second = [&](std::int64_t now_count, std::int64_t before) {
        return static_cast<double>(std::max<std::int64_t>(now_count - before, 0)) / period;
    };
    pool_load load{.period = next.at - last_.at};
    load.completions_per_second =
        per_second(next.snapshot.completed_task_count, last_.snapshot.completed_task_count);
    load.rejections_per_second =
        per_second(next.snapshot.rejected_task_count, last_.snapshot.rejected_task_count);
    // A task that was rejected did arrive.
    load.arrivals_per_second = per_second(next.snapshot.task_count, last_.snapshot.task_count) +
                               load.rejections_per_second;
    load.mean_run = run.mean();
    load.mean_wait = wait.mean();
    load.wait_p99 = wait.quantile(0.99);
    const double ran = advice_seconds(run.sum());
    if (ran > 0)
        load.compute_share =
            std::min(1.0, advice_seconds(next.metrics.cpu - last_.metrics.cpu) / ran);
    load.core_threads = next.snapshot.core_pool_size;
    load.maximum_threads =
        pool_->settings().maximum_pool_size.value_or(next.snapshot.maximum_pool_size);
    last_ = std::move(next);
    return load;
}

sizing_controller::sizing_controller(std::shared_ptr<managed_pool> pool, controller_options options)
    : pool_(std::move(pool)), options_(options), adviser_(pool_) {
    check_options(options_.bounds);
    if (options_.cool_down.count() < 0)
        throw std::invalid_argument("cool_down (" + std::to_string(options_.cool_down.count()) +
                                    " ns) is negative");
    if (!(options_.least_change >= 0))
        throw std::invalid_argument("least_change (" + rounded(options_.least_change) +
                                    ") is negative");
}

namespace {

/// On the way from the sizes of a pool to those wished for, as far as its guard rails let it.
std::optional<pool_settings> farthest_allowed(const managed_pool& pool, const pool_settings& now,
                                              const pool_settings& wished) {
    const auto at_distance = [](std::optional<int> from, std::optional<int> to, int most) {
        const int start = from.value_or(0);
        return start + std::clamp(to.value_or(start) - start, -most, most);
    };
    const auto within = [&](int most) {
        const int core = at_distance(now.core_pool_size, wished.core_pool_size, most);
        const int maximum = at_distance(now.maximum_pool_size, wished.maximum_pool_size, most);
        return pool_settings{.core_pool_size = core, .maximum_pool_size = std::max(core, maximum)};
    };
    const auto is_allowed = [&](int most) {
        try {
            pool.preview(within(most));
            return true;
        } catch (const std::invalid_argument&) {
            return false;
        }
    };
    int allowed = 0;
    int refused =
        1 + std::max(std::abs(*wished.core_pool_size - now.core_pool_size.value_or(0)),
                     std::abs(*wished.maximum_pool_size - now.maximum_pool_size.value_or(0)));
    if (is_allowed(refused - 1)) return within(refused - 1);
    while (refused - allowed > 1) {
        const int middle = allowed + (refused - allowed) / 2;
        (is_allowed(middle) ? allowed : refused) = middle;
    }
    if (allowed == 0) return std::nullopt;
    return within(allowed);
}

}  // namespace

std::optional<change_report> sizing_controller::step() {
    const auto load = adviser_.load();
    const auto advice = advise(load, options_.bounds);
    if (!advice.enough_data || !pool_->is_registered()) return std::nullopt;
    const auto now = std::chrono::steady_clock::now();
    if (changed_at_ && now - *changed_at_ < options_.cool_down) return std::nullopt;
    const auto settings = pool_->settings();
    const int core = settings.core_pool_size.value_or(0);
    auto wished = advice.settings;
    const bool is_core_due =
        std::abs(*wished.core_pool_size - core) >= std::max(1.0, options_.least_change * core);
    // The core may be right, and too few threads be there for bursts.
    const bool is_maximum_due = pool_->kind() == pool_kind::plain &&
                                is_held_up(load, options_.bounds) &&
                                wished.maximum_pool_size > settings.maximum_pool_size;
    if (!is_core_due && !is_maximum_due) return std::nullopt;
    if (!is_core_due) wished.core_pool_size = core;
    const auto change = farthest_allowed(*pool_, settings, wished);
    if (!change) return std::nullopt;
    if (options_.dry_run) return pool_->preview(*change);
    auto report =
        pool_->reconfigure(*change, {.source = "controller", .comment = advice.reasons.front()});
    changed_at_ = now;
    return report;
}

}  // namespace cadre::manage
