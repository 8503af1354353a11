// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include <cadre/thread.hpp>

namespace cadre::detail {

/// Behind default_thread_factory(). A type of its own, so that a pool that has a name can see
/// that its factory is this one and give the threads its name.
class default_factory {
public:
    default_factory();
    thread operator()(std::function<void()> body) const;
    thread make(const std::string& pool_name, std::function<void()> body) const;

private:
    int number_;
    std::shared_ptr<std::atomic<int>> made_ = std::make_shared<std::atomic<int>>(0);
};

/// Behind named_thread_factory().
class prefix_factory {
public:
    prefix_factory(std::string prefix, thread_attributes attributes)
        : prefix_(std::move(prefix)), attributes_(std::move(attributes)) {}
    thread operator()(std::function<void()> body) const;

private:
    std::string prefix_;
    thread_attributes attributes_;
    std::shared_ptr<std::atomic<int>> made_ = std::make_shared<std::atomic<int>>(0);
};

}  // namespace cadre::detail
