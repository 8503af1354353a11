// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <cadre/detail/condition.hpp>
#include <cadre/detail/thread_control.hpp>

namespace cadre::detail {

/// While it lives, the calling thread sleeps in a wait, and its pool may know.
class [[nodiscard]] helper_scope {
public:
    using wait_mode = wait_helper::wait_mode;

    explicit helper_scope(thread_control& self)
        : self_(self), mode_(self.helper ? self.helper->wait_begins(waiter_) : wait_mode::sleep) {
        if (mode_ == wait_mode::on_call) nudgeable_.emplace(self);
    }
    ~helper_scope() {
        if (self_.helper) self_.helper->wait_ends(waiter_);
    }
    helper_scope(const helper_scope&) = delete;
    helper_scope& operator=(const helper_scope&) = delete;

    bool must_look_again() const noexcept { return mode_ == wait_mode::look_again; }
    /// Of an exception that ended the sleep: true if it is no interrupt.
    bool was_called() const noexcept {
        return mode_ == wait_mode::on_call && self_.was_only_nudged();
    }

private:
    thread_control& self_;
    waiter waiter_;
    const wait_mode mode_;
    std::optional<nudgeable_scope> nudgeable_;
};

}  // namespace cadre::detail
