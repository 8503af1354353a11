// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <cadre/future.hpp>

namespace oracle {

/// What the body of a task throws. A future shows its message; where it leaves without a future,
/// the trace shows what kind of error it is.
class task_error : public std::runtime_error {
public:
    task_error(const std::string& message, std::string unwrapped)
        : std::runtime_error(message), unwrapped_(std::move(unwrapped)) {}
    const std::string& unwrapped() const { return unwrapped_; }

private:
    std::string unwrapped_;
};

/// The body of a task, by its kind: gate, stubborn, quick, throw, sleep:MS, throw_after:N,
/// interrupt_self. Tells what it does; its value is "value NAME". Copies count their runs together.
class body {
public:
    body(std::string name, std::string kind) : name_(std::move(name)), kind_(std::move(kind)) {}
    std::string operator()();

    /// The kind of a task that was given no name, nor a kind: there is no such gate.
    static constexpr const char* nameless = " ";  // no word can be that

private:
    void run(int run) const;
    std::string value() const { return "value " + name_; }

    std::string name_;
    std::string kind_;
    std::shared_ptr<std::atomic<int>> runs_ = std::make_shared<std::atomic<int>>(0);
};

/// Lets the gate and stubborn tasks of this name go on, those to come too.
void release(const std::string& name);

/// A future of any type, by the name of its task.
class held_future {
public:
    virtual ~held_future() = default;
    virtual bool cancel(bool may_interrupt) = 0;
    virtual bool is_done() const = 0;
    virtual bool is_cancelled() const = 0;
    /// The value as text. These throw what the future's get does.
    virtual std::string get() const = 0;
    virtual std::string get_for(std::chrono::milliseconds timeout) const = 0;
};

template <class T>
class held_shared_future final : public held_future {
public:
    explicit held_shared_future(cadre::shared_future<T> f) : future_(std::move(f)) {}

    bool cancel(bool may_interrupt) override { return future_.cancel(may_interrupt); }
    bool is_done() const override { return future_.is_done(); }
    bool is_cancelled() const override { return future_.is_cancelled(); }
    std::string get() const override {
        auto mine = future_;  // each thread has its own handle
        return as_text([&]() -> decltype(auto) { return mine.get(); });
    }
    std::string get_for(std::chrono::milliseconds timeout) const override {
        return as_text([&]() -> decltype(auto) { return future_.get_for(timeout); });
    }
    const cadre::shared_future<T>& shared() const { return future_; }

private:
    template <class Get>
    static std::string as_text(Get get) {
        if constexpr (std::is_void_v<T>) {
            get();
            return "null";
        } else {
            return get();
        }
    }

    cadre::shared_future<T> future_;
};

template <class T>
std::shared_ptr<held_future> hold(cadre::future<T> f) {
    return std::make_shared<held_shared_future<T>>(std::move(f).share());
}

/// A future with the number of its task; see pool_under_test.
struct numbered_future {
    std::shared_ptr<held_future> future;
    int number = 0;
};

/// The futures that commands name; the last one of a name counts.
std::map<std::string, numbered_future>& futures();
/// Throws std::invalid_argument if there is none.
held_future& future_of(const std::string& name);

/// What `get` shows: the value, waited for 200 ms, or the error.
std::string outcome(const held_future& f);
/// How the trace shows an error that comes out of a future.
std::string fail_of_future(const std::exception_ptr& error);

/// cancel, get, is_done, is_cancelled, get_blocking and release.
class command_table;
void add_future_commands(command_table& commands);
/// task, run and run_and_reset.
void add_future_task_commands(command_table& commands);

}  // namespace oracle
