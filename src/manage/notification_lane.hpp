// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include <cadre/manage/alarm.hpp>
#include <cadre/manage/alarm_engine.hpp>

namespace cadre::manage::detail {

/// A notifier with its thread and its backlog.
class notification_lane {
public:
    notification_lane(std::shared_ptr<notifier> to, std::size_t backlog);
    ~notification_lane();
    notification_lane(const notification_lane&) = delete;
    notification_lane& operator=(const notification_lane&) = delete;

    const std::string& name() const { return name_; }
    /// Never waits; drops the oldest if there are too many.
    void post(const alarm_event& event);
    notifier_counts counts() const;

private:
    void run();

    const std::shared_ptr<notifier> to_;
    const std::string name_;
    const std::size_t backlog_;

    mutable std::mutex mutex_;  // guards all below
    std::condition_variable posted_;
    std::deque<alarm_event> waiting_;
    notifier_counts counts_;
    bool stop_ = false;
    std::thread thread_;  // last: it uses the others
};

}  // namespace cadre::manage::detail
