// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <cadre/manage/config_manager.hpp>

#include "manage/support/centres.hpp"
#include "manage/support/chaos_proxy.hpp"
#include "support/eventually.hpp"

// Every source behind a proxy that does everything wrong that a network and a server can, with a
// manager and a pool behind it: whatever happens, the pool only ever has sizes that were published,
// works, and has the last of them when it is over.

namespace cadre::manage {
namespace {

using namespace std::chrono_literals;
using testing::apollo_centre;
using testing::centre;
using testing::chaos_proxy;
using testing::consul_centre;
using testing::etcd_centre;
using testing::eventually;
using testing::http_centre;
using testing::mischief;
using testing::nacos_centre;

std::string document_with_core(int core) {
    return R"({"pools": {"orders": {"core_pool_size": )" + std::to_string(core) + "}}}";
}

/// A pool that follows the centre through the proxy, and all the sizes it has had.
class followed_pool {
public:
    explicit followed_pool(const centre& from) : proxy_(from.url) {
        pool_ = registry_.create(
            {.name = "orders", .settings = {.core_pool_size = 1, .maximum_pool_size = 1000}});
        changes_ = registry_.on_change([this](const change_record&) {
            const std::lock_guard lock(mutex_);
            cores_.push_back(pool_->settings().core_pool_size.value_or(0));
        });
        std::vector<std::unique_ptr<config_source>> sources;
        sources.push_back(from.source(proxy_.url()));
        manager_ = std::make_unique<config_manager>(registry_, std::move(sources),
                                                    config_manager_options{.start_wait = 1ms});
        manager_->start();
    }

    chaos_proxy& proxy() { return proxy_; }
    config_manager& manager() { return *manager_; }
    bool has_core(int core) const {
        return eventually([&] { return pool_->settings().core_pool_size == core; });
    }
    bool works() const {
        return pool_->executor()->submit([] { return 7; }).get() == 7;
    }
    std::vector<int> cores() const {
        const std::lock_guard lock(mutex_);
        return cores_;
    }

private:
    chaos_proxy proxy_;
    pool_registry registry_;
    std::shared_ptr<managed_pool> pool_;
    mutable std::mutex mutex_;  // guards cores_
    std::vector<int> cores_;
    subscription changes_;
    std::unique_ptr<config_manager> manager_;
};

void survives_all_mischief(const centre& from) {
    int core = 1;
    const auto publish_next = [&] { from.publish(document_with_core(++core)); };
    publish_next();
    followed_pool pool(from);
    ASSERT_TRUE(pool.has_core(core));
    for (const auto kind : testing::all_mischief) {
        SCOPED_TRACE(to_text(kind));
        // An old answer that keeps coming is believed in the end.
        pool.proxy().play(kind, kind == mischief::stale ? 2 : 1'000'000);
        publish_next();
        ASSERT_TRUE(eventually([&] { return pool.proxy().played() > 0; }));
        EXPECT_TRUE(pool.works());
        publish_next();
        pool.proxy().play(mischief::none);
        ASSERT_TRUE(pool.has_core(core));
    }
    const auto cores = pool.cores();
    for (const int seen : cores) EXPECT_TRUE(seen >= 1 && seen <= core) << seen;
    const bool never_went_back = std::is_sorted(cores.begin(), cores.end());
    EXPECT_TRUE(never_went_back || !from.knows_old_from_new) << ::testing::PrintToString(cores);
}

TEST(chaos, http_source_survives_all_mischief) { survives_all_mischief(http_centre()); }
TEST(chaos, consul_source_survives_all_mischief) { survives_all_mischief(consul_centre()); }
TEST(chaos, nacos_source_survives_all_mischief) {
    survives_all_mischief(nacos_centre(false));
    survives_all_mischief(nacos_centre(true));
}
TEST(chaos, apollo_source_survives_all_mischief) { survives_all_mischief(apollo_centre()); }
TEST(chaos, etcd_source_survives_all_mischief) { survives_all_mischief(etcd_centre()); }

/// How long a manager takes to stop while its centre does this.
std::chrono::nanoseconds time_to_stop(const centre& from, mischief kind) {
    followed_pool pool(from);
    pool.proxy().play(kind);
    EXPECT_TRUE(eventually([&] { return pool.proxy().played() > 0; }));
    return testing::time_of([&] { pool.manager().stop(); });
}

// Their timeouts are an hour, or those of a long poll: what waits for one never stops in a second,
// and what does not may take longer than that on a busy machine, but not each time.
TEST(chaos, every_source_stops_while_its_centre_is_silent_or_slow) {
    const std::vector<centre> centres{http_centre(),      consul_centre(), nacos_centre(false),
                                      nacos_centre(true), apollo_centre(), etcd_centre()};
    for (std::size_t i = 0; i < centres.size(); ++i)
        for (const auto kind : {mischief::silence, mischief::slow}) {
            SCOPED_TRACE(std::to_string(i) + ", " + std::string(to_text(kind)));
            centres[i].publish(document_with_core(2) + std::string(20'000, ' '));
            auto best = time_to_stop(centres[i], kind);
            for (int again = 0; best >= 1s && best < testing::long_delay && again < 4; ++again)
                best = std::min(best, time_to_stop(centres[i], kind));
            EXPECT_LT(best, 1s);
        }
}

}  // namespace
}  // namespace cadre::manage
