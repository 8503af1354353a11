// SPDX-License-Identifier: Apache-2.0
#include <cadre/manage/alarm_engine.hpp>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include <cadre/manage/duration_text.hpp>

#include "alarm_core.hpp"
#include "alarm_rules.hpp"
#include "harmless.hpp"
#include "json_value.hpp"
#include "pool_view.hpp"

namespace cadre::manage {
namespace detail {
namespace {

std::string this_instance() {
    char host[256] = {};
    if (::gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
    return std::string(host) + ":" + std::to_string(::getpid());
}

std::string text_of(const alarm_event& event) {
    return std::string(event.state == alarm_state::firing ? "FIRING " : "RECOVERED ") +
           to_text(event.type) + (event.pool.empty() ? "" : ": pool '" + event.pool + "'") +
           " on " + event.instance + ": " + event.what +
           (event.task.empty() ? "" : ", task '" + event.task + "'");
}

double percent(double part, double whole) { return whole <= 0 ? 0 : 100 * part / whole; }

std::string short_number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.4g", value);
    return text;
}

std::string text_of(const alarm_rule& rule, double threshold, bool is_level) {
    std::string text = "threshold " + short_number(threshold);
    if (!is_level || rule.count > 1)
        text += (is_level ? ", " + std::to_string(rule.count) + " times" : "") + " within " +
                to_text(rule.window);
    if (rule.lasting.count() > 0) text += ", lasting " + to_text(rule.lasting);
    return text;
}

/// By when what fires is told again: a level at the first look after the silence; what is counted,
/// when it occurs after that, and if it does not within the window, it is over.
std::chrono::nanoseconds longest_pause(const alarm_rule& rule, bool is_level,
                                       std::chrono::nanoseconds interval) {
    using std::chrono::nanoseconds;
    constexpr nanoseconds on_the_way = std::chrono::seconds(10);
    constexpr nanoseconds longest = std::chrono::hours(24 * 365);  // sums of these are times still
    return std::min(rule.silence, longest) +
           (is_level ? nanoseconds(0) : std::min(rule.window, longest)) +
           std::max(2 * std::min(interval, longest), on_the_way);
}

/// Without holding it: the last to let go of a pool waits for its monitor.
bool is_same(const std::weak_ptr<managed_pool>& a, const std::shared_ptr<managed_pool>& b) {
    return !a.owner_before(b) && !b.owner_before(a);
}

}  // namespace

alarm_core::alarm_core(pool_registry& registry, alarm_options options,
                       std::vector<std::shared_ptr<notifier>> notifiers)
    : registry_(registry),
      interval_(options.interval),
      instance_(options.instance.empty() ? this_instance() : std::move(options.instance)),
      config_(options.config),
      config_age_(std::move(options.config_age)) {
    if (options.backlog < 1) throw std::invalid_argument("backlog (0) must be at least 1");
    std::set<std::string> names;
    for (auto& to : notifiers) {
        if (!to) throw std::invalid_argument("notifiers: one is null");
        if (!names.insert(to->name()).second)
            throw std::invalid_argument("notifier (" + to->name() + ") is there twice");
        lanes_.push_back(std::make_unique<notification_lane>(std::move(to), options.backlog));
    }
    set_rules(std::move(options.rules));
    changes_ = registry_.on_change([to = inbox_](const change_record& record) {
        const std::lock_guard lock(to->mutex);
        if (to->core) to->core->changed(record);
    });
    check();  // counters count from here
    if (interval_.count() > 0) thread_ = std::thread([this] { run(); });
    const std::lock_guard lock(inbox_->mutex);  // last: who throws leaves no address behind
    inbox_->core = this;
}

alarm_core::~alarm_core() {
    {
        const std::lock_guard lock(inbox_->mutex);
        inbox_->core = nullptr;
    }
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
        stopped_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
}

void alarm_core::run() {
    std::unique_lock lock(mutex_);
    while (!stopped_.wait_for(lock, interval_, [this] { return stop_; })) {
        lock.unlock();
        try {
            check();
        } catch (const std::exception& e) {  // for want of memory: the next look may do better
            std::fprintf(stderr, "cadre: the alarm engine could not look: %s\n", e.what());
        }
        lock.lock();
    }
}

alarm_core::sighting alarm_core::look_at(const std::shared_ptr<managed_pool>& pool) {
    sighting s{.pool = pool, .snapshot = pool->snapshot()};
    const auto capacity = pool->settings().queue_capacity;
    if (capacity && *capacity != static_cast<std::size_t>(unbounded)) s.capacity = *capacity;
    s.oldest_wait = pool->oldest_wait();
    if (auto oldest = pool->oldest_tasks(1); !oldest.empty()) s.oldest_task = oldest[0].name;
    if (const auto monitor = pool->monitor()) {
        s.metrics = monitor->metrics();
        for (auto& worker : monitor->workers())
            if (worker.busy && worker.age > s.longest.age) s.longest = std::move(worker);
    }
    s.ever = {.rejected = static_cast<std::uint64_t>(s.snapshot.rejected_task_count),
              .run_timeouts = s.metrics.run_timeouts,
              .queue_timeouts = s.metrics.queue_timeouts,
              .threads_failed = s.metrics.threads_failed};
    return s;
}

/// What was there before a pool was registered, or before the engine, is no news, nor is that of
/// another pool of the name. Two looks may read in one order and come here in the other: what the
/// later one counted stays counted, though the earlier one saw less.
void alarm_core::count_news(sighting& s) {
    auto& last = counted_[s.pool->name()];
    if (!is_same(last.pool, s.pool)) last = {s.pool, s.ever};
    const auto since = [&](std::uint64_t totals::*which) {
        const auto seen = std::max(s.ever.*which, last.ever.*which);
        return seen - std::exchange(last.ever.*which, seen);
    };
    s.news = {.rejected = since(&totals::rejected),
              .run_timeouts = since(&totals::run_timeouts),
              .queue_timeouts = since(&totals::queue_timeouts),
              .threads_failed = since(&totals::threads_failed)};
}

alarm_core::finding alarm_core::find(const alarm_rule& rule, const sighting& s) {
    const auto& now = s.snapshot;
    const auto level = [](double value, double threshold, std::string what, std::string task = {}) {
        return finding{.reached = value >= threshold,
                       .value = value,
                       .threshold = threshold,
                       .task = std::move(task),
                       .what = std::move(what)};
    };
    const auto events = [&](std::uint64_t times, std::string what, std::string task = {}) {
        return finding{.is_level = false,
                       .times = times,
                       .threshold = static_cast<double>(rule.count),
                       .task = std::move(task),
                       .what = std::move(what)};
    };
    switch (rule.type) {
        case alarm_type::liveness: {
            const int most = thread_limit(now);
            return level(percent(now.active_count, most), rule.threshold,
                         std::to_string(now.active_count) + " of " + std::to_string(most) +
                             " threads are active",
                         s.longest.task);
        }
        case alarm_type::capacity:
            return level(
                percent(static_cast<double>(now.queue_size), static_cast<double>(s.capacity)),
                rule.threshold,
                std::to_string(now.queue_size) + " of " + std::to_string(s.capacity) +
                    " places in the queue are taken",
                s.longest.task);
        case alarm_type::stuck_worker:
            return level(seconds(s.longest.age), seconds(rule.limit),
                         s.longest.busy
                             ? "thread " + s.longest.thread + " has been running a task for " +
                                   short_number(seconds(s.longest.age)) + " s"
                             : "no thread is running a task",
                         s.longest.task);
        case alarm_type::oldest_wait:
            return level(seconds(s.oldest_wait), seconds(rule.limit),
                         s.oldest_wait.count() > 0 ? "a task has been waiting for " +
                                                         short_number(seconds(s.oldest_wait)) + " s"
                                                   : "no task is waiting",
                         s.oldest_task);
        case alarm_type::reject:
            return events(s.news.rejected, "tasks were rejected", s.metrics.last_rejected);
        case alarm_type::run_timeout:
            return events(s.news.run_timeouts, "tasks ran for too long",
                          s.metrics.last_run_timeout);
        case alarm_type::queue_timeout:
            return events(s.news.queue_timeouts, "tasks waited for too long",
                          s.metrics.last_queue_timeout);
        case alarm_type::thread_create_failed:
            return events(s.news.threads_failed, "threads could not be made",
                          s.metrics.last_thread_failed);
        case alarm_type::change:
        case alarm_type::config_stale:
            break;
    }
    return {};
}

alarm_core::finding alarm_core::find_stale(const alarm_rule& rule, const staleness& found) {
    return {.reached = found.age >= rule.limit,
            .value = seconds(found.age),
            .threshold = seconds(rule.limit),
            .what = found.whose + " has not answered for " + short_number(seconds(found.age)) +
                    " s" + (found.error.empty() ? "" : ", its last error: " + found.error)};
}

/// Of what has been silent longest. Nothing if nobody can say.
std::optional<alarm_core::staleness> alarm_core::config_age(const config_status& status) const {
    std::optional<staleness> stalest;
    for (const auto& source : status.sources)
        if (!stalest || source.silent_for > stalest->age)
            stalest = {source.silent_for, "the configuration source " + source.name,
                       source.health.failures > 0 ? source.health.last_error : ""};
    if (!config_age_) return stalest;
    try {
        const auto age = config_age_();
        if (!stalest || age > stalest->age) stalest = {age, "a configuration source"};
        return stalest;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "cadre: config_age threw: %s\n", e.what());
    } catch (...) {
        std::fprintf(stderr, "cadre: config_age threw what is no std::exception\n");
    }
    return stalest;
}

/// A source is users' code: if it throws, nobody knows this time.
std::optional<config_status> alarm_core::status_of_config() const {
    if (config_ == nullptr) return config_status();
    try {
        return config_->status();
    } catch (const std::exception& e) {
        std::fprintf(stderr, "cadre: a configuration source threw: %s\n", e.what());
    } catch (...) {
        std::fprintf(stderr, "cadre: a configuration source threw what is no std::exception\n");
    }
    return std::nullopt;
}

void alarm_core::check() {
    std::uint64_t look = 0;
    {
        const std::lock_guard lock(mutex_);
        look = ++looks_begun_;
    }
    std::vector<sighting> sightings;
    for (const auto& pool : registry_.pools()) {
        pool->check_timeouts();
        sightings.push_back(look_at(pool));
    }
    const auto known = status_of_config();
    const auto age = config_age(known.value_or(config_status()));
    // Let go of after the lock: the last to let go of a pool waits for its tasks.
    std::vector<std::shared_ptr<managed_pool>> held;
    std::vector<alarm_entry> news;
    std::unique_lock lock(mutex_);
    if (look < look_decided_) return;
    look_decided_ = look;
    if (known && known->alarms != entries_) {
        use_rules(with_entries(rules_of_code_, known->alarms));
        entries_ = known->alarms;
        news = entries_;
    }
    for (auto& s : sightings) count_news(s);
    for (const auto& rule : rules_) {
        if (rule.type == alarm_type::change) continue;
        if (rule.type == alarm_type::config_stale) {
            if (age) decide(rule, find_stale(rule, *age), {});
            continue;
        }
        for (const auto& s : sightings)
            if (is_for(rule, s.pool->name())) decide(rule, find(rule, s), s);
    }
    forget_pools(sightings, held);
    lock.unlock();
    for (const auto& [rule, enabled] : news)
        if (enabled) note_missing_notifiers(rule);
}

void alarm_core::decide(const alarm_rule& rule, const finding& found, const sighting& s) {
    const std::string pool = s.pool ? s.pool->name() : "";
    auto& of = tracked_[{static_cast<std::size_t>(&rule - rules_.data()), pool}];
    const auto now = std::chrono::steady_clock::now();
    const auto wall = std::chrono::system_clock::now();
    const bool was_firing = of.tracker.is_firing();
    const auto verdict = found.is_level ? of.tracker.look(rule, found.reached, now)
                                        : of.tracker.count(rule, found.times, now);
    const bool is_firing = of.tracker.is_firing();
    if (!was_firing && is_firing) of.since = wall;
    if (!was_firing && !is_firing) return;
    alarm_event event{.type = rule.type,
                      .state = is_firing ? alarm_state::firing : alarm_state::recovered,
                      .pool = pool,
                      .task = is_firing ? found.task : of.last.task,  // whom it was about
                      .instance = instance_,
                      .value = found.value,
                      .threshold = found.threshold,
                      .rule = text_of(rule, found.threshold, found.is_level),
                      .suppressed = verdict ? verdict->suppressed : 0,
                      .at = wall,
                      .since = of.since,
                      .snapshot = s.snapshot};
    if (interval_.count() > 0)
        event.next_by = wall + longest_pause(rule, found.is_level, interval_);
    if (!found.is_level) event.value = static_cast<double>(of.tracker.occurrences());
    event.what = (found.is_level ? "" : std::to_string(of.tracker.occurrences()) + " ") +
                 found.what + " (threshold " + short_number(found.threshold) + ")";
    event.text = text_of(event);
    if (verdict) post(rule, event);
    if (is_firing)
        of.last = std::move(event);
    else
        keep_ended(std::exchange(of.last, {}));
}

/// Of pools that are gone nothing is kept, and what fired for them is over.
void alarm_core::forget_pools(const std::vector<sighting>& there,
                              std::vector<std::shared_ptr<managed_pool>>& held) {
    const auto is_gone = [&](const std::string& name) {
        return !name.empty() && std::none_of(there.begin(), there.end(),
                                             [&](const auto& s) { return s.pool->name() == name; });
    };
    for (auto entry = tracked_.begin(); entry != tracked_.end();) {
        if (!is_gone(entry->first.second)) {
            ++entry;
            continue;
        }
        end(rules_[entry->first.first], entry->second, "the pool is not registered any more");
        entry = tracked_.erase(entry);
    }
    // One that was registered after the look is known already, and there.
    std::erase_if(counted_, [&](const auto& entry) {
        if (!is_gone(entry.first)) return false;
        held.push_back(entry.second.pool.lock());
        return !(held.back() && held.back()->is_registered());
    });
}

/// What fires and will not be looked at any more is over.
void alarm_core::end(const alarm_rule& rule, tracked& of, const std::string& why) {
    if (!of.tracker.is_firing()) return;
    keep_ended(of.last);
    of.last.state = alarm_state::recovered;
    of.last.at = std::chrono::system_clock::now();
    of.last.what = why;
    of.last.text = text_of(of.last);
    if (of.tracker.end(rule)) post(rule, of.last);
}

void alarm_core::keep_ended(alarm_event event) {
    constexpr std::size_t most = 100;
    event.state = alarm_state::recovered;
    event.at = std::chrono::system_clock::now();
    ended_.push_front(std::move(event));
    if (ended_.size() > most) ended_.pop_back();
}

void alarm_core::changed(const change_record& record) {
    alarm_event event{.type = alarm_type::change,
                      .pool = record.pool,
                      .instance = instance_,
                      .value = 1,
                      .threshold = 1,
                      .at = record.at,
                      .since = record.at,
                      .change = record};
    event.what = std::string("was ") + to_text(record.kind);
    if (!record.origin.author.empty()) event.what += " by " + record.origin.author;
    event.what += " from " + record.origin.source;
    for (const auto& c : record.changes)
        event.what += "; " + c.field + " " + c.before + " -> " + c.after;
    if (!record.error.empty()) event.what += ": " + record.error;
    const auto what = record.pool.empty() ? "a document" : "pool '" + record.pool + "'";
    event.text = "CHANGE: " + what + " on " + instance_ + " " + event.what;
    std::optional<sighting> is_new;
    if (record.kind == change_kind::registered)
        if (const auto pool = registry_.find(record.pool)) is_new = look_at(pool);
    const std::lock_guard lock(mutex_);
    if (is_new && !is_same(counted_[record.pool].pool, is_new->pool))
        counted_[record.pool] = {is_new->pool, is_new->ever};  // it counts from here
    for (const auto& rule : rules_)
        if (rule.type == alarm_type::change && is_for(rule, record.pool)) post(rule, event);
}

void alarm_core::post(const alarm_rule& rule, const alarm_event& event) {
    for (const auto& lane : lanes_)
        if (rule.notifiers.empty() || std::find(rule.notifiers.begin(), rule.notifiers.end(),
                                                lane->name()) != rule.notifiers.end())
            lane->post(event);
}

/// Not refused: a document may be for several programs, of which each has notifiers of its own.
void alarm_core::note_missing_notifiers(const alarm_rule& rule) const {
    for (const auto& name : rule.notifiers)
        if (std::none_of(lanes_.begin(), lanes_.end(),
                         [&](const auto& lane) { return lane->name() == name; }))
            std::fprintf(
                stderr,
                "cadre: the alarm rule %s of %s names the notifier %s, which is not there\n",
                to_text(rule.type), harmless(rule.pool).c_str(), harmless(name).c_str());
}

void alarm_core::set_rules(std::vector<alarm_rule> rules) {
    check_rules(rules);
    for (const auto& rule : rules) note_missing_notifiers(rule);
    const std::lock_guard lock(mutex_);
    use_rules(with_entries(rules, entries_));
    rules_of_code_ = std::move(rules);
}

/// What fires by a rule that stays goes on, also if the rule does not mean some other pool now.
void alarm_core::use_rules(std::vector<alarm_rule> rules) {
    std::map<std::pair<std::size_t, std::string>, tracked> kept;
    for (auto& [key, of] : tracked_) {
        const auto& old = rules_[key.first];
        const auto& pool = key.second;
        const auto same = std::find_if(rules.begin(), rules.end(), [&](alarm_rule rule) {
            const bool means_it = pool.empty() || is_for(rule, pool);
            rule.except = old.except;
            return means_it && rule == old;
        });
        if (same == rules.end())
            end(old, of, "its rule is gone");
        else
            kept.try_emplace({static_cast<std::size_t>(same - rules.begin()), key.second},
                             std::move(of));
    }
    tracked_ = std::move(kept);
    rules_ = std::move(rules);
}

std::vector<alarm_rule> alarm_core::rules() const {
    const std::lock_guard lock(mutex_);
    return rules_;
}

std::vector<alarm_event> alarm_core::active() const {
    const std::lock_guard lock(mutex_);
    std::vector<alarm_event> firing;
    for (const auto& [key, of] : tracked_)
        if (of.tracker.is_firing()) firing.push_back(of.last);
    return firing;
}

std::vector<alarm_event> alarm_core::recovered() const {
    const std::lock_guard lock(mutex_);
    return {ended_.begin(), ended_.end()};
}

std::vector<notifier_counts> alarm_core::counts() const {
    std::vector<notifier_counts> all;
    for (const auto& lane : lanes_) all.push_back(lane->counts());
    return all;
}

}  // namespace detail

alarm_engine::alarm_engine(pool_registry& registry, alarm_options options,
                           std::vector<std::shared_ptr<notifier>> notifiers)
    : core_(std::make_shared<detail::alarm_core>(registry, std::move(options),
                                                 std::move(notifiers))) {}
alarm_engine::~alarm_engine() = default;

void alarm_engine::check() { core_->check(); }
void alarm_engine::set_rules(std::vector<alarm_rule> rules) { core_->set_rules(std::move(rules)); }
std::vector<alarm_rule> alarm_engine::rules() const { return core_->rules(); }
std::vector<alarm_event> alarm_engine::active() const { return core_->active(); }
std::vector<alarm_event> alarm_engine::recovered() const { return core_->recovered(); }
std::vector<notifier_counts> alarm_engine::counts() const { return core_->counts(); }

}  // namespace cadre::manage
