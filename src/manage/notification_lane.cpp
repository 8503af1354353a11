// SPDX-License-Identifier: Apache-2.0
#include "notification_lane.hpp"

#include <exception>
#include <utility>

namespace cadre::manage::detail {

notification_lane::notification_lane(std::shared_ptr<notifier> to, std::size_t backlog)
    : to_(std::move(to)), name_(to_->name()), backlog_(backlog), thread_([this] { run(); }) {}

notification_lane::~notification_lane() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
        posted_.notify_one();
    }
    thread_.join();
}

void notification_lane::post(const alarm_event& event) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(event);
    if (waiting_.size() > backlog_) {
        waiting_.pop_front();
        ++counts_.dropped;
    }
    posted_.notify_one();
}

notifier_counts notification_lane::counts() const {
    const std::lock_guard lock(mutex_);
    auto now = counts_;
    now.name = name_;
    return now;
}

void notification_lane::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        posted_.wait(lock, [this] { return stop_ || !waiting_.empty(); });
        if (stop_) return;
        const auto event = std::move(waiting_.front());
        waiting_.pop_front();
        lock.unlock();
        std::string error;
        bool failed = false;
        try {
            to_->send(event);
        } catch (const std::exception& e) {
            failed = true;
            error = e.what();
        } catch (...) {
            failed = true;
            error = "an exception of an unknown type";
        }
        lock.lock();
        ++(failed ? counts_.failed : counts_.sent);
        if (failed) counts_.last_error = std::move(error);
    }
}

}  // namespace cadre::manage::detail
