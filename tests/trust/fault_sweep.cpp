// SPDX-License-Identifier: Apache-2.0
//
// Makes every allocation of every entry point fail, one after the other, through operator new and
// through malloc; and every thread that a pool asks for, in four ways. After each fault: each task
// ran once, or its submitter was told; the counts are right; the pool works on, and ends. A point
// is counted only if something failed there.
//
//     fault_sweep      prints one line an entry point, and the sums; fails if it swept fewer points
//                      than are promised

#include <cadre/cadre.hpp>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "support/allocations.hpp"
#include "support/watchdog.hpp"
#include "trust/fault_entry_points.hpp"
#include "trust/faults.hpp"

namespace {

/// How many calls of malloc still succeed on this thread; -1: all.
thread_local int succeeding_mallocs = -1;
thread_local bool malloc_failed = false;

}  // namespace

#if !CADRE_UNDER_SANITIZER
extern "C" void* __libc_malloc(std::size_t);
extern "C" void* malloc(std::size_t size) noexcept {  // as malloc.h has it
    if (succeeding_mallocs == 0) {
        malloc_failed = true;
        return nullptr;
    }
    if (succeeding_mallocs > 0) --succeeding_mallocs;
    return __libc_malloc(size);
}
#endif

namespace cadre::testing {
namespace {

using namespace std::chrono_literals;

class failing_malloc_scope {
public:
    explicit failing_malloc_scope(int succeeding) {
        malloc_failed = false;
        succeeding_mallocs = succeeding;
    }
    ~failing_malloc_scope() { succeeding_mallocs = -1; }
    failing_malloc_scope(const failing_malloc_scope&) = delete;
    failing_malloc_scope& operator=(const failing_malloc_scope&) = delete;
    static bool fired() { return malloc_failed; }
};

/// The books of a subject after its faults: every task accounted for, the pool alive, the end
/// reached.
void check(subject& s, const std::string& entry, int point) {
    // A shutdown_now() that failed has stopped the pool: the next one returns what waits.
    if (s.pool.state() == run_state::stop)
        for (auto& waiting : s.pool.shutdown_now()) waiting();
    if (s.stealing.state() == run_state::stop)
        for (auto& waiting : s.stealing.shutdown_now()) waiting();
    s.held = false;
    if (!s.pool.is_shutdown()) {
        expect(s.pool.submit([] { return 7; }).get() == 7, entry, point, "the pool works no more");
    }
    if (!s.timers.is_shutdown())
        expect(s.timers.submit([] { return 7; }).get() == 7, entry, point, "the scheduler neither");
    if (!s.stealing.is_shutdown())
        expect(s.stealing.submit([] { return 7; }).get() == 7, entry, point, "the thieves neither");
    s.stealing.close();
    s.timers.close();
    s.pool.close();
    expect(s.pool.pool_size() == 0, entry, point, "a worker is left");
    const auto snapshot = s.pool.snapshot();
    expect(snapshot.task_count == snapshot.completed_task_count, entry, point,
           "the counts are wrong");
    for (; s.next < s.tasks.size(); ++s.next)
        (void)s.tasks.task(s.next);  // dropped: not given away
    const auto books = s.tasks.close();
    expect(books.error.empty(), entry, point, books.error.c_str());
    expect(books.dropped == 0, entry, point, "an accepted task did not run");
}

/// Faults, from the first allocation of the call on, then from the second, until it makes no more;
/// whether it tells the caller or does without. Returns how many there were.
template <class Scope>
int sweep(const entry_point& entry) {
    (void)this_thread::is_interrupted();  // a destructor would wait for the memory of a control
    for (int point = 0;; ++point) {
        subject s;
        s.ready.wait();
        entry.prepare(s);
        try {
            const Scope scope(point);
            entry.call(s);
        } catch (const std::bad_alloc&) {
        } catch (const std::system_error&) {}  // of pthread_create, which has no memory either
        check(s, entry.name, point);
        if (!Scope::fired()) return point;
        if (point == 1000) fail(entry.name + ": no end of faults");
    }
}

/// The same with what needs no pool: where memory is left after a fault, it is lost.
template <class Scope>
int sweep(const plain_entry_point& entry) {
    entry.call();  // what is made once and kept
    for (int point = 0;; ++point) {
        const auto before = blocks_in_use();
        try {
            const Scope scope(point);
            entry.call();
        } catch (const std::bad_alloc&) {}
        expect(blocks_in_use() <= before, entry.name, point, "memory is lost");
        if (!Scope::fired()) return point;
        if (point == 1000) fail(entry.name + ": no end of faults");
    }
}

/// Through operator new, and through malloc.
template <class Entry>
int sweep_both(const Entry& entry) {
    const int by_new = sweep<failing_allocation_scope>(entry);
    int by_malloc = 0;  // on a thread of its own, which has no memory kept for the next use
    if (!CADRE_UNDER_SANITIZER)
        std::thread([&] { by_malloc = sweep<failing_malloc_scope>(entry); }).join();
    std::cout << entry.name << ": " << by_new << " + " << by_malloc << std::endl;
    return by_new + by_malloc;
}

}  // namespace

void fail(const std::string& what) {
    std::cout << "faults: " << what << std::endl;
    std::_Exit(1);
}

int sweep_all() {
    const auto began = std::chrono::steady_clock::now();
    std::atomic<int> points = 0;
    std::atomic<int> threads = 0;
    std::atomic<const char*> doing = "the start";
    const watchdog dog(
        60s, [&] { return static_cast<std::uint64_t>(points + threads); },
        [&] { return std::string(doing); });
    auto entries = pool_entry_points();
    for (auto& each : queued_entry_points()) entries.push_back(std::move(each));
    for (auto& each : other_entry_points()) entries.push_back(std::move(each));
    for (auto& each : bridge_entry_points()) entries.push_back(std::move(each));
    const auto plain = plain_entry_points();
    for (const auto& entry : entries) {  // what is made once and kept
        subject s;
        entry.prepare(s);
        entry.call(s);
        check(s, entry.name, -1);
    }
    for (const auto& entry : plain) entry.call();
    const auto before = blocks_in_use();
    for (const auto& entry : entries) {
        doing = entry.name.c_str();
        points += sweep_both(entry);
    }
    for (const auto& entry : plain) {
        doing = entry.name.c_str();
        points += sweep_both(entry);
    }
    sweep_threads([&](const char* scenario) {
        doing = scenario;
        ++threads;
    });
    const auto left = blocks_in_use() - before;
    if (left > 0) fail(std::to_string(left) + " blocks of memory are left");
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    std::cout << "faults: " << points << " allocations of " << entries.size() + plain.size()
              << " entry points and " << threads << " threads refused; 0 lost, 0 doubled, 0 left, "
              << took.count() << " s\n";
    constexpr int promised = 200;  // of either kind; fewer, and the faults go past what is swept
    if (points >= promised && threads >= promised) return 0;
    std::cout << "faults: SHORT: fewer than " << promised << '\n';
    return 1;
}

}  // namespace cadre::testing

int main() { return cadre::testing::sweep_all(); }
