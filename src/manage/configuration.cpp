// SPDX-License-Identifier: Apache-2.0
#include <cadre/manage/configuration.hpp>

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <utility>

#include "manage/alarm_rules.hpp"
#include "manage/configuration_reader.hpp"

namespace cadre::manage {
namespace detail {
namespace {

template <class T>
void take(std::optional<T>& base, const std::optional<T>& over) {
    if (over) base = over;
}

}  // namespace

void partial_pool::overlay(const partial_pool& over) {
    auto& s = settings;
    const auto& o = over.settings;
    take(s.core_pool_size, o.core_pool_size);
    take(s.maximum_pool_size, o.maximum_pool_size);
    take(s.keep_alive, o.keep_alive);
    take(s.allow_core_thread_time_out, o.allow_core_thread_time_out);
    take(s.queue_capacity, o.queue_capacity);
    take(s.rejection, o.rejection);
    take(s.thread_name_prefix, o.thread_name_prefix);
    take(s.prestart_core_threads, o.prestart_core_threads);
    take(s.run_timeout, o.run_timeout);
    take(s.queue_timeout, o.queue_timeout);
    take(s.interrupt_on_run_timeout, o.interrupt_on_run_timeout);
    take(auto_create, over.auto_create);
    take(kind, over.kind);
    take(queue, over.queue);
    if (over.at.line != 0) at = over.at;
    for (const auto& [key, where] : over.places) places[key] = where;
}

void partial_configuration::overlay(const partial_configuration& over) {
    defaults.overlay(over.defaults);
    for (const auto& [name, pool] : over.pools) pools[name].overlay(pool);
    take(max_threads_per_pool, over.max_threads_per_pool);
    take(max_threads_per_process, over.max_threads_per_process);
    take(max_step, over.max_step);
    detail::overlay(alarms, over.alarms);
}

}  // namespace detail

namespace {

using detail::partial_configuration;
using detail::partial_pool;
using detail::place;

/// The value of a key within keys, written in either way: spring: {dynamic.tp: …}.
const document_node* find_path(const document_node& node, std::string_view path) {
    for (const auto& [key, line, value] : node.members) {
        if (key == path) return &value;
        if (path.starts_with(key + "."))
            if (const auto* found = find_path(value, path.substr(key.size() + 1))) return found;
    }
    return nullptr;
}

/// A document of ours alone has our keys at its root. One that is shared has them below cadre, or
/// DynamicTp's below dynamictp or spring.dynamic.tp; what else it has is not ours, but for pools
/// beside DynamicTp's and what belongs to them.
partial_configuration read_document(const document& doc, const instance_identity& instance,
                                    detail::value_reader& read) {
    constexpr std::string_view older_key = "spring.dynamic.tp";
    // To take everything back, one says so: pools: {}.
    if (doc.root.kind == document_node::type::map && doc.root.members.empty()) {
        read.problem(0, "", "is empty");
        return {};
    }
    const auto* ours = doc.root.find("cadre");
    const auto* theirs = doc.root.find("dynamictp");
    const auto* older = find_path(doc.root, older_key);
    if (ours == nullptr && theirs == nullptr && older == nullptr)
        return detail::read_native(doc.root, "", instance, read);

    const auto* pools = doc.root.find("pools");
    const bool at_root =
        ours == nullptr && pools != nullptr && pools->kind == document_node::type::map;
    document_node beside;
    beside.kind = document_node::type::map;
    for (const auto& member : doc.root.members) {
        if (member.key == "cadre" || member.key == "dynamictp" || member.key == older_key ||
            older_key.starts_with(member.key + "."))
            continue;
        if (at_root && detail::is_native_root_key(member.key))
            beside.members.push_back(member);
        else
            read.ignore(member.line, member.key, "is not for cadre");
    }
    partial_configuration result;
    if (older != nullptr) result.overlay(read_dynamictp(*older, std::string(older_key), read));
    if (theirs != nullptr) result.overlay(read_dynamictp(*theirs, "dynamictp", read));
    if (at_root) result.overlay(read_native(beside, "", instance, read));
    if (ours != nullptr) result.overlay(read_native(*ours, "cadre", instance, read));
    return result;
}

/// What must hold between the values, once it is known which of them count.
class consistency {
public:
    consistency(const thread_limits& limits, std::vector<config_problem>& problems)
        : per_pool_(limits.max_threads_per_pool.value_or(10'000)),
          per_process_(limits.max_threads_per_process.value_or(100'000)),
          problems_(problems) {}

    /// `kind`: nothing, if the pool is none of this process.
    void check(const partial_pool& pool, std::optional<pool_kind> kind) {
        const auto& s = pool.settings;
        if (s.core_pool_size && s.maximum_pool_size && *s.core_pool_size > *s.maximum_pool_size)
            note(pool, "core_pool_size",
                 std::to_string(*s.core_pool_size) + " is above maximum_pool_size (" +
                     std::to_string(*s.maximum_pool_size) + ")");
        within_limit(pool, "core_pool_size", s.core_pool_size);
        within_limit(pool, "maximum_pool_size", s.maximum_pool_size);
        if (s.allow_core_thread_time_out.value_or(false) && s.keep_alive &&
            s.keep_alive->count() == 0)
            note(pool, "allow_core_thread_time_out",
                 "needs a keep_alive that is not zero: idle core threads would come and go");
        if (!kind) return;
        const int core = s.core_pool_size.value_or(0);
        total_ += *kind == pool_kind::scheduled ? core : s.maximum_pool_size.value_or(core);
        if (total_ > per_process_ && !told_of_total_) {
            told_of_total_ = true;
            note(pool, "maximum_pool_size",
                 "brings the pools together to " + std::to_string(total_) +
                     " threads, above max_threads_per_process (" + std::to_string(per_process_) +
                     ")");
        }
    }

private:
    void within_limit(const partial_pool& pool, std::string_view key, std::optional<int> size) {
        if (size && *size > per_pool_)
            note(pool, key,
                 std::to_string(*size) + " is above max_threads_per_pool (" +
                     std::to_string(per_pool_) + ")");
    }
    void note(const partial_pool& pool, std::string_view key, std::string rule) {
        const auto found = pool.places.find(key);
        const place& where = found == pool.places.end() ? pool.at : found->second;
        problems_.push_back({where.file, where.line, where.key, std::move(rule)});
    }

    const int per_pool_;
    const int per_process_;
    std::vector<config_problem>& problems_;
    std::int64_t total_ = 0;
    bool told_of_total_ = false;
};

pool_entry entry_of(const partial_pool& pool) {
    pool_entry entry{.settings = pool.settings,
                     .auto_create = pool.auto_create.value_or(false),
                     .file = pool.at.file,
                     .line = pool.at.line,
                     .places = pool.places};
    entry.places[""] = pool.at;
    if (pool.kind) entry.kind = *pool.kind;
    if (pool.queue) entry.queue = *pool.queue;
    return entry;
}

std::string environment_variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

}  // namespace

configuration read_configuration(std::span<const document> documents,
                                 const instance_identity& instance) {
    return detail::read_configuration(documents, instance,
                                      [](std::string_view) { return pool_kind::plain; });
}

configuration detail::read_configuration(std::span<const document> documents,
                                         const instance_identity& instance,
                                         const kind_here& kind_of) {
    configuration result;
    std::vector<config_problem> problems;
    partial_configuration all;
    for (const auto& doc : documents) {
        detail::value_reader read(doc.file, problems, result.ignored);
        all.overlay(read_document(doc, instance, read));
    }
    result.limits = {all.max_threads_per_pool, all.max_threads_per_process, all.max_step};
    result.alarms = std::move(all.alarms);
    consistency rules(result.limits, problems);
    for (const auto& [name, said] : all.pools) {
        partial_pool pool = all.defaults;
        pool.overlay(said);
        auto kind = kind_of(name);
        if (!kind && pool.auto_create.value_or(false))
            kind = pool.kind == "scheduled" ? pool_kind::scheduled : pool_kind::plain;
        rules.check(pool, kind);
        result.pools[name] = entry_of(pool);
    }
    if (!problems.empty()) throw configuration_error(std::move(problems));
    return result;
}

instance_identity instance_identity::of_this_process() {
    instance_identity result;
    std::array<char, 256> host{};
    result.host = environment_variable("CADRE_HOST");
    if (result.host.empty() && gethostname(host.data(), host.size() - 1) == 0)
        result.host = host.data();
    result.environment = environment_variable("CADRE_ENV");
    result.address = environment_variable("CADRE_ADDRESS");
    std::string_view labels;
    const std::string text = environment_variable("CADRE_LABELS");
    for (labels = text; !labels.empty();) {
        const auto label = labels.substr(0, labels.find(','));
        if (!label.empty()) result.labels.emplace_back(label);
        labels.remove_prefix(std::min(label.size() + 1, labels.size()));
    }
    return result;
}

bool matches_glob(std::string_view pattern, std::string_view text) {
    // On a mismatch, the last * takes one character more; earlier ones need not change.
    std::size_t p = 0;
    std::size_t t = 0;
    std::size_t star = std::string_view::npos;
    std::size_t resume = 0;
    while (t < text.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            resume = t;
        } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
            ++p;
            ++t;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            t = ++resume;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*') ++p;
    return p == pattern.size();
}

}  // namespace cadre::manage
