// SPDX-License-Identifier: Apache-2.0

#include <cadre/completion_service.hpp>

namespace cadre::detail {

completed_list::~completed_list() {
    while (first_) static_cast<void>(pop());
}

void completed_list::push(entry& of) noexcept {
    of.result->add_ref();
    deferred_wake wake;
    const std::lock_guard lock(mutex_);
    (last_ ? last_->next : first_) = &of;
    last_ = &of;
    not_empty_.notify_one(wake);
}

intrusive_ptr<future_core> completed_list::poll() noexcept {
    const std::lock_guard lock(mutex_);
    return first_ ? pop() : nullptr;
}

intrusive_ptr<future_core> completed_list::poll_until(steady_time deadline) {
    thread_control::current().throw_if_interrupted();
    std::unique_lock lock(mutex_);
    const bool found = not_empty_.wait_until(lock, deadline, [this] { return first_ != nullptr; });
    return found ? pop() : nullptr;
}

intrusive_ptr<future_core> completed_list::pop() noexcept {
    entry& head = *first_;
    first_ = std::exchange(head.next, nullptr);
    if (!first_) last_ = nullptr;
    return intrusive_ptr<future_core>::adopt(head.result);
}

}  // namespace cadre::detail
