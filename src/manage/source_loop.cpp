// SPDX-License-Identifier: Apache-2.0
#include "manage/source_loop.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <cadre/errors.hpp>

#include "manage/digest.hpp"

namespace cadre::manage {

std::string_view to_text(source_state state) {
    switch (state) {
        case source_state::starting:
            return "starting";
        case source_state::healthy:
            return "healthy";
        case source_state::failing:
            return "failing";
        case source_state::stopped:
            break;
    }
    return "stopped";
}

namespace detail {
namespace {

struct no_document : std::runtime_error {
    no_document() : std::runtime_error("there is no document") {}
};

}  // namespace

source_loop::source_loop(std::string name, std::unique_ptr<document_fetcher> fetcher, bool required,
                         source_backoff backoff)
    : name_(std::move(name)),
      required_(required),
      backoff_(backoff),
      fetcher_(std::move(fetcher)),
      random_(std::random_device{}()) {
    if (backoff.first.count() <= 0 || backoff.longest < backoff.first)
        throw std::invalid_argument("backoff of " + name_ +
                                    ": first must be above zero, and longest not below it");
}

source_loop::~source_loop() { stop(); }

void source_loop::start(listener to) {
    const std::lock_guard joining(joining_);
    {
        const std::lock_guard lock(mutex_);
        if (started_) throw illegal_state("source " + name_ + " was started before");
        started_ = true;
        listener_ = std::move(to);
    }
    thread_ = std::thread([this] { run(); });
}

void source_loop::on_unusable(problem_listener told) {
    const std::lock_guard lock(mutex_);
    unusable_ = std::move(told);
}

void source_loop::stop() {
    stop_.raise();
    const std::lock_guard joining(joining_);
    if (thread_.joinable()) thread_.join();
    const std::lock_guard lock(mutex_);
    started_ = true;
    health_.state = source_state::stopped;
}

source_health source_loop::health() const {
    const std::lock_guard lock(mutex_);
    return health_;
}

void source_loop::run() noexcept {
    try {
        for (;;) {
            if (stop_.raised()) return;
            std::string error;
            std::vector<config_problem> problems;
            bool waits_itself = false;
            try {
                round();
                continue;
            } catch (const source_stopped&) {
                return;
            } catch (const no_document& e) {
                error = e.what();
                waits_itself = fetcher_->waits_for_the_absent();
            } catch (const configuration_error& e) {
                error = e.what();
                problems = e.problems();
            } catch (const std::exception& e) {
                error = e.what();
            } catch (...) {
                error = "something that is no std::exception was thrown";
            }
            failed(error, problems);
            tell_of_unusable(error, problems);
            stop_.sleep_for(pause(waits_itself ? 1 : health().failures));
        }
    } catch (...) {
        // Stopped in the pause; or no memory even for the message, and the state stays failing.
    }
}

void source_loop::round() {
    const auto document = fetcher_->fetch(stop_);
    if (document && !document->exists && required_) throw no_document();
    std::string hash;
    if (document) hash = document->exists ? to_hex(sha256(document->text)) : "absent";
    const bool is_new = document && hash != last_hash_;
    if (document) {  // who is told of it shall not be told of what was there before
        last_unusable_.clear();
        const std::lock_guard lock(mutex_);
        health_.problems.clear();
    }
    if (is_new) {
        try {
            listener_(*document);
        } catch (...) {
            fetcher_->forget();
            throw;
        }
        // What the source itself says is news after a cache, be it the same text.
        last_hash_ = document->is_stale ? "" : hash;
    }
    const std::lock_guard lock(mutex_);
    if (is_new) ++health_.documents;
    if (document && document->is_stale) throw std::runtime_error("no answer; a cached document");
    health_.state = source_state::healthy;
    health_.last_success = std::chrono::system_clock::now();
    health_.answered_at = std::chrono::steady_clock::now();
    health_.failures = 0;
    health_.problems.clear();
}

void source_loop::failed(const std::string& why, std::vector<config_problem> problems) {
    const std::lock_guard lock(mutex_);
    health_.state = source_state::failing;
    health_.last_error = why;
    ++health_.failures;
    health_.problems = std::move(problems);
}

void source_loop::tell_of_unusable(const std::string& why,
                                   const std::vector<config_problem>& problems) {
    if (problems.empty() || why == last_unusable_) return;
    last_unusable_ = why;
    problem_listener told;
    {
        const std::lock_guard lock(mutex_);
        told = unusable_;
    }
    try {
        if (told) told(problems);
    } catch (...) {
        // health() has it all the same.
    }
}

std::chrono::milliseconds source_loop::pause(int failures) {
    const int doublings = std::min(failures - 1, 20);
    const auto whole = std::min(backoff_.first * (std::int64_t{1} << doublings), backoff_.longest);
    std::uniform_int_distribution<std::int64_t> part(whole.count() / 2, whole.count());
    return std::chrono::milliseconds(part(random_));
}

void check_above_zero(std::chrono::milliseconds time, const char* option) {
    if (time.count() <= 0)
        throw std::invalid_argument(std::string(option) + " (" + std::to_string(time.count()) +
                                    "ms) must be above zero");
}

namespace {

class embedded_fetcher final : public document_fetcher {
public:
    explicit embedded_fetcher(config_document document) : document_(std::move(document)) {}
    std::optional<config_document> fetch(const stop_signal& stop) override {
        if (!std::exchange(given_, true)) return document_;
        // Without news, but so that it counts as a source that answers.
        stop.sleep_for(std::chrono::seconds(30));
        return {};
    }
    void forget() override { given_ = false; }

private:
    const config_document document_;
    bool given_ = false;
};

}  // namespace
}  // namespace detail

std::unique_ptr<config_source> embedded_source(std::string text, document_format format,
                                               std::string name) {
    config_document document{.text = std::move(text), .format = format};
    document.revision = detail::to_hex(detail::sha256(document.text)).substr(0, 12);
    return std::make_unique<detail::source_loop>(
        std::move(name), std::make_unique<detail::embedded_fetcher>(std::move(document)), true,
        source_backoff{});
}

}  // namespace cadre::manage
