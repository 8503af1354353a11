// SPDX-License-Identifier: Apache-2.0
// A user of most of what the library offers, so that a shared library that hides some of it, or a
// header that does not go with the user's flags, is found out. Ends with 0 if all went well.
#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include <cadre/cadre.hpp>

using namespace std::chrono_literals;

namespace {

/// Classes that a program derives from.
class plain_executor : public cadre::executor {
public:
    void execute(cadre::task t) override { t(); }
};

cadre::future<int> twice(cadre::executor& where, cadre::future<int> of) {
    co_await where.schedule();
    co_return 2 * co_await std::move(of);
}

bool submits() {
    cadre::thread_pool_executor pool(
        {.core_pool_size = 2,
         .queue = std::make_unique<cadre::array_blocking_queue<cadre::task>>(64),
         .rejection = cadre::caller_runs_policy{},
         .name = "api"});
    auto value = twice(pool, pool.submit([](int a) { return a + 1; }, 20));
    auto next = pool.submit([] { return 1; }).then([](int i) { return i + 1; });
    cadre::executor_completion_service<int> service(pool);
    service.submit([] { return 4; });
    bool caught = false;
    try {
        pool.submit([]() -> int { throw cadre::illegal_state("as was meant"); }).get();
    } catch (const cadre::illegal_state&) {
        caught = true;
    }
    std::vector<int> numbers(100, 1);
    cadre::parallel_for(pool, numbers, [](int& n) { n = 2; });
    const auto sum = cadre::parallel_reduce(pool, numbers, 0, std::plus<>());
    cadre::task_group group(pool);
    auto child = group.submit([] { return 5; });
    group.wait();
    cadre::strand lane(pool);
    lane.execute([] {});
    pool.resize(1, 3);
    return caught && value.get() == 42 && next.get() == 2 && service.take().get() == 4 &&
           sum == 200 && child.get() == 5 && pool.snapshot().name == "api" &&
           !pool.to_string().empty();
}

bool schedules() {
    cadre::scheduled_thread_pool_executor timers({.core_pool_size = 1});
    auto soon = timers.schedule([] { return 3; }, 1ms);
    const auto beat = timers.schedule_at_fixed_rate([] {}, 0s, 1h);
    return soon.get() == 3 && beat.is_periodic() &&
           cadre::cron_expression("0 6 * * *").text() == "0 6 * * *";
}

bool queues() {
    cadre::linked_blocking_queue<int> linked(1);
    cadre::synchronous_queue<int> direct;
    cadre::priority_blocking_queue<int> sorted;
    linked.put(1);
    sorted.put(2);
    sorted.put(1);
    return linked.poll() == 1 && !direct.poll() && sorted.take() == 1;
}

bool steals() {
    auto pool = cadre::executors::work_stealing_pool(2);
    auto inner = pool->submit([&] { return pool->submit([] { return 6; }).get(); });
    return inner.get() == 6 && cadre::sizing::cpu_bound() >= 1;
}

bool derives() {
    plain_executor here;
    bool ran = false;
    here.execute([&] { ran = true; });
    const auto factory = cadre::named_thread_factory("mine");
    cadre::thread thread = factory([] {});
    thread.join();
    return ran;
}

}  // namespace

int main() { return submits() && schedules() && queues() && steals() && derives() ? 0 : 1; }
