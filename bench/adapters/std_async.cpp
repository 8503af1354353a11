// SPDX-License-Identifier: Apache-2.0
//
// std::async, which makes a thread for each task: for the workloads whose tasks have results.

#include <future>

#include "peer.hpp"

namespace {

struct async_launcher {
    static constexpr long most_submits = 2'000;

    explicit async_launcher(int) {}
    template <class F>
    std::future<int> submit(F f) {
        return std::async(std::launch::async, std::move(f));
    }
};

}  // namespace

bench::peer bench::this_peer() {
    return bench::peer("std::async, a thread for each task").pool<async_launcher>();
}
