// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

namespace cadre::testing {

/// For timed waits of a test that is watched: longer than whoever watches has patience. A wait
/// whose time is over looks once more, and would find what it should have been told of long before.
inline constexpr std::chrono::hours beyond_patience(1);

/// Waits until `fact` is true, where somebody watches: for as long as that one has patience.
template <class Fact>
void await_fact(Fact fact) {
    while (!fact()) std::this_thread::sleep_for(std::chrono::microseconds(100));
}

/// The test has moved on: whoever watches it counts its patience from now.
void note_progress() noexcept;
/// How often it has.
std::uint64_t progress_noted() noexcept;

/// While it lives, what it tells is printed if the test hangs or fails. Lives no longer than what
/// it tells of: declare it after that.
class [[nodiscard]] watched_scope {
public:
    explicit watched_scope(std::function<std::string()> tells);
    template <class Pool>
        requires requires(const Pool& pool) { pool.to_string(); }
    explicit watched_scope(const Pool& pool)
        : watched_scope(std::function<std::string()>([&pool] { return pool.to_string(); })) {}
    ~watched_scope();
    watched_scope(const watched_scope&) = delete;
    watched_scope& operator=(const watched_scope&) = delete;

private:
    friend std::string all_watched();
    const std::function<std::string()> tells_;
};

/// What all of them tell now, a line each.
std::string all_watched();

}  // namespace cadre::testing
