// SPDX-License-Identifier: Apache-2.0
//
// recycled_memory.cpp, common_store: batches of free blocks that threads put and take. No batch is
// in two hands, and who takes one sees what the putter wrote into it; nobody ever waits.

#include "simulated.hpp"

namespace cadre::relacy {

namespace {

enum class store_bug { none, takes_without_lock };

template <store_bug bug>
class common_store {
public:
    struct block {
        rl::var<block*> next_batch;
        rl::var<int> payload;
    };

    block* take() {
        if (bug != store_bug::takes_without_lock && !try_lock()) return nullptr;
        block* const batch = VAR(batches_);
        if (batch) VAR(batches_) = VAR(batch->next_batch);
        if (bug != store_bug::takes_without_lock) unlock();
        return batch;
    }
    bool put(block* batch) {
        if (!try_lock()) return false;
        VAR(batch->next_batch) = VAR(batches_);
        VAR(batches_) = batch;
        unlock();
        return true;
    }
    void start_empty() { VAR(batches_) = nullptr; }

private:
    using flag = detail::std::atomic<bool>;
    bool try_lock() { return !locked_.exchange(true, rl::mo_acquire); }
    void unlock() { locked_.store(false, rl::mo_release); }

    flag locked_ = false;
    rl::var<block*> batches_;
};

/// Each thread makes a batch, gives it away, and takes whatever it gets, twice.
template <store_bug bug>
struct memory_suite : rl::test_suite<memory_suite<bug>, 3> {
    using store = common_store<bug>;
    store shared;
    typename store::block blocks[3];

    void before() { shared.start_empty(); }
    void thread(unsigned index) {
        typename store::block* mine = &blocks[index];
        for (int i = 0; i < 2; ++i) {
            if (mine) {
                VAR(mine->payload) = 7;  // a data race if somebody else has it too
                if (shared.put(mine)) mine = nullptr;
            }
            if (!mine) mine = shared.take();
            if (mine) RL_ASSERT(VAR(mine->payload) == 7);
        }
    }
};

}  // namespace

void check_memory(runner& r) {
    r.passes<memory_suite<store_bug::none>>("recycled memory: three threads exchange batches");
    r.finds<memory_suite<store_bug::takes_without_lock>>("recycled memory taken without the lock");
    r.finds<memory_suite<store_bug::none>>("recycled memory with relaxed orders", given::nothing);
}

}  // namespace cadre::relacy
