// SPDX-License-Identifier: Apache-2.0
//
// A traced task is wrapped when it is submitted; the wrapper notes the times and gives a record to
// the recorder when the run is over, or when it is dropped without one. Records are in a ring.

#include <cadre/tracing.hpp>

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <ostream>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "utf8.hpp"
#include <cadre/thread.hpp>

namespace cadre {

namespace {

using time = std::chrono::steady_clock::time_point;
time now() { return std::chrono::steady_clock::now(); }

/// A thread as the trace shows it.
struct thread_label {
    int number;
    std::string name;
};
std::shared_ptr<const thread_label> this_label() {
    static std::atomic<int> last = 0;
    thread_local const auto label =
        std::make_shared<const thread_label>(thread_label{++last, thread_handle::current().name()});
    return label;
}

/// What is known of a task when it is submitted; from it are made records.
struct life {
    std::shared_ptr<const std::string> category;
    std::string name;
    time submitted;
    std::shared_ptr<const thread_label> submitted_on;
    time started = {};
    time ended = {};
    std::shared_ptr<const thread_label> ran_on = nullptr;  // null: it was dropped
};

/// As JSON, in quotes. What is not UTF-8, as a name that was cut within a character, becomes
/// U+FFFD: else no viewer would read the file.
std::string quoted(std::string_view text) {
    std::string out = "\"";
    while (!text.empty()) {
        const auto size = detail::character_size(text);
        const char c = text.front();
        if (size == 0) {
            out += "\xEF\xBF\xBD";
        } else if (c == '"' || c == '\\') {
            out += {'\\', c};
        } else if (static_cast<unsigned char>(c) < 0x20) {
            char code[8];
            std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
            out += code;
        } else {
            out += text.substr(0, size);
        }
        text.remove_prefix(size == 0 ? 1 : size);
    }
    return out += '"';
}

std::string microseconds(std::chrono::nanoseconds d) {
    char text[32];
    std::snprintf(text, sizeof text, "%lld.%03lld", static_cast<long long>(d.count() / 1000),
                  static_cast<long long>(d.count() % 1000));
    return text;
}

}  // namespace

class task_tracer::recorder {
public:
    explicit recorder(std::size_t capacity) : capacity_(capacity) {
        if (capacity == 0) throw std::invalid_argument("capacity (0) is not positive");
    }

    void add(const life& over) {
        const std::lock_guard lock(mutex_);
        if (ring_.size() < capacity_)
            ring_.push_back(over);
        else
            ring_[total_ % capacity_] = over;
        ++total_;
    }
    /// Oldest first.
    std::vector<life> all() const {
        const std::lock_guard lock(mutex_);
        const auto oldest =
            static_cast<std::ptrdiff_t>(ring_.size() < capacity_ ? 0 : total_ % capacity_);
        std::vector<life> copies(ring_.begin() + oldest, ring_.end());
        copies.insert(copies.end(), ring_.begin(), ring_.begin() + oldest);
        return copies;
    }
    std::size_t size() const {
        const std::lock_guard lock(mutex_);
        return ring_.size();
    }
    std::uint64_t dropped() const {
        const std::lock_guard lock(mutex_);
        return total_ - ring_.size();
    }
    void clear() {
        const std::lock_guard lock(mutex_);
        ring_.clear();
        total_ = 0;
    }
    time origin() const { return origin_; }

    class traced_task;

private:
    const std::size_t capacity_;
    const time origin_ = now();
    mutable std::mutex mutex_;  // guards all below
    std::vector<life> ring_;
    std::uint64_t total_ = 0;  // added since the last clear(); the next goes to its remainder
};

class task_tracer::recorder::traced_task {
public:
    traced_task(task inner, std::shared_ptr<recorder> to, life known)
        : inner_(std::move(inner)), recorder_(std::move(to)), life_(std::move(known)) {}
    traced_task(traced_task&&) noexcept = default;
    traced_task& operator=(traced_task&&) = delete;
    ~traced_task() {
        if (!recorder_ || has_run_) return;
        life_.ended = now();
        record();
    }
    void operator()() {
        has_run_ = true;
        life_.ran_on = this_label();
        life_.started = now();
        struct at_the_end {
            traced_task& self;
            ~at_the_end() {
                self.life_.ended = now();
                self.record();
                self.life_.submitted = self.life_.ended;  // of the next run, if it is periodic
                self.life_.submitted_on = self.life_.ran_on;
            }
        } const recorded{*this};
        inner_();
    }
    std::string_view task_name() const noexcept { return inner_.name(); }
    int task_priority() const noexcept { return inner_.priority(); }

private:
    void record() noexcept {
        try {
            recorder_->add(life_);
        } catch (...) {
            // No memory for one more: the task goes on all the same.
        }
    }
    task inner_;
    std::shared_ptr<recorder> recorder_;
    life life_;
    bool has_run_ = false;
};

task_tracer::task_tracer(std::size_t capacity) : recorder_(std::make_shared<recorder>(capacity)) {}

std::function<task(task)> task_tracer::decorator(std::string category) const {
    constexpr std::size_t longest_name = 80;
    return [to = recorder_, of = std::make_shared<const std::string>(std::move(category))](task t) {
        life known{.category = of,
                   .name = std::string(t.name().substr(0, longest_name)),
                   .submitted = now(),
                   .submitted_on = this_label()};
        return task(recorder::traced_task(std::move(t), to, std::move(known)));
    };
}

void task_tracer::write_json(std::ostream& out) const {
    const auto lives = recorder_->all();
    const std::string process = std::to_string(getpid());
    const auto at = [&](time t) { return microseconds(t - recorder_->origin()); };
    std::map<int, std::string> threads;
    const char* separator = "\n";
    // The opening of an event, up to its own fields.
    const auto event = [&](const char* phase, const thread_label& thread, time t,
                           const std::string& name) -> std::ostream& {
        threads.emplace(thread.number, thread.name);
        return out << std::exchange(separator, ",\n") << "{\"ph\":\"" << phase
                   << "\",\"pid\":" << process << ",\"tid\":" << std::to_string(thread.number)
                   << ",\"ts\":" << at(t) << ",\"name\":" << name;
    };
    // Numbers as text: the stream may be one that groups digits.
    out << "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"dropped\":"
        << std::to_string(recorder_->dropped()) << "},\"traceEvents\":[";
    std::size_t id = 0;
    for (const life& each : lives) {
        const auto name = quoted(each.name.empty() ? "task" : each.name);
        const auto category = ",\"cat\":" + quoted(*each.category);
        if (!each.ran_on) {
            event("i", *each.submitted_on, each.ended, name)
                << category << ",\"s\":\"t\",\"args\":"
                << "{\"dropped_after_us\":" << microseconds(each.ended - each.submitted) << "}}";
            continue;
        }
        // An arrow goes from one slice to another, and a viewer binds its ends to what is open when
        // it comes to them: so a submission is a slice of its own, and the run comes before the end
        // of the arrow that has the same time.
        const auto link = category + ",\"id\":" + std::to_string(++id);
        const auto submission = quoted("submit " + (each.name.empty() ? "task" : each.name));
        event("B", *each.submitted_on, each.submitted, submission) << category << '}';
        event("s", *each.submitted_on, each.submitted, name) << link << '}';
        event("E", *each.submitted_on, each.submitted, submission) << category << '}';
        event("X", *each.ran_on, each.started, name)
            << category << ",\"dur\":" << microseconds(each.ended - each.started)
            << ",\"args\":{\"waited_us\":" << microseconds(each.started - each.submitted) << "}}";
        event("f", *each.ran_on, each.started, name) << link << ",\"bp\":\"e\"}";
    }
    for (const auto& [number, name] : threads)
        out << std::exchange(separator, ",\n") << "{\"ph\":\"M\",\"pid\":" << process
            << ",\"tid\":" << std::to_string(number)
            << ",\"name\":\"thread_name\",\"args\":{\"name\":" << quoted(name) << "}}";
    out << "\n]}\n";
}

std::size_t task_tracer::size() const { return recorder_->size(); }
std::uint64_t task_tracer::dropped() const { return recorder_->dropped(); }
void task_tracer::clear() { recorder_->clear(); }

}  // namespace cadre
