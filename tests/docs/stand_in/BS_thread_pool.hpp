// SPDX-License-Identifier: Apache-2.0
#pragma once

// Stands for BS::thread_pool where the pages show code that uses it: what is called there, with the
// signatures of its documentation (version 4). Tasks run where they are submitted.

#include <cstddef>
#include <functional>
#include <future>
#include <type_traits>
#include <vector>

namespace BS {

template <class T>
class multi_future : public std::vector<std::future<T>> {
public:
    void wait() const {
        for (const auto& each : *this) each.wait();
    }
    auto get() {
        if constexpr (std::is_void_v<T>) {
            for (auto& each : *this) each.get();
        } else {
            std::vector<T> all;
            for (auto& each : *this) all.push_back(each.get());
            return all;
        }
    }
};

class thread_pool {
public:
    explicit thread_pool(std::size_t) {}
    template <class F>
    auto submit_task(F f) {
        std::packaged_task<std::invoke_result_t<F&>()> task(std::move(f));
        auto result = task.get_future();
        task();
        return result;
    }
    template <class F>
    void detach_task(F f) {
        f();
    }
    template <class Index, class F>
    multi_future<std::invoke_result_t<F&, Index>> submit_sequence(Index first, Index end, F f) {
        multi_future<std::invoke_result_t<F&, Index>> all;
        for (; first < end; ++first) all.push_back(submit_task([&f, first] { return f(first); }));
        return all;
    }
    template <class Index, class F>
    multi_future<void> submit_loop(Index first, Index end, F f) {
        return submit_sequence(first, end, [&f](Index i) { f(i); });
    }
    void wait() {}
    void reset(std::size_t) {}
    void purge() {}
};

}  // namespace BS
