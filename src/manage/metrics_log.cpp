// SPDX-License-Identifier: Apache-2.0
#include <cadre/manage/metrics_log.hpp>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#include <cadre/manage/duration_text.hpp>
#include <cadre/manage/metrics_text.hpp>

#include "line_log.hpp"

namespace cadre::manage {

struct metrics_log::parts {
    parts(const pool_registry& pools, const metrics_log_options& options)
        : registry(pools), log("path", options.path) {}

    void write() {
        const auto lines = metrics_json_lines(registry);
        const std::lock_guard lock(mutex);
        error = log.append(lines);
    }

    const pool_registry& registry;

    mutable std::mutex mutex;  // guards all below
    detail::line_log log;
    std::string error;

    std::condition_variable_any woken;
    std::jthread thread;  // last: it uses all the others
};

namespace {

metrics_log_options checked_log(metrics_log_options options) {
    if (options.path.empty()) throw std::invalid_argument("path is empty");
    if (options.interval.count() <= 0)
        throw std::invalid_argument("interval (" + to_text(options.interval) +
                                    ") must be positive");
    // Past the end of the clock is never, and must not become the past.
    options.interval = std::min<std::chrono::nanoseconds>(options.interval, std::chrono::years(1));
    return options;
}

}  // namespace

metrics_log::metrics_log(const pool_registry& registry, metrics_log_options options)
    : parts_(std::make_unique<parts>(registry, options = checked_log(options))) {
    parts_->thread =
        std::jthread([of = parts_.get(), every = options.interval](const std::stop_token& stop) {
            std::mutex nothing;  // only time and the stop are waited for
            std::unique_lock lock(nothing);
            while (!of->woken.wait_for(lock, stop, every, [&] { return stop.stop_requested(); }) &&
                   !stop.stop_requested()) {
                try {
                    of->write();
                } catch (const std::bad_alloc&) {
                    // The next look may have more memory.
                }
            }
        });
}

metrics_log::~metrics_log() {
    parts_->thread.request_stop();
    parts_->thread.join();
    try {
        parts_->write();
    } catch (const std::bad_alloc&) {}
}

void metrics_log::write() { parts_->write(); }

std::string metrics_log::last_error() const {
    const std::lock_guard lock(parts_->mutex);
    return parts_->error;
}

}  // namespace cadre::manage
