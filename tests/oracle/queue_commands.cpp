// SPDX-License-Identifier: Apache-2.0
//
// A queue alone. Its elements are words; those of a delay queue are names with the time when
// they are due. Both are behind tested_queue, which speaks text only.

#include "queue_commands.hpp"

#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include <cadre/queue/array_blocking_queue.hpp>
#include <cadre/queue/delay_queue.hpp>
#include <cadre/queue/linked_blocking_queue.hpp>
#include <cadre/queue/priority_blocking_queue.hpp>
#include <cadre/queue/synchronous_queue.hpp>

#include "trace.hpp"

namespace oracle {

namespace {

using milliseconds = std::chrono::milliseconds;

struct item {
    std::string name;
    std::chrono::steady_clock::time_point due;

    auto time_point() const { return due; }
    friend bool operator==(const item& a, const item& b) { return a.name == b.name; }
};

const std::string& name_of(const std::string& word) { return word; }
const std::string& name_of(const item& i) { return i.name; }

template <class T>
T element(const std::string& word);
template <>
std::string element(const std::string& word) {
    return word;
}
template <>
item element(const std::string& word) {
    const auto parts = split(word, ':');
    const auto delay = parts.size() > 1 ? to_long(&parts[1]) : 0;
    return {part(parts, 0), std::chrono::steady_clock::now() + milliseconds(delay)};
}

class tested_queue {
public:
    virtual ~tested_queue() = default;
    virtual void add(const std::string& word) = 0;
    virtual bool offer(const std::string& word) = 0;
    virtual bool offer_for(const std::string& word, milliseconds timeout) = 0;
    /// Puts the word, whose time counts from now, when the result is called.
    virtual std::function<void()> putter(const std::string& word) = 0;
    virtual std::string take() = 0;
    virtual std::optional<std::string> poll() = 0;
    virtual std::optional<std::string> poll_for(milliseconds timeout) = 0;
    virtual std::optional<std::string> peek() = 0;
    virtual std::string remove_head() = 0;
    virtual bool contains(const std::string& word) = 0;
    virtual bool erase(const std::string& word) = 0;
    virtual void clear() = 0;
    virtual std::vector<std::string> drain(std::optional<int> most) = 0;
    virtual std::size_t size() const = 0;
    virtual std::string remaining() const = 0;
};

template <class T>
class queue_of final : public tested_queue {
public:
    /// `counted`: an unbounded queue that counts its room all the same, as the reference's
    /// linked queue does.
    explicit queue_of(std::unique_ptr<cadre::blocking_queue<T>> q, bool counted = false)
        : queue_(std::move(q)), counted_(counted) {}

    void add(const std::string& word) override { queue_->add(element<T>(word)); }
    bool offer(const std::string& word) override { return queue_->offer(element<T>(word)); }
    bool offer_for(const std::string& word, milliseconds timeout) override {
        return queue_->offer_for(element<T>(word), timeout);
    }
    std::function<void()> putter(const std::string& word) override {
        return [this, x = element<T>(word)] { queue_->put(x); };
    }
    std::string take() override { return name_of(queue_->take()); }
    std::optional<std::string> poll() override { return as_name(queue_->poll()); }
    std::optional<std::string> poll_for(milliseconds timeout) override {
        return as_name(queue_->poll_for(timeout));
    }
    std::optional<std::string> peek() override { return as_name(queue_->peek()); }
    std::string remove_head() override { return name_of(queue_->remove()); }
    bool contains(const std::string& word) override { return queue_->contains(element<T>(word)); }
    /// The first one shown, as the reference does: in a heap that need not be the first to leave.
    bool erase(const std::string& word) override {
        const T wanted = element<T>(word);
        const T* first = nullptr;
        queue_->for_each([&](const T& x) {
            if (!first && x == wanted) first = &x;
        });
        return first && queue_->remove_if([&](const T& x) { return &x == first; }) > 0;
    }
    void clear() override { queue_->clear(); }
    std::vector<std::string> drain(std::optional<int> most) override {
        std::vector<T> out;
        most ? queue_->drain_to(out, *most) : queue_->drain_to(out);
        std::vector<std::string> names;
        for (const auto& x : out) names.push_back(name_of(x));
        return names;
    }
    std::size_t size() const override { return queue_->size(); }
    std::string remaining() const override {
        auto room = queue_->remaining_capacity();
        const std::size_t most = std::numeric_limits<int>::max();
        if (counted_ && room == queue_->npos) room = most - queue_->size();
        return room >= most ? "unbounded" : std::to_string(room);
    }

private:
    static std::optional<std::string> as_name(const std::optional<T>& x) {
        if (!x) return std::nullopt;
        return name_of(*x);
    }

    const std::unique_ptr<cadre::blocking_queue<T>> queue_;
    const bool counted_;
};

template <class Queue, class... Args>
std::shared_ptr<tested_queue> make_queue_of(Args... args) {
    return std::make_shared<queue_of<typename Queue::value_type>>(std::make_unique<Queue>(args...));
}

std::shared_ptr<tested_queue> make_queue(const std::string& spec) {
    using word = std::string;
    const auto q = split(spec, ':');
    const bool sized = q.size() > 1;
    const auto& kind = part(q, 0);
    if (kind == "array")
        return make_queue_of<cadre::array_blocking_queue<word>>(to_int(&part(q, 1)), q.size() > 2);
    if (kind == "linked")
        return std::make_shared<queue_of<word>>(
            std::make_unique<cadre::linked_blocking_queue<word>>(sized ? to_int(&q[1])
                                                                       : cadre::unbounded),
            true);
    if (kind == "sync") return make_queue_of<cadre::synchronous_queue<word>>(sized);
    if (kind == "priority") return make_queue_of<cadre::priority_blocking_queue<word>>();
    if (kind == "delay") return make_queue_of<cadre::delay_queue<item>>();
    throw std::invalid_argument("unknown queue " + spec);
}

/// The queue that commands are about; those before are kept, for threads may wait in them.
std::shared_ptr<tested_queue> current;
auto& kept_queues = *new std::vector<std::shared_ptr<tested_queue>>();

tested_queue& queue() {
    if (!current) throw std::invalid_argument("there is no queue");
    return *current;
}

std::string shown(const std::optional<std::string>& x) { return "= " + x.value_or("none"); }
std::string shown(bool result) { return std::string("= ") + text(result); }

std::string replace_queue(const words& w) {
    current = make_queue(w.value_or(1, "linked"));
    kept_queues.push_back(current);
    return "";
}

std::string put(const words& w) {
    std::function<void()> put_it;
    if (current) put_it = current->putter(w.at(1));
    background("put " + w.at(1), [put_it] {
        if (!put_it) throw std::invalid_argument("there is no queue");
        put_it();
        return "ok";
    });
    return "";
}

std::string take(const words&) {
    background("take", [q = current] {
        if (!q) throw std::invalid_argument("there is no queue");
        return q->take();
    });
    return "";
}

std::string drain(const words& w) {
    const auto* most = w.find(1);
    const auto out = queue().drain(most ? std::optional(to_int(most)) : std::nullopt);
    return "= " + std::to_string(out.size()) + " " + bracketed(out);
}

}  // namespace

std::string queue_snapshot() {
    return current ? "size=" + std::to_string(current->size()) : std::string();
}

void add_queue_commands(command_table& commands) {
    commands.add("bq", replace_queue);
    commands.add("add", [](const words& w) {
        queue().add(w.at(1));
        return shown(true);
    });
    commands.add("offer", [](const words& w) { return shown(queue().offer(w.at(1))); });
    commands.add("offer_for", [](const words& w) {
        return shown(queue().offer_for(w.at(1), milliseconds(to_long(w.find(2)))));
    });
    commands.add("poll", [](const words&) { return shown(queue().poll()); });
    commands.add("poll_for", [](const words& w) {
        return shown(queue().poll_for(milliseconds(to_long(w.find(1)))));
    });
    commands.add("peek", [](const words&) { return shown(queue().peek()); });
    commands.add("remaining", [](const words&) { return "= " + queue().remaining(); });
    commands.add("contains", [](const words& w) { return shown(queue().contains(w.at(1))); });
    commands.add("erase", [](const words& w) { return shown(queue().erase(w.at(1))); });
    commands.add("remove_head", [](const words&) { return "= " + queue().remove_head(); });
    commands.add("clear", [](const words&) {
        queue().clear();
        return "";
    });
    commands.add("drain", drain);
    commands.add("put", put);
    commands.add("take", take);
    commands.add("interrupt_waiters", [](const words&) {
        interrupt_waiters();
        return "";
    });
}

}  // namespace oracle
