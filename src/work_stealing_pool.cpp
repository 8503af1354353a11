// SPDX-License-Identifier: Apache-2.0
//
// A pool on a queue that has a deque for each worker (work_stealing_queue.cpp). The pool knows that
// queue for speed, and for what a worker does while it waits (work_stealing_wait.cpp); all the
// rest, from the first thread to the last, is as with any other queue.

#include <cadre/work_stealing_pool.hpp>

#include <sstream>
#include <stdexcept>

#include <cadre/errors.hpp>

#include "pool_task.hpp"
#include "thread_pool_core.hpp"

namespace cadre {

namespace {

constexpr int most_parallelism = 32767;

std::string described(const pool_snapshot& s, const void* pool, std::int64_t steals) {
    std::ostringstream out;
    out << "work_stealing_pool@";
    if (s.name.empty())
        out << pool;
    else
        out << s.name;
    out << '['
        << (s.state == run_state::running      ? "Running"
            : s.state == run_state::terminated ? "Terminated"
                                               : "Shutting down")
        << ", parallelism = " << s.maximum_pool_size << ", pool size = " << s.pool_size
        << ", active threads = " << s.active_count << ", queued tasks = " << s.queue_size
        << ", steals = " << steals << ", completed tasks = " << s.completed_task_count << ']';
    return out.str();
}

std::unique_ptr<detail::work_stealing_queue> make_queue(int parallelism) {
    if (parallelism < 1 || parallelism > most_parallelism)
        throw std::invalid_argument("parallelism (" + std::to_string(parallelism) +
                                    ") is not from 1 to " + std::to_string(most_parallelism));
    return std::make_unique<detail::work_stealing_queue>(parallelism);
}

thread_pool_options pool_options(work_stealing_options options,
                                 std::unique_ptr<detail::work_stealing_queue> queue) {
    thread_pool_options pool;
    pool.core_pool_size = options.parallelism;
    pool.keep_alive = {};
    pool.thread_factory = std::move(options.thread_factory);
    pool.hooks = std::move(options.hooks);
    pool.name = std::move(options.name);
    pool.rejection = [queue = queue.get()](const task& t, thread_pool_executor& face) {
        throw rejected_execution(detail::called(t) + " was rejected from " +
                                 described(face.snapshot(), &face, queue->steal_count()));
    };
    pool.queue = std::move(queue);
    return pool;
}

}  // namespace

work_stealing_pool::work_stealing_pool(work_stealing_options options)
    : work_stealing_pool(std::move(options), make_queue(options.parallelism)) {}

work_stealing_pool::work_stealing_pool(work_stealing_options&& options,
                                       std::unique_ptr<detail::work_stealing_queue> queue)
    : queue_(*queue), pool_(pool_options(std::move(options), std::move(queue))) {}

work_stealing_pool::~work_stealing_pool() = default;

void work_stealing_pool::execute(task t) { pool_.core_->execute_nested(std::move(t), pool_); }
std::shared_ptr<const void> work_stealing_pool::kept() const { return pool_.kept(); }

void work_stealing_pool::shutdown() { pool_.shutdown(); }
std::vector<task> work_stealing_pool::shutdown_now() { return pool_.shutdown_now(); }
bool work_stealing_pool::is_shutdown() const { return pool_.is_shutdown(); }
bool work_stealing_pool::is_terminating() const { return pool_.is_terminating(); }
bool work_stealing_pool::is_terminated() const { return pool_.is_terminated(); }
bool work_stealing_pool::await_termination(std::chrono::nanoseconds timeout) {
    return pool_.await_termination(timeout);
}
void work_stealing_pool::close() { pool_.close(); }

const std::string& work_stealing_pool::name() const { return pool_.name(); }
int work_stealing_pool::parallelism() const { return pool_.maximum_pool_size(); }
int work_stealing_pool::pool_size() const { return pool_.pool_size(); }
int work_stealing_pool::active_count() const { return pool_.active_count(); }
int work_stealing_pool::largest_pool_size() const { return pool_.largest_pool_size(); }
std::int64_t work_stealing_pool::task_count() const { return pool_.task_count(); }
std::int64_t work_stealing_pool::completed_task_count() const {
    return pool_.completed_task_count();
}
std::size_t work_stealing_pool::queued_task_count() const { return queue_.size(); }
std::size_t work_stealing_pool::queued_submission_count() const { return queue_.outside_size(); }
std::int64_t work_stealing_pool::steal_count() const { return queue_.steal_count(); }
run_state work_stealing_pool::state() const { return pool_.state(); }
pool_snapshot work_stealing_pool::snapshot() const { return pool_.snapshot(); }

std::string work_stealing_pool::to_string() const {
    return described(snapshot(), this, steal_count());
}

}  // namespace cadre
