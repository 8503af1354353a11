// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <cadre/detail/export.hpp>
#include <cadre/manage/alarm.hpp>
#include <cadre/manage/config_problem.hpp>
#include <cadre/manage/document.hpp>
#include <cadre/manage/pool_settings.hpp>

namespace cadre::manage {

/// Which instance this process is: what the `match` of an override is compared with.
struct CADRE_API instance_identity {
    std::string environment = {};
    std::string host = {};
    std::string address = {};  ///< as 10.0.0.7:8080
    std::vector<std::string> labels = {};

    /// The environment variables CADRE_ENV, CADRE_HOST (without it, the name of the machine),
    /// CADRE_ADDRESS and CADRE_LABELS (with commas between).
    static instance_identity of_this_process();
};

/// Guard rails for whoever changes numbers at three in the morning. What is absent is not said.
struct thread_limits {
    std::optional<int> max_threads_per_pool = {};  ///< without it: 10000
    /// Of the maximum sizes of all pools.
    std::optional<int> max_threads_per_process = {};  ///< without it: 100000
    /// By how much one document may change a size of a running pool.
    std::optional<int> max_step = {};

    friend bool operator==(const thread_limits&, const thread_limits&) = default;
};

/// Where something is written.
struct config_place {
    std::string file = {};
    int line = 0;
    std::string key = {};  ///< with its path, as pools.orders.core_pool_size

    friend bool operator==(const config_place&, const config_place&) = default;
};

/// What the documents say of one pool.
struct pool_entry {
    /// What matching overrides say, else its entry, else the defaults. What is absent here is as
    /// the code made it.
    pool_settings settings = {};
    /// For a pool that is created because no code did: auto_create says whether it may be.
    bool auto_create = false;
    /// common, scheduled or priority; eager and ordered are DynamicTp's, and common here.
    std::string kind = "common";
    std::string queue = "linked";  ///< linked, array, synchronous, priority, transfer or deque
    /// Where its entry begins, in the document that spoke of it last.
    std::string file = {};
    int line = 0;
    /// Where each key is written that is said of it, by our name for the key; and, by an empty
    /// one, its entry.
    std::map<std::string, config_place, std::less<>> places = {};

    friend bool operator==(const pool_entry&, const pool_entry&) = default;
};

/// An alarm that the documents speak of. Those of one type and pool take the place of what the code
/// says of it, also where that is for every pool.
struct alarm_entry {
    alarm_rule rule = {};
    bool enabled = true;  ///< false: nobody is told

    friend bool operator==(const alarm_entry&, const alarm_entry&) = default;
};

/// What a list of documents means for one instance.
struct configuration {
    std::map<std::string, pool_entry, std::less<>> pools = {};
    thread_limits limits = {};
    std::vector<alarm_entry> alarms = {};
    /// Keys that are right, but mean nothing here: DynamicTp's for Java, and other people's keys in
    /// a document that is shared with them.
    std::vector<config_problem> ignored = {};
};

/// Reads documents in order; of two that speak of the same key, the later one wins. Throws
/// configuration_error with everything that is wrong in any of them; there is no half of a
/// configuration. docs/configuration.md has the keys.
///
///     auto read = read_configuration(std::array{parse_document(text, "pools.yaml",
///                                    document_format::yaml)},
///                                    instance_identity::of_this_process());
CADRE_API configuration read_configuration(std::span<const document> documents,
                                           const instance_identity& instance = {});

/// True if the whole text fits a pattern in which * is any text and ? any character.
CADRE_API bool matches_glob(std::string_view pattern, std::string_view text);

}  // namespace cadre::manage
