// SPDX-License-Identifier: Apache-2.0
#include <cadre/cadre.hpp>

#include <chrono>

#include "trust/episode.hpp"

namespace cadre::testing {
namespace {

using namespace std::chrono_literals;

/// Families of tasks: the first is brought from outside and brings the others, from inside. A third
/// of the families waits for its children.
class stealing final : public episode {
public:
    stealing(std::mt19937& random, std::size_t families)
        : episode(families * family),
          kept_(families),
          seed_(static_cast<unsigned>(random())),
          parallelism_(1 + static_cast<int>(random() % 4)),
          end_(static_cast<ending>(random() % 4)),
          early_(random() % 3 == 0 && end_ != ending::destructor) {}

    std::string play() override {
        {
            auto pool = std::make_unique<work_stealing_pool>(work_stealing_options{
                .parallelism = parallelism_, .hooks = {.uncaught_exception = count_failures()}});
            const std::lock_guard lock(mutex_);
            inside_ = pool.get();
            pool_ = std::move(pool);
        }
        std::atomic<bool> submitted = false;
        std::thread outside([&] {
            for (std::size_t i = 0; i < kept_.size(); ++i) begin_family(i);
            submitted = true;
        });
        await_fact([&] { return submitted || (early_ && tasks_.settled() >= tasks_.size() / 4); });
        explained_ = finish(*pool_, end_);
        outside.join();
        destroy_pool();
        // A family that was returned unbegun never made its children; nor did the rest of one that
        // was refused in the middle.
        for (std::size_t i = 0; i < kept_.size(); ++i)
            for (std::size_t child = kept_[i].begun; child < family; ++child)
                (void)tasks_.task(i * family + child);
        for (const auto& each : kept_)
            for (const auto& [number, result] : each.results)
                if (auto wrong = check(number, result); !wrong.empty()) return wrong;
        return {};
    }

    std::string snapshot() const override {
        const std::lock_guard lock(mutex_);
        return std::to_string(kept_.size()) + " families of " + std::to_string(family) +
               ", ending " + std::to_string(static_cast<int>(end_)) + "\n" +
               (pool_ ? pool_->to_string() : "no pool");
    }

private:
    static constexpr std::size_t family = 32;
    struct children {
        std::size_t begun = 1;
        std::vector<std::pair<std::size_t, future<void>>> results;
    };

    /// Not under the mutex: the watchdog tells what it was doing if it hangs.
    void destroy_pool() {
        std::unique_ptr<work_stealing_pool> last;
        const std::lock_guard lock(mutex_);
        last = std::move(pool_);
    }
    void begin_family(std::size_t i) {
        try {
            inside_->execute([this, i, first = tasks_.task(i * family)]() mutable {
                bring_children(i);
                first();
            });
            tasks_.accept(i * family);
        } catch (const rejected_execution&) {}
    }

    void bring_children(std::size_t i) {
        auto& mine = kept_[i];
        std::minstd_rand random(seed_ + static_cast<unsigned>(i));
        const bool waits = random() % 3 == 0;
        try {
            for (; mine.begun < family; ++mine.begun) {
                const std::size_t number = i * family + mine.begun;
                auto child = random() % 32 == 0 ? tasks_.failing_task(number) : tasks_.task(number);
                if (waits)
                    mine.results.emplace_back(number, inside_->submit(std::move(child)));
                else
                    inside_->execute(std::move(child));
                tasks_.accept(number);
            }
        } catch (const rejected_execution&) {
            ++mine.begun;  // that one has met its fate
        }
        for (auto& [number, result] : mine.results)
            if (random() % 8 == 0 && result.cancel(random() % 2 == 0)) tasks_.call_off(number);
        for (auto& [number, result] : mine.results) try {
                result.wait();
            } catch (const interrupted&) {
                return;  // the pool is being stopped
            }
    }

    std::vector<children> kept_;
    const unsigned seed_;
    const int parallelism_;
    const ending end_;
    const bool early_;
    mutable std::mutex mutex_;  // guards pool_ against the watchdog
    std::unique_ptr<work_stealing_pool> pool_;
    work_stealing_pool* inside_ = nullptr;  // the same, for tasks: still there in its destructor
};

}  // namespace

std::unique_ptr<episode> stealing_episode(std::mt19937& random) {
    const std::size_t families = std::size_t{256} << random() % 5;
    return std::make_unique<stealing>(random, families);
}

}  // namespace cadre::testing
