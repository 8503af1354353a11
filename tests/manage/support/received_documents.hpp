// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include <cadre/manage/config_source.hpp>

#include "support/eventually.hpp"

namespace cadre::testing {

/// Starts a source, listens to it, and lets a test wait for what comes. Stops it in the end.
class received_documents {
public:
    explicit received_documents(manage::config_source& source) : source_(source) {
        source.start([this](const manage::config_document& document) {
            const std::lock_guard lock(mutex_);
            all_.push_back(document);
            came_.notify_all();
        });
    }
    ~received_documents() { source_.stop(); }
    received_documents(const received_documents&) = delete;
    received_documents& operator=(const received_documents&) = delete;

    /// Waits until the newest document has this text. False if that did not happen.
    bool newest_is(const std::string& text) {
        std::unique_lock lock(mutex_);
        return came_.wait_for(lock, guard,
                              [&] { return !all_.empty() && all_.back().text == text; });
    }
    bool newest_is_absent() {
        std::unique_lock lock(mutex_);
        return came_.wait_for(lock, guard, [&] { return !all_.empty() && !all_.back().exists; });
    }
    std::vector<manage::config_document> all() const {
        const std::lock_guard lock(mutex_);
        return all_;
    }

private:
    manage::config_source& source_;
    mutable std::mutex mutex_;  // guards all below
    std::condition_variable came_;
    std::vector<manage::config_document> all_;
};

/// Waits until the source fails, with this in its last error.
inline bool fails_with(const manage::config_source& source, const std::string& part) {
    return eventually([&] {
        const auto health = source.health();
        return health.state == manage::source_state::failing &&
               health.last_error.find(part) != std::string::npos;
    });
}

inline constexpr manage::source_backoff quick_backoff{std::chrono::milliseconds(5),
                                                      std::chrono::milliseconds(20)};

}  // namespace cadre::testing
