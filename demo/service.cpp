// SPDX-License-Identifier: Apache-2.0
#include "service.hpp"

#include <array>
#include <chrono>
#include <cmath>
#include <numbers>
#include <thread>

#include <cadre/errors.hpp>
#include <cadre/thread.hpp>

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

namespace demo {
namespace {

/// Requests a second: between 20 and 480, a rush each minute.
double load_at(double seconds) {
    return 250.0 - 230.0 * std::cos(2 * std::numbers::pi * seconds / 60.0);
}

}  // namespace

service::service(cadre::manage::pool_registry& registry)
    : requests_(registry
                    .create({.name = "requests",
                             .settings = {.core_pool_size = 2,
                                          .maximum_pool_size = 4,
                                          .queue_capacity = 200}})
                    ->executor()),
      reports_(
          registry
              .create(
                  {.name = "reports",
                   .settings = {.core_pool_size = 1, .maximum_pool_size = 3, .queue_capacity = 20}})
              ->executor()),
      jobs_(registry
                .create({.name = "jobs",
                         .kind = cadre::manage::pool_kind::scheduled,
                         .settings = {.core_pool_size = 2}})
                ->scheduled_executor()) {
    const auto every = [this](const char* name, auto period, auto takes) {
        (void)jobs_->schedule_at_fixed_rate(
            cadre::named(name, [takes] { cadre::this_thread::sleep_for(takes); }), 100ms, period);
    };
    every("expire sessions", 500ms, 30ms);
    every("refresh prices", 2s, 400ms);
    every("rotate logs", 5s, 1200ms);
}

service::~service() {
    jobs_->shutdown();
    requests_->shutdown();
    requests_->await_termination(10s);
    reports_->shutdown();
}

void service::handle(std::uint64_t number) {
    cadre::this_thread::sleep_for(6ms + number % 7 * 1ms);
    if (number % 40 == 0) order_report(number);
}

void service::order_report(std::uint64_t number) {
    const char* const name = number % 200 == 0 ? "yearly report" : "daily report";
    reports_->execute(cadre::named(
        name, [number] { cadre::this_thread::sleep_for(number % 200 == 0 ? 900ms : 250ms); }));
}

void service::send_requests(const std::stop_token& stop) {
    static constexpr std::array names = {"browse", "search", "browse", "add to cart", "checkout"};
    const auto begin = steady::now();
    auto last = begin;
    double due = 1;  // the first customer is there at once
    for (std::uint64_t number = 1; !stop.stop_requested(); std::this_thread::sleep_for(10ms)) {
        const auto now = steady::now();
        due += load_at(std::chrono::duration<double>(now - begin).count()) *
               std::chrono::duration<double>(now - last).count();
        last = now;
        for (; due >= 1; due -= 1, ++number) {
            try {
                requests_->execute(cadre::named(names.at(number % names.size()),
                                                [this, number] { handle(number); }));
            } catch (const cadre::rejected_execution&) {
                // The customer sees "please come again"; the pool counts it.
            }
        }
    }
}

}  // namespace demo
