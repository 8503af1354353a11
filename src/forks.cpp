// SPDX-License-Identifier: Apache-2.0

#include "forks.hpp"

#include <atomic>
#include <system_error>

#include <pthread.h>

#include "context_lock.hpp"
#include "wait_graph.hpp"

namespace cadre::detail {

namespace {

constinit std::atomic<std::uint32_t> count = 0;

struct children_mask {
    bool set = false;
    sigset_t mask = {};
};
constinit thread_local children_mask own_children;

// The locks that there is one of in the process. A child of a thread that does not hold them
// might find them taken, for ever.
void lock_all() {
    lock_contexts();
    lock_wait_graph();
}
void unlock_all() {
    unlock_wait_graph();
    unlock_contexts();
}

/// In the child, on the only thread there is: no locks, no memory.
void in_child() {
    unlock_all();
    count.fetch_add(1);
    if (own_children.set) pthread_sigmask(SIG_SETMASK, &own_children.mask, nullptr);
}

}  // namespace

void watch_forks() {
    static const int error = pthread_atfork(lock_all, unlock_all, in_child);
    if (error != 0) throw std::system_error(error, std::generic_category(), "pthread_atfork");
}

std::uint32_t forks() noexcept { return count.load(std::memory_order_relaxed); }

void set_mask_of_children(const sigset_t& mask) noexcept { own_children = {true, mask}; }

const sigset_t* mask_of_children() noexcept {
    return own_children.set ? &own_children.mask : nullptr;
}

}  // namespace cadre::detail
