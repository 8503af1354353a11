// SPDX-License-Identifier: Apache-2.0
// Many threads ask for a key: one computes, all get the value. If that is cancelled, they try anew.

#include <iostream>
#include <map>
#include <mutex>

#include <cadre/cadre.hpp>
using namespace std::chrono_literals;

class memoizer {
public:
    explicit memoizer(std::function<int(int)> f) : f_(std::move(f)) {}
    int operator()(int key) {
        const auto found = find_or_make(key);
        try {
            found->run();  // the first to come computes; for the others it does nothing
            return found->value.get();
        } catch (const cadre::cancellation&) {
            std::lock_guard lock(mutex_);
            std::erase_if(known_, [&](const auto& known) { return known.second == found; });
        }
        return operator()(key);
    }
    void cancel(int key) { find_or_make(key)->run.cancel(true); }

private:
    struct computation {
        cadre::future_task<int> run;
        cadre::shared_future<int> value = run.get_future().share();
    };
    std::shared_ptr<computation> find_or_make(int key) {
        std::lock_guard lock(mutex_);
        auto& known = known_[key];
        const auto compute = [this, key] { return f_(key); };
        if (!known) known.reset(new computation{cadre::future_task<int>(compute)});
        return known;
    }
    const std::function<int(int)> f_;
    std::mutex mutex_;  // guards known_; not held while a value is computed
    std::map<int, std::shared_ptr<computation>> known_;
};

int main() {
    std::atomic<int> computed = 0;
    memoizer square([&](int n) {
        const bool first = computed++ == 0;
        computed.notify_one();
        cadre::this_thread::sleep_for(first ? 1h : 20ms);  // the first one is hopeless
        return n * n;
    });
    auto pool = cadre::executors::fixed_thread_pool(8);
    std::vector<cadre::future<int>> answers;
    for (int i = 0; i < 8; ++i) answers.push_back(pool->submit([&] { return square(12); }));
    computed.wait(0);
    square.cancel(12);
    for (auto& answer : answers) std::cout << answer.get() << ' ';
    std::cout << "\n8 asked, " << computed << " computed: the first was cancelled\n";
}
