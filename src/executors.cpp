// SPDX-License-Identifier: Apache-2.0

#include <cadre/executors.hpp>

#include <limits>
#include <stdexcept>
#include <string>

namespace cadre::executors {

namespace {

/// Passes everything on that a service can do, and hides what it is.
template <class Service>
class unconfigurable_service : public Service {
public:
    explicit unconfigurable_service(std::unique_ptr<Service> service)
        : service_(std::move(service)) {
        if (!service_) throw std::invalid_argument("service is null");
    }

    void execute(task t) override { service_->execute(std::move(t)); }
    std::shared_ptr<const void> kept() const override { return service_->kept(); }
    void shutdown() override { service_->shutdown(); }
    std::vector<task> shutdown_now() override { return service_->shutdown_now(); }
    bool is_shutdown() const override { return service_->is_shutdown(); }
    bool is_terminated() const override { return service_->is_terminated(); }
    using executor_service::await_termination;
    bool await_termination(std::chrono::nanoseconds timeout) override {
        return service_->await_termination(timeout);
    }
    void close() override { service_->close(); }

protected:
    Service& service() const { return *service_; }

private:
    const std::unique_ptr<Service> service_;
};

class unconfigurable_scheduled_service final
    : public unconfigurable_service<scheduled_executor_service> {
public:
    using unconfigurable_service::unconfigurable_service;

    void start_timer(detail::intrusive_ptr<detail::timer_core> timer,
                     detail::timetable when) override {
        service().start_timer(std::move(timer), std::move(when));
    }
    std::chrono::steady_clock::time_point now() const override { return service().now(); }
    std::chrono::system_clock::time_point wall_now() const override { return service().wall_now(); }
};

}  // namespace

std::unique_ptr<thread_pool_executor> fixed_thread_pool(int threads, thread_factory factory) {
    if (threads <= 0)
        throw std::invalid_argument("threads (" + std::to_string(threads) + ") is not positive");
    return std::make_unique<thread_pool_executor>(thread_pool_options{
        .core_pool_size = threads, .keep_alive = {}, .thread_factory = std::move(factory)});
}

std::unique_ptr<executor_service> single_thread_executor(thread_factory factory) {
    return unconfigurable(fixed_thread_pool(1, std::move(factory)));
}

std::unique_ptr<thread_pool_executor> cached_thread_pool(thread_factory factory) {
    return std::make_unique<thread_pool_executor>(
        thread_pool_options{.core_pool_size = 0,
                            .maximum_pool_size = std::numeric_limits<int>::max(),
                            .keep_alive = std::chrono::seconds(60),
                            .queue = std::make_unique<synchronous_queue<task>>(),
                            .thread_factory = std::move(factory)});
}

std::unique_ptr<cadre::work_stealing_pool> work_stealing_pool(int threads, thread_factory factory) {
    if (threads <= 0)
        throw std::invalid_argument("threads (" + std::to_string(threads) + ") is not positive");
    return std::make_unique<cadre::work_stealing_pool>(
        work_stealing_options{.parallelism = threads, .thread_factory = std::move(factory)});
}

std::unique_ptr<scheduled_thread_pool_executor> scheduled_thread_pool(int threads,
                                                                      thread_factory factory) {
    return std::make_unique<scheduled_thread_pool_executor>(threads, std::move(factory));
}

std::unique_ptr<scheduled_executor_service> single_thread_scheduled_executor(
    thread_factory factory) {
    return unconfigurable(scheduled_thread_pool(1, std::move(factory)));
}

std::unique_ptr<executor_service> unconfigurable(std::unique_ptr<executor_service> service) {
    return std::make_unique<unconfigurable_service<executor_service>>(std::move(service));
}

std::unique_ptr<scheduled_executor_service> unconfigurable(
    std::unique_ptr<scheduled_executor_service> service) {
    return std::make_unique<unconfigurable_scheduled_service>(std::move(service));
}

}  // namespace cadre::executors
