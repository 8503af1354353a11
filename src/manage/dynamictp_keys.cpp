// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "manage/alarm_rules.hpp"
#include "manage/configuration_reader.hpp"

// The keys of DynamicTp, so that Java and C++ services can share a document. Spring takes
// corePoolSize, core-pool-size and core_pool_size for the same key, and so do we: keys are compared
// in lower case and without dashes. It also takes "8" for 8, on for true and seconds for SECONDS,
// with blanks around them or not: what is right there must not be refused here.

namespace cadre::manage::detail {
namespace {

using type = document_node::type;
using namespace std::chrono_literals;

constexpr std::array<std::string_view, 31> their_root_keys{"enabled",        "env",
                                                           "enabledBanner",  "enabledCollect",
                                                           "collectorTypes", "logPath",
                                                           "configType",     "monitorInterval",
                                                           "platforms",      "zookeeper",
                                                           "etcd",           "nacos",
                                                           "apollo",         "globalExecutorProps",
                                                           "executors",      "tomcatTp",
                                                           "jettyTp",        "undertowTp",
                                                           "dubboTp",        "hystrixTp",
                                                           "rocketMqTp",     "grpcTp",
                                                           "motanTp",        "okhttp3Tp",
                                                           "brpcTp",         "tarsTp",
                                                           "sofaTp",         "rabbitmqTp",
                                                           "liteflowTp",     "thriftTp",
                                                           "collectorType"};
/// Those that mean something here come first; the others are right, but for the JVM.
constexpr std::array<std::string_view, 28> their_pool_keys{"threadPoolName",
                                                           "executorType",
                                                           "threadNamePrefix",
                                                           "corePoolSize",
                                                           "maximumPoolSize",
                                                           "keepAliveTime",
                                                           "unit",
                                                           "allowCoreThreadTimeOut",
                                                           "queueType",
                                                           "queueCapacity",
                                                           "rejectedHandlerType",
                                                           "preStartAllCoreThreads",
                                                           "autoCreate",
                                                           "runTimeout",
                                                           "queueTimeout",
                                                           "tryInterrupt",
                                                           "threadPoolAliasName",
                                                           "fair",
                                                           "maxFreeMemory",
                                                           "rejectEnhanced",
                                                           "waitForTasksToCompleteOnShutdown",
                                                           "awaitTerminationSeconds",
                                                           "taskWrapperNames",
                                                           "awareNames",
                                                           "pluginNames",
                                                           "notifyEnabled",
                                                           "notifyItems",
                                                           "platformIds"};

struct translation {
    std::string_view theirs;
    std::string_view ours;
};
constexpr std::array their_rejections{
    translation{"AbortPolicy", "abort"}, translation{"CallerRunsPolicy", "caller_runs"},
    translation{"DiscardOldestPolicy", "discard_oldest"}, translation{"DiscardPolicy", "discard"}};
constexpr std::string_view memory_safe_queue = "MemorySafeLinkedBlockingQueue";
constexpr std::array their_queues{translation{"VariableLinkedBlockingQueue", "linked"},
                                  translation{memory_safe_queue, "linked"},
                                  translation{"LinkedBlockingQueue", "linked"},
                                  translation{"ArrayBlockingQueue", "array"},
                                  translation{"SynchronousQueue", "synchronous"},
                                  translation{"PriorityBlockingQueue", "priority"},
                                  translation{"LinkedTransferQueue", "transfer"},
                                  translation{"LinkedBlockingDeque", "deque"},
                                  translation{"LinkedBlockingDequeQueue", "deque"}};
constexpr std::array<std::string_view, 5> their_kinds{"common", "eager", "scheduled", "ordered",
                                                      "priority"};

constexpr std::array their_alarms{alarm_type::change,      alarm_type::liveness,
                                  alarm_type::capacity,    alarm_type::reject,
                                  alarm_type::run_timeout, alarm_type::queue_timeout};
/// interval is an older name of silencePeriod.
constexpr std::array<std::string_view, 10> their_item_keys{
    "type",          "enabled",  "threshold",    "count",     "period",
    "silencePeriod", "interval", "clusterLimit", "receivers", "platformIds"};

struct time_unit {
    std::string_view name;
    std::chrono::nanoseconds length;
};
constexpr std::array units{time_unit{"NANOSECONDS", 1ns},  time_unit{"MICROSECONDS", 1us},
                           time_unit{"MILLISECONDS", 1ms}, time_unit{"SECONDS", 1s},
                           time_unit{"MINUTES", 1min},     time_unit{"HOURS", 1h},
                           time_unit{"DAYS", 24h}};

std::string canonical(std::string_view key) {
    std::string result;
    for (const char c : key)
        if (c != '-' && c != '_')
            result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return result;
}

std::string below(std::string path, std::string_view key) {
    path += '.';
    path += key;
    return path;
}

/// A text is what it says, with or without quotes.
document_node plain_value(document_node node) {
    if (node.kind != type::text && node.kind != type::plain) return node;
    constexpr std::string_view blanks = " \t\n\r\f";
    node.kind = type::plain;
    node.value.erase(node.value.find_last_not_of(blanks) + 1);
    node.value.erase(0, node.value.find_first_not_of(blanks));
    return node;
}

template <std::size_t N>
bool is_among(const std::array<std::string_view, N>& known, const std::string& key) {
    return std::any_of(known.begin(), known.end(), [&](auto k) { return canonical(k) == key; });
}

class dynamictp_reader {
public:
    explicit dynamictp_reader(value_reader& read) : read_(read) {}

    partial_configuration read(const document_node& root, const std::string& path) {
        partial_configuration result;
        if (!read_.is_map(root, path)) return result;
        bool enabled = true;
        for (const auto& [key, line, node] : root.members)
            if (canonical(key) == "globalexecutorprops" && node.kind != type::null)
                globals_ = pool(node, below(path, key));
        result.defaults = globals_.said;
        for (const auto& [key, line, node] : root.members) {
            const std::string here = below(path, key);
            const std::string plain = canonical(key);
            if (plain == "executors")
                executors(node, here, result);
            else if (plain == "globalexecutorprops")
                continue;
            else if (plain == "enabled")
                enabled = flag(node, here).value_or(true);
            else if (is_among(their_root_keys, plain))
                read_.ignore(line, here, "is DynamicTp's, and means nothing here");
            else
                read_.unknown_key(line, here, key, their_root_keys);
        }
        if (enabled) return result;
        read_.ignore(root.line, path, "is switched off by its key enabled");
        return {};
    }

private:
    struct named_pool {
        std::string name = {};
        partial_pool said = {};
        // A number and its unit may be of different places: the globals' and the executor's own.
        std::optional<std::int64_t> keep_alive = {};
        std::optional<std::chrono::nanoseconds> unit = {};
        std::optional<std::vector<alarm_entry>> alarms = {};
        std::optional<bool> notifies = {};
    };

    void executors(const document_node& node, const std::string& path,
                   partial_configuration& result) {
        if (node.kind == type::null || !read_.is_list(node, path)) return;
        for (std::size_t i = 0; i < node.items.size(); ++i) {
            const std::string here = path + "[" + std::to_string(i) + "]";
            const auto& item = node.items[i];
            auto entry = pool(item, here);
            if (entry.name.empty()) {
                read_.problem(item.line, here, "has no threadPoolName");
                continue;
            }
            if (!read_.is_pool_name(entry.name, item.line, here + ".threadPoolName")) continue;
            entry.said.at = {read_.file(), item.line, here};
            alarms_of(entry, result.alarms);
            if (!result.pools.try_emplace(entry.name, entry.said).second)
                read_.problem(item.line, here,
                              "is the second entry with threadPoolName " + entry.name);
        }
    }

    named_pool pool(const document_node& node, const std::string& path) {
        named_pool result;
        if (!read_.is_map(node, path)) return result;
        place keep_alive_at{read_.file(), node.line, path};
        std::set<std::string> seen;
        for (const auto& [key, line, value] : node.members) {
            const std::string here = below(path, key);
            const std::string plain = canonical(key);
            if (!seen.insert(plain).second)
                read_.problem(line, here, "is there twice, in two spellings");
            if (plain == "unit") {
                result.unit = unit_of(value, here);
            } else if (plain == "keepalivetime") {
                result.keep_alive = whole(value, here, 0);
                keep_alive_at = {read_.file(), line, here};
            } else if (plain == "notifyitems") {
                result.alarms = notify_items(value, here);
            } else if (plain == "notifyenabled") {
                result.notifies = flag(value, here);
            } else if (plain == "threadpoolname") {
                result.name = read_.text(value, here).value_or("");
            } else if (!read_key(plain, line, value, here, result.said)) {
                read_.unknown_key(line, here, key, their_pool_keys);
            }
        }
        if (result.keep_alive || result.unit) settle_keep_alive(result, keep_alive_at);
        return result;
    }

    /// Its own items, or those of the globals.
    void alarms_of(const named_pool& pool, std::vector<alarm_entry>& into) {
        auto items =
            pool.alarms ? *pool.alarms : globals_.alarms.value_or(std::vector<alarm_entry>());
        if (!pool.notifies.value_or(globals_.notifies.value_or(true))) {
            items.clear();
            for (const auto each : their_alarms)
                items.push_back({.rule = default_rule(each), .enabled = false});
        }
        for (auto& item : items) {
            item.rule.pool = pool.name;
            into.push_back(std::move(item));
        }
    }

    std::vector<alarm_entry> notify_items(const document_node& node, const std::string& path) {
        std::vector<alarm_entry> items;
        if (node.kind == type::null || !read_.is_list(node, path)) return items;
        for (std::size_t i = 0; i < node.items.size(); ++i)
            notify_item(node.items[i], path + "[" + std::to_string(i) + "]", items);
        return items;
    }

    void notify_item(const document_node& node, const std::string& path,
                     std::vector<alarm_entry>& into) {
        if (!read_.is_map(node, path)) return;
        std::string named;
        for (const auto& [key, line, value] : node.members)
            if (canonical(key) == "type") named = read_.text(value, below(path, key)).value_or("");
        const auto of = std::find_if(their_alarms.begin(), their_alarms.end(),
                                     [&](auto each) { return named == to_text(each); });
        if (of == their_alarms.end())
            return read_.ignore(node.line, path, "has no type of an alarm that is known here");
        alarm_entry entry{.rule = default_rule(*of)};
        for (const auto& [key, line, value] : node.members) {
            const std::string here = below(path, key);
            const std::string plain = canonical(key);
            if (!is_among(their_item_keys, plain))
                read_.unknown_key(line, here, key, their_item_keys);
            else if (!read_item_key(plain, value, here, entry))
                read_.ignore(line, here, "is DynamicTp's, and means nothing here");
        }
        into.push_back(std::move(entry));
    }

    bool read_item_key(const std::string& plain, const document_node& node, const std::string& path,
                       alarm_entry& into) {
        auto& rule = into.rule;
        if (plain == "type") return true;
        if (plain == "enabled") {
            into.enabled = flag(node, path).value_or(true);
        } else if (rule.type == alarm_type::change) {
            return false;  // of which everybody is told each time
        } else if (plain == "threshold" && is_percent(rule.type)) {
            if (const auto percent = read_.whole(plain_value(node), path, 1, 100))
                rule.threshold = static_cast<double>(*percent);
        } else if (plain == "count") {
            if (const auto times = whole(node, path, 1))
                rule.count = static_cast<std::uint64_t>(*times);
        } else if (plain == "period") {
            constexpr int a_day = 24 * 60 * 60;  // every look in it is kept
            if (const auto period = whole(node, path, 1, a_day)) rule.window = *period * 1s;
        } else if (plain == "silenceperiod" || plain == "interval") {
            if (const auto silence = whole(node, path, 0)) rule.silence = *silence * 1s;
        } else {
            return false;
        }
        return true;
    }

    void settle_keep_alive(named_pool& pool, const place& at) {
        const auto count = pool.keep_alive ? pool.keep_alive : globals_.keep_alive;
        const auto unit = pool.unit.value_or(globals_.unit.value_or(1s));
        if (!count) return;
        pool.said.places["keep_alive"] = at;
        if (*count > std::chrono::nanoseconds::max() / unit)
            read_.problem(at.line, at.key, "is longer than 292 years");
        else
            pool.said.settings.keep_alive = *count * unit;
    }

    bool read_key(const std::string& plain, int line, const document_node& node,
                  const std::string& path, partial_pool& said) {
        auto& s = said.settings;
        std::string_view ours;
        if (plain == "corepoolsize") {
            s.core_pool_size = read_.threads(plain_value(node), path, 0);
            ours = "core_pool_size";
        } else if (plain == "maximumpoolsize") {
            s.maximum_pool_size = read_.threads(plain_value(node), path, 1);
            ours = "maximum_pool_size";
        } else if (plain == "allowcorethreadtimeout") {
            s.allow_core_thread_time_out = flag(node, path);
            ours = "allow_core_thread_time_out";
        } else if (plain == "queuecapacity") {
            if (const auto capacity = whole(node, path, 1))
                s.queue_capacity = static_cast<std::size_t>(*capacity);
            ours = "queue_capacity";
        } else if (plain == "queuetype") {
            said.queue = translated(node, path, their_queues);
            if (node.value == memory_safe_queue)
                read_.ignore(line, path,
                             node.value +
                                 " is a linked queue here, which does not look at free "
                                 "memory; queueCapacity is its only bound");
            ours = "queue";
        } else if (plain == "rejectedhandlertype") {
            s.rejection = translated(node, path, their_rejections);
            ours = "rejection";
        } else if (plain == "threadnameprefix") {
            s.thread_name_prefix = read_.text(node, path);
            ours = "thread_name_prefix";
        } else if (plain == "prestartallcorethreads") {
            s.prestart_core_threads = flag(node, path);
            ours = "prestart_core_threads";
        } else if (plain == "autocreate") {
            said.auto_create = flag(node, path);
            ours = "auto_create";
        } else if (plain == "executortype") {
            said.kind = kind_of(node, path);
            ours = "kind";
        } else if (plain == "runtimeout") {
            s.run_timeout = milliseconds(node, path);
            ours = "run_timeout";
        } else if (plain == "queuetimeout") {
            s.queue_timeout = milliseconds(node, path);
            ours = "queue_timeout";
        } else if (plain == "tryinterrupt") {
            s.interrupt_on_run_timeout = flag(node, path);
            ours = "interrupt_on_run_timeout";
        } else if (is_among(their_pool_keys, plain)) {
            read_.ignore(line, path, "is DynamicTp's, and means nothing here");
            return true;
        } else {
            return false;
        }
        said.places[std::string(ours)] = {read_.file(), line, path};
        return true;
    }

    std::optional<std::int64_t> whole(const document_node& node, const std::string& path,
                                      std::int64_t least, std::int64_t most = most_queued) {
        return read_.whole(plain_value(node), path, least, most);
    }

    std::optional<bool> flag(const document_node& node, const std::string& path) {
        const std::string word = node.is_scalar() ? canonical(plain_value(node).value) : "";
        for (const std::string_view yes : {"true", "on", "yes", "1"})
            if (word == yes) return true;
        for (const std::string_view no : {"false", "off", "no", "0"})
            if (word == no) return false;
        return read_.flag(node, path);  // which notes it
    }

    /// What DynamicTp does not know is common there, too.
    std::optional<std::string> kind_of(const document_node& node, const std::string& path) {
        auto name = read_.text(node, path);
        if (!name || is_among(their_kinds, *name)) return name;
        read_.ignore(node.line, path, *name + " is no type of executor; it is common");
        return "common";
    }

    std::optional<std::chrono::nanoseconds> milliseconds(const document_node& node,
                                                         const std::string& path) {
        const auto count = whole(node, path, 0);
        return count ? std::optional(*count * std::chrono::nanoseconds(1ms)) : std::nullopt;
    }

    std::chrono::nanoseconds unit_of(const document_node& node, const std::string& path) {
        const std::string name = node.is_scalar() ? canonical(plain_value(node).value) : "";
        for (const auto& u : units)
            if (canonical(u.name) == name) return u.length;
        read_.problem(node.line, path, "must be a TimeUnit, as SECONDS or MILLISECONDS");
        return 1s;
    }

    /// A class name of theirs in our words. One that we have no word for is their own: it may have
    /// been registered here under the same name, which is seen when it is applied.
    template <std::size_t N>
    std::optional<std::string> translated(const document_node& node, const std::string& path,
                                          const std::array<translation, N>& table) {
        const auto name = read_.text(node, path);
        if (!name) return {};
        for (const auto& [theirs, ours] : table)
            if (theirs == *name) return std::string(ours);
        if constexpr (N == their_queues.size()) {
            read_.ignore(node.line, path, *name + " is not a queue here");
            return {};
        }
        return name;
    }

    value_reader& read_;
    named_pool globals_;
};

}  // namespace

partial_configuration read_dynamictp(const document_node& root, const std::string& path,
                                     value_reader& read) {
    return dynamictp_reader(read).read(root, path);
}

}  // namespace cadre::manage::detail
