// SPDX-License-Identifier: Apache-2.0
// header: asio.hpp
//
// Asio's thread_pool, and its steady_timer on an io_context.

#include <atomic>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include <asio.hpp>

#include "peer.hpp"

namespace {

class asio_pool {
public:
    explicit asio_pool(int workers) : pool_(static_cast<std::size_t>(workers)) {}
    ~asio_pool() { pool_.join(); }
    template <class F>
    void execute(F f) {
        asio::post(pool_, std::move(f));
    }
    template <class F>
    std::future<int> submit(F f) {
        return asio::post(pool_, std::packaged_task<int()>(std::move(f)));
    }

private:
    asio::thread_pool pool_;
};

class asio_timers {
public:
    struct periodic {
        virtual ~periodic() = default;
    };
    struct handle {
        asio::steady_timer timer;
        std::unique_ptr<periodic> repeated = nullptr;
    };

    explicit asio_timers(int workers) : context_(workers) {
        for (int i = 0; i < workers; ++i) workers_.emplace_back([this] { context_.run(); });
    }
    ~asio_timers() { stop(); }
    template <class F>
    handle after(std::chrono::nanoseconds delay, F f) {
        ++made_;
        handle made{asio::steady_timer(context_, delay)};
        made.timer.async_wait([this, f = std::move(f)](asio::error_code cancelled) mutable {
            if (!cancelled) f();
            over_.fetch_add(1, std::memory_order_release);
        });
        return made;
    }
    template <class F>
    handle every(std::chrono::nanoseconds period, F f) {
        struct repeating final : periodic {
            repeating(asio::io_context& context, std::chrono::nanoseconds p, F run)
                : timer(context, p), every(p), function(std::move(run)) {}
            void wait() {
                timer.async_wait([this](asio::error_code cancelled) {
                    if (cancelled) return;
                    function();
                    timer.expires_at(timer.expiry() + every);
                    wait();
                });
            }
            asio::steady_timer timer;
            std::chrono::nanoseconds every;
            F function;
        };
        auto made = std::make_unique<repeating>(context_, period, std::move(f));
        made->wait();
        return {asio::steady_timer(context_), std::move(made)};
    }
    void cancel(handle& one) { one.timer.cancel(); }
    void settle() {
        bench::await([&] { return over_.load(std::memory_order_acquire) == made_; });
    }
    void stop() {
        context_.stop();
        for (auto& worker : workers_) worker.join();
        workers_.clear();
    }

private:
    asio::io_context context_;
    asio::executor_work_guard<asio::io_context::executor_type> work_ = make_work_guard(context_);
    std::vector<std::thread> workers_;
    long made_ = 0;
    std::atomic<long> over_ = 0;  // handlers that were called
};

}  // namespace

bench::peer bench::this_peer() {
    return bench::peer("Asio " + std::to_string(ASIO_VERSION / 100000) + "." +
                       std::to_string(ASIO_VERSION / 100 % 1000) + "." +
                       std::to_string(ASIO_VERSION % 100))
        .pool<asio_pool>()
        .timers<asio_timers>();
}
