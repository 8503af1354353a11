// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include <cadre/thread.hpp>

namespace cadre::manage::detail {

/// Has another factory make the threads and gives them names PREFIX-M. Wrapped round the pool's
/// own factory, so that a new prefix does not wipe out what that does.
class naming_factory {
public:
    naming_factory(std::string prefix, thread_factory inner)
        : prefix_(std::move(prefix)), inner_(std::move(inner)) {}
    thread operator()(std::function<void()> body) const;
    const std::string& prefix() const { return prefix_; }
    const thread_factory& inner() const { return inner_; }

private:
    std::string prefix_;
    thread_factory inner_;
    std::shared_ptr<std::atomic<int>> made_ = std::make_shared<std::atomic<int>>(0);
};

/// The factory, with another prefix or none; one that has a prefix already loses that.
thread_factory with_prefix(const thread_factory& factory, const std::optional<std::string>& prefix);

}  // namespace cadre::manage::detail
