// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "manage/alarm_rules.hpp"
#include "manage/configuration_reader.hpp"

namespace cadre::manage::detail {
namespace {

using type = document_node::type;
using std::chrono::nanoseconds;

constexpr std::array<std::string_view, 11> alarm_keys{
    "type",   "pool",    "enabled", "threshold",     "limit",    "count",
    "window", "lasting", "silence", "tell_recovery", "notifiers"};

constexpr nanoseconds longest_window = std::chrono::hours(24);

bool is_key_of(std::string_view key, alarm_type of) {
    if (key == "pool") return of != alarm_type::config_stale;
    if (key == "threshold") return is_percent(of);
    if (key == "limit") return is_duration(of);
    if (key == "lasting") return is_percent(of) || is_duration(of);
    return of != alarm_type::change || key == "type" || key == "enabled" || key == "notifiers";
}

/// Reads one entry of the list.
class alarm_reader {
public:
    explicit alarm_reader(value_reader& read) : read_(read) {}

    std::optional<alarm_entry> entry(const document_node& node, const std::string& path) {
        if (!read_.is_map(node, path)) return {};
        const auto* of = node.find("type");
        if (of == nullptr) {
            read_.problem(node.line, path, "has no type");
            return {};
        }
        static const auto types = names_of_alarms();
        const auto named = read_.one_of(*of, path + ".type", types);
        if (!named) return {};
        alarm_entry result{.rule = default_rule(parse_alarm_type(*named))};
        for (const auto& [key, line, value] : node.members) {
            std::string here = path;
            here.append(".").append(key);
            if (std::find(alarm_keys.begin(), alarm_keys.end(), key) == alarm_keys.end())
                read_.unknown_key(line, here, key, alarm_keys);
            else if (!is_key_of(key, result.rule.type))
                read_.problem(line, here, "is not for alarms of the type " + *named);
            else
                read_key(key, value, here, result);
        }
        return result;
    }

private:
    template <class T, class U>
    static void take(T& field, const std::optional<U>& value) {
        if (value) field = static_cast<T>(*value);
    }

    void read_key(std::string_view key, const document_node& node, const std::string& path,
                  alarm_entry& into) {
        auto& rule = into.rule;
        if (key == "pool") {
            take(rule.pool, read_.text(node, path));
            read_.is_pool_name(rule.pool, node.line, path);
        } else if (key == "enabled") {
            take(into.enabled, read_.flag(node, path));
        } else if (key == "threshold") {
            take(rule.threshold, read_.whole(node, path, 1, 100));
        } else if (key == "limit") {
            take(rule.limit, positive(node, path));
        } else if (key == "count") {
            take(rule.count, read_.whole(node, path, 1, most_queued));
        } else if (key == "window") {
            take(rule.window, positive(node, path));
            if (rule.window > longest_window)
                read_.problem(node.line, path,
                              "is longer than a day, and every look in it is kept");
        } else if (key == "lasting") {
            take(rule.lasting, read_.duration(node, path));
        } else if (key == "silence") {
            take(rule.silence, read_.duration(node, path));
        } else if (key == "tell_recovery") {
            take(rule.tell_recovery, read_.flag(node, path));
        } else if (key == "notifiers" && read_.is_list(node, path)) {
            for (const auto& item : node.items)
                if (auto name = read_.text(item, path)) rule.notifiers.push_back(std::move(*name));
        }
    }

    std::optional<nanoseconds> positive(const document_node& node, const std::string& path) {
        auto length = read_.duration(node, path);
        if (!length || length->count() > 0) return length;
        read_.problem(node.line, path, "must be above 0");
        return {};
    }

    value_reader& read_;
};

}  // namespace

std::vector<alarm_entry> read_alarms(const document_node& node, const std::string& path,
                                     value_reader& read) {
    constexpr std::size_t most = 1000;
    std::vector<alarm_entry> all;
    if (node.kind == type::null || !read.is_list(node, path)) return all;
    if (node.items.size() > most) {
        read.problem(node.line, path, "has more than " + std::to_string(most) + " entries");
        return all;
    }
    alarm_reader reader(read);
    for (std::size_t i = 0; i < node.items.size(); ++i)
        if (auto entry = reader.entry(node.items[i], path + "[" + std::to_string(i) + "]"))
            all.push_back(std::move(*entry));
    return all;
}

}  // namespace cadre::manage::detail
