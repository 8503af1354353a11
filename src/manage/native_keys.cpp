// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <functional>

#include "manage/configuration_reader.hpp"

namespace cadre::manage::detail {
namespace {

using type = document_node::type;
using names = std::span<const std::string_view>;

constexpr std::array<std::string_view, 5> kinds{"common", "eager", "scheduled", "ordered",
                                                "priority"};
constexpr std::array<std::string_view, 6> queues{"linked",   "array",    "synchronous",
                                                 "priority", "transfer", "deque"};
constexpr std::array<std::string_view, 14> pool_keys{"core_pool_size",
                                                     "maximum_pool_size",
                                                     "keep_alive",
                                                     "allow_core_thread_time_out",
                                                     "queue_capacity",
                                                     "rejection",
                                                     "thread_name_prefix",
                                                     "prestart_core_threads",
                                                     "run_timeout",
                                                     "queue_timeout",
                                                     "interrupt_on_run_timeout",
                                                     "auto_create",
                                                     "kind",
                                                     "queue"};
constexpr std::array<std::string_view, 3> limit_keys{"max_threads_per_pool",
                                                     "max_threads_per_process", "max_step"};
constexpr std::array<std::string_view, 5> match_keys{"env", "host", "address", "label", "percent"};
constexpr std::array<std::string_view, 4> override_keys{"match", "defaults", "pools", "alarms"};
/// The last two are only to be guessed at.
constexpr std::array<std::string_view, 7> root_keys{"defaults",  "limits", "pools",    "alarms",
                                                    "overrides", "cadre",  "dynamictp"};

/// Reads one value into its field; false if there is no such key.
bool read_key(const std::string& key, const document_node& node, const std::string& path,
              partial_pool& pool, value_reader& read) {
    auto& s = pool.settings;
    if (key == "core_pool_size") {
        s.core_pool_size = read.threads(node, path, 0);
    } else if (key == "maximum_pool_size") {
        s.maximum_pool_size = read.threads(node, path, 1);
    } else if (key == "keep_alive") {
        s.keep_alive = read.duration(node, path);
    } else if (key == "allow_core_thread_time_out") {
        s.allow_core_thread_time_out = read.flag(node, path);
    } else if (key == "queue_capacity") {
        if (const auto capacity = read.whole(node, path, 1, most_queued))
            s.queue_capacity = static_cast<std::size_t>(*capacity);
    } else if (key == "rejection") {
        s.rejection = read.text(node, path);
    } else if (key == "thread_name_prefix") {
        s.thread_name_prefix = read.text(node, path);
    } else if (key == "prestart_core_threads") {
        s.prestart_core_threads = read.flag(node, path);
    } else if (key == "run_timeout") {
        s.run_timeout = read.duration(node, path);
    } else if (key == "queue_timeout") {
        s.queue_timeout = read.duration(node, path);
    } else if (key == "interrupt_on_run_timeout") {
        s.interrupt_on_run_timeout = read.flag(node, path);
    } else if (key == "auto_create") {
        pool.auto_create = read.flag(node, path);
    } else if (key == "kind") {
        pool.kind = read.one_of(node, path, kinds);
    } else if (key == "queue") {
        pool.queue = read.one_of(node, path, queues);
    } else {
        return false;
    }
    return true;
}

/// From 0 to 99, for ever the same for a host: FNV-1a with 64 bits, modulo 100.
int percentile_of(std::string_view host) {
    std::uint64_t hash = 14'695'981'039'346'656'037U;
    for (const char c : host) hash = (hash ^ static_cast<unsigned char>(c)) * 1'099'511'628'211U;
    return static_cast<int>(hash % 100);
}

class native_reader {
public:
    native_reader(const instance_identity& instance, value_reader& read)
        : instance_(instance), read_(read) {}

    partial_configuration read(const document_node& root, const std::string& path) {
        partial_configuration result;
        if (!read_.is_map(root, path)) return result;
        const document_node* overrides = nullptr;
        std::string overrides_path;
        for (const auto& [key, line, node] : root.members) {
            const std::string here = below(path, key);
            if (key == "limits") {
                limits(node, here, result);
            } else if (key == "overrides") {
                overrides = &node;
                overrides_path = here;
            } else if (!read_scope(key, node, here, result)) {
                read_.unknown_key(line, here, key, root_keys);
            }
        }
        if (overrides != nullptr) all_overrides(*overrides, overrides_path, result);
        return result;
    }

private:
    static std::string below(const std::string& path, std::string_view key) {
        return path.empty() ? std::string(key) : path + "." + std::string(key);
    }

    /// defaults, pools and alarms: what the root and an override have in common.
    bool read_scope(std::string_view key, const document_node& node, const std::string& path,
                    partial_configuration& result) {
        if (key == "defaults") {
            result.defaults = pool(node, path);
            return true;
        }
        if (key == "alarms") {
            result.alarms = read_alarms(node, path, read_);
            return true;
        }
        if (key != "pools") return false;
        if (node.kind == type::null || !read_.is_map(node, path)) return true;
        for (const auto& [name, line, entry] : node.members) {
            if (!read_.is_pool_name(name, line, path)) continue;
            auto& read = result.pools[name] = pool(entry, below(path, name));
            read.at = {read_.file(), line, below(path, name)};
        }
        return true;
    }

    partial_pool pool(const document_node& node, const std::string& path) {
        partial_pool result;
        // "orders:" alone is an entry that says nothing.
        if (node.kind == type::null || !read_.is_map(node, path)) return result;
        for (const auto& [key, line, value] : node.members) {
            const std::string here = below(path, key);
            result.places[key] = {read_.file(), line, here};
            if (!read_key(key, value, here, result, read_))
                read_.unknown_key(line, here, key, pool_keys);
        }
        return result;
    }

    void limits(const document_node& node, const std::string& path, partial_configuration& result) {
        if (node.kind == type::null || !read_.is_map(node, path)) return;
        for (const auto& [key, line, value] : node.members) {
            const std::string here = below(path, key);
            if (key == "max_threads_per_pool")
                result.max_threads_per_pool = read_.threads(value, here, 1);
            else if (key == "max_threads_per_process")
                result.max_threads_per_process = read_.threads(value, here, 1);
            else if (key == "max_step")
                result.max_step = read_.threads(value, here, 1);
            else
                read_.unknown_key(line, here, key, limit_keys);
        }
    }

    void all_overrides(const document_node& node, const std::string& path,
                       partial_configuration& result) {
        if (node.kind == type::null || !read_.is_list(node, path)) return;
        for (std::size_t i = 0; i < node.items.size(); ++i)
            one_override(node.items[i], path + "[" + std::to_string(i) + "]", result);
    }

    /// Each is read, whether or not it is for us: a slip is best found where it is written.
    void one_override(const document_node& node, const std::string& path,
                      partial_configuration& result) {
        if (!read_.is_map(node, path)) return;
        partial_configuration said;
        std::optional<bool> is_for_us;
        for (const auto& [key, line, value] : node.members) {
            const std::string here = below(path, key);
            if (key == "match")
                is_for_us = matches(value, here);
            else if (!read_scope(key, value, here, said))
                read_.unknown_key(line, here, key, override_keys);
        }
        if (!is_for_us)
            read_.problem(node.line, path, "has no match, so that it would be for everybody");
        else if (*is_for_us)
            result.overlay(said);
    }

    bool matches(const document_node& node, const std::string& path) {
        if (!read_.is_map(node, path)) return false;
        if (node.members.empty()) {
            read_.problem(node.line, path, "is empty, so that it would be for everybody");
            return false;
        }
        bool all = true;
        for (const auto& [key, line, value] : node.members) {
            const std::string here = below(path, key);
            const std::vector<std::string> has = key == "env" ? std::vector{instance_.environment}
                                                 : key == "host"    ? std::vector{instance_.host}
                                                 : key == "address" ? std::vector{instance_.address}
                                                                    : instance_.labels;
            if (std::find(match_keys.begin(), match_keys.end(), key) == match_keys.end())
                read_.unknown_key(line, here, key, match_keys);
            else if (key == "percent")
                all = is_within(value, here) && all;
            else
                all = any_pattern(value, here, has) && all;
        }
        return all;
    }

    bool is_within(const document_node& node, const std::string& path) {
        const auto percent = read_.whole(node, path, 0, 100);
        return percent && percentile_of(instance_.host) < *percent;
    }

    /// A pattern, or a list of them, against what the instance has.
    bool any_pattern(const document_node& node, const std::string& path,
                     const std::vector<std::string>& has) {
        if (node.kind == type::list) {
            bool any = false;
            for (const auto& item : node.items) any = any_pattern(item, path, has) || any;
            if (node.items.empty()) read_.problem(node.line, path, "is an empty list");
            return any;
        }
        const auto pattern = read_.text(node, path);
        return pattern && std::any_of(has.begin(), has.end(), [&](const std::string& text) {
                   return matches_glob(*pattern, text);
               });
    }

    const instance_identity& instance_;
    value_reader& read_;
};

}  // namespace

bool is_native_root_key(std::string_view key) {
    return std::find(root_keys.begin(), root_keys.end() - 2, key) != root_keys.end() - 2;
}

partial_configuration read_native(const document_node& root, const std::string& path,
                                  const instance_identity& instance, value_reader& read) {
    return native_reader(instance, read).read(root, path);
}

}  // namespace cadre::manage::detail
