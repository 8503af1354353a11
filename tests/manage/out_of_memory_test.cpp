// SPDX-License-Identifier: Apache-2.0
//
// EX-15 for the management plane: each allocation of each call fails. The caller is told, and a
// change has been made altogether or not at all; the pools work on, and nothing is left. Not of
// what makes a document in JSON: the destructors of nlohmann's allocate, and end the process if
// they cannot.

#include <functional>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/allocations.hpp"
#include <cadre/manage/configuration.hpp>
#include <cadre/manage/metrics_text.hpp>
#include <cadre/manage/pool_registry.hpp>

namespace cadre::manage {
namespace {

using testing::blocks_in_use;
using testing::failing_allocation_scope;

/// A registry with two pools that have worked.
struct managed {
    pool_registry registry;
    std::shared_ptr<managed_pool> orders = create("orders");
    std::shared_ptr<managed_pool> mails = create("mails that have a long name");

    std::shared_ptr<managed_pool> create(const std::string& name) {
        auto made = registry.create(
            {.name = name,
             .settings = {.core_pool_size = 1, .maximum_pool_size = 2, .queue_capacity = 10}});
        made->executor()->submit([] {}).get();
        return made;
    }
    bool works() const {
        return orders->executor()->submit([] { return 7; }).get() == 7 &&
               mails->executor()->submit([] { return 7; }).get() == 7;
    }
    /// Both sizes of both pools: what a change of several may not leave half done.
    std::vector<int> sizes() const {
        std::vector<int> all;
        for (const auto& pool : {orders, mails}) {
            const auto now = pool->settings();
            all.push_back(now.core_pool_size.value_or(-1));
            all.push_back(now.maximum_pool_size.value_or(-1));
        }
        return all;
    }
};

struct management_call {
    const char* name;
    std::function<void(managed&)> make;
    testing::failures which = testing::failures::all;
};
const std::vector<management_call> calls = {
    {"create",
     [](managed& m) {
         (void)m.registry.create({.name = "a third pool", .settings = {.core_pool_size = 1}});
     }},
    {"reconfigure",
     [](managed& m) {
         (void)m.orders->reconfigure({.core_pool_size = 3, .maximum_pool_size = 5});
     }},
    {"reconfigure several",
     [](managed& m) {
         (void)m.registry.reconfigure(
             {{"orders", {.core_pool_size = 3, .maximum_pool_size = 5}},
              {m.mails->name(), {.core_pool_size = 3, .maximum_pool_size = 5}}});
     },
     testing::failures::one},  // to undo the first change takes memory
    {"preview", [](managed& m) { (void)m.orders->preview({.core_pool_size = 2}); }},
    {"rollback", [](managed& m) { (void)m.orders->rollback(m.orders->revision()); }},
    {"history", [](managed& m) { (void)m.registry.history(); }},
    {"settings", [](managed& m) { (void)m.orders->settings(); }},
    {"metrics", [](managed& m) { (void)m.orders->monitor()->metrics(); }},
    {"workers", [](managed& m) { (void)m.orders->monitor()->workers(); }},
    {"oldest_tasks", [](managed& m) { (void)m.orders->oldest_tasks(5); }},
    {"prometheus_text", [](managed& m) { (void)prometheus_text(m.registry); }},
    {"parse_document",
     [](managed&) {
         (void)parse_document("pools: {orders: {core_pool_size: 3, keep_alive: 5s}}", "test",
                              document_format::yaml);
     }},
};

/// Plays the call with its first allocation failing, then the second and so on, each time with
/// pools of its own; then calls `check` with these, and whether the call said that it failed.
/// Returns how many faults there were.
template <class Check>
int sweep(const management_call& call, Check check) {
    for (int point = 0;; ++point) {
        managed m;
        bool failed = false;
        try {
            const failing_allocation_scope no_memory(point, call.which);
            call.make(m);
        } catch (const std::bad_alloc&) {
            failed = true;
        }
        if (!failing_allocation_scope::fired()) return point;
        check(m, failed);
    }
}

TEST(management_out_of_memory, every_call_is_made_altogether_or_not_at_all) {
    for (const auto& call : calls) {
        SCOPED_TRACE(call.name);
        managed whole;
        const auto before = whole.sizes();
        call.make(whole);
        const auto after = whole.sizes();
        const int faults = sweep(call, [&](const managed& m, bool failed) {
            const auto now = m.sizes();
            EXPECT_TRUE(now == after || (failed && now == before)) << ::testing::PrintToString(now);
            EXPECT_TRUE(!failed || m.registry.pools().size() == 2);
            EXPECT_TRUE(m.works());
        });
        EXPECT_GT(faults, 0) << "it allocates nothing: the test says nothing";
    }
}

TEST(management_out_of_memory, nothing_is_left_of_a_call_that_failed) {
    for (const auto& call : calls) {
        SCOPED_TRACE(call.name);
        const auto play = [&] { sweep(call, [](const managed&, bool) {}); };
        play();  // what is made once and kept
        const auto before = blocks_in_use();
        play();
        EXPECT_LE(blocks_in_use(), before);
    }
}

}  // namespace
}  // namespace cadre::manage
