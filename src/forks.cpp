// SPDX-License-Identifier: Apache-2.0

#include "forks.hpp"

#include <system_error>

#include <pthread.h>

#include <cadre/detail/thread_control.hpp>

#include "context_lock.hpp"
#include "wait_graph.hpp"

namespace cadre::detail {

namespace {

struct children_mask {
    bool set = false;
    sigset_t mask = {};
};
constinit thread_local children_mask own_children;

// The locks that there is one of in the process, and those that the forking thread needs for its
// own task. A child of a thread that does not hold them might find them taken, for ever.
void lock_all() {
    lock_contexts();
    thread_control::before_fork();
    lock_wait_graph();
}
void unlock_all() {
    unlock_wait_graph();
    thread_control::after_fork();
    unlock_contexts();
}

/// In the child, on the only thread there is: no locks, no memory.
void in_child() {
    unlock_all();
    fork_count.fetch_add(1);
    if (own_children.set) pthread_sigmask(SIG_SETMASK, &own_children.mask, nullptr);
}

}  // namespace

void watch_forks() {
    static const int error = pthread_atfork(lock_all, unlock_all, in_child);
    if (error != 0) throw std::system_error(error, std::generic_category(), "pthread_atfork");
}

void set_mask_of_children(const sigset_t& mask) noexcept { own_children = {true, mask}; }

const sigset_t* mask_of_children() noexcept {
    return own_children.set ? &own_children.mask : nullptr;
}

}  // namespace cadre::detail
