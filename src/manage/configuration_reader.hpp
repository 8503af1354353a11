// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <cadre/manage/configuration.hpp>
#include <cadre/manage/pool_spec.hpp>

// What the readers of our own keys and of DynamicTp's have in common.

namespace cadre::manage::detail {

/// More threads than that in a pool are a slip of the finger, whatever the limits say.
inline constexpr int most_threads = 100'000;
/// As Java's queues have it.
inline constexpr std::int64_t most_queued = 2'147'483'647;

using place = config_place;

/// What one entry says, and where.
struct partial_pool {
    pool_settings settings = {};
    std::optional<bool> auto_create = {};
    std::optional<std::string> kind = {};
    std::optional<std::string> queue = {};
    place at = {};
    std::map<std::string, place, std::less<>> places = {};  ///< of each key that is said

    /// Takes what `over` says, and keeps the rest.
    void overlay(const partial_pool& over);
};

/// What one document says to one instance.
struct partial_configuration {
    partial_pool defaults = {};
    std::map<std::string, partial_pool, std::less<>> pools = {};
    std::optional<int> max_threads_per_pool = {};
    std::optional<int> max_threads_per_process = {};
    std::optional<int> max_step = {};
    std::vector<alarm_entry> alarms = {};

    void overlay(const partial_configuration& over);
};

/// Reads values of one document, and gathers what is wrong with them. A path is the key with all
/// that it is in.
class value_reader {
public:
    value_reader(std::string file, std::vector<config_problem>& problems,
                 std::vector<config_problem>& ignored);

    const std::string& file() const { return file_; }
    void problem(int line, std::string path, std::string rule);
    void ignore(int line, std::string path, std::string why);
    /// "is not a key here", and which of `known` was perhaps meant.
    void unknown_key(int line, std::string path, std::string_view key,
                     std::span<const std::string_view> known);

    // Each notes a problem and returns nothing if the node is something else.
    bool is_map(const document_node& node, const std::string& path);
    bool is_list(const document_node& node, const std::string& path);
    std::optional<std::int64_t> whole(const document_node& node, const std::string& path,
                                      std::int64_t least, std::int64_t most);
    std::optional<int> threads(const document_node& node, const std::string& path, int least);
    std::optional<bool> flag(const document_node& node, const std::string& path);
    std::optional<std::string> text(const document_node& node, const std::string& path);
    std::optional<std::string> one_of(const document_node& node, const std::string& path,
                                      std::span<const std::string_view> known);
    std::optional<std::chrono::nanoseconds> duration(const document_node& node,
                                                     const std::string& path);
    bool is_pool_name(std::string_view name, int line, const std::string& path);

private:
    std::string file_;
    std::vector<config_problem>& problems_;
    std::vector<config_problem>& ignored_;
};

/// What kind of pool is here by that name; nothing: none.
using kind_here = std::function<std::optional<pool_kind>(std::string_view)>;

/// As the public one, but only pools that are here or will be made count for the limit of the
/// process: a document may speak of those of other services too.
configuration read_configuration(std::span<const document> documents,
                                 const instance_identity& instance, const kind_here& kind_of);

/// Our own keys.
partial_configuration read_native(const document_node& root, const std::string& path,
                                  const instance_identity& instance, value_reader& read);
/// The list below alarms.
std::vector<alarm_entry> read_alarms(const document_node& node, const std::string& path,
                                     value_reader& read);
/// defaults, limits, pools, alarms, overrides.
bool is_native_root_key(std::string_view key);
/// Those below dynamictp.
partial_configuration read_dynamictp(const document_node& root, const std::string& path,
                                     value_reader& read);

}  // namespace cadre::manage::detail
