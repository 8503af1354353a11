// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include <cadre/manage/pool_registry.hpp>

namespace demo {

/// A shop under a load that swells and ebbs once a minute. Three pools:
///
///   requests  what customers send; too small for the rush hour
///   reports   long tasks that some requests order
///   jobs      a scheduled pool that tidies up
class service {
public:
    explicit service(cadre::manage::pool_registry& registry);
    /// Ends what repeats, runs what was accepted.
    ~service();
    service(const service&) = delete;
    service& operator=(const service&) = delete;

    /// Sends requests until it is told to stop.
    void send_requests(const std::stop_token& stop);

private:
    void handle(std::uint64_t number);
    void order_report(std::uint64_t number);

    std::shared_ptr<cadre::thread_pool_executor> requests_;
    std::shared_ptr<cadre::thread_pool_executor> reports_;
    std::shared_ptr<cadre::scheduled_thread_pool_executor> jobs_;
};

}  // namespace demo
