// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace cadre::manage::detail {

/// Who has sent a wrong token how often. Somebody who did so too often is not heard for a while, so
/// that nobody can try tokens as fast as the network goes, or fill the log with it.
class failed_guesses {
public:
    using time = std::chrono::steady_clock::time_point;
    static constexpr int most = 100;  // within the window
    static constexpr auto window = std::chrono::seconds(10);
    static constexpr std::size_t most_peers = 1024;

    bool is_silenced(const std::string& peer, time now) const {
        const std::lock_guard lock(mutex_);
        const auto found = peers_.find(peers_.contains(peer) ? peer : shared);
        return found != peers_.end() && now < found->second.until && found->second.count >= most;
    }
    void add(const std::string& peer, time now) {
        const std::lock_guard lock(mutex_);
        ++total_;
        if (peers_.size() >= most_peers)
            std::erase_if(peers_, [now](const auto& each) { return now >= each.second.until; });
        const bool has_own = peers_.size() < most_peers || peers_.contains(peer);
        auto& own = peers_[has_own ? peer : shared];
        if (now >= own.until) own = {.until = now + window, .count = 0};
        ++own.count;
    }
    std::uint64_t total() const {
        const std::lock_guard lock(mutex_);
        return total_;
    }

private:
    static inline const std::string shared = {};  // of those who come when there are too many

    struct guesses {
        time until = {};
        int count = 0;
    };
    mutable std::mutex mutex_;  // guards all below
    std::map<std::string, guesses> peers_;
    std::uint64_t total_ = 0;
};

}  // namespace cadre::manage::detail
