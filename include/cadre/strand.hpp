// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include <cadre/detail/export.hpp>
#include <cadre/detail/strand_lane.hpp>
#include <cadre/executor.hpp>
#include <cadre/task.hpp>

namespace cadre {

/// An executor whose tasks run one at a time, in the order in which they were executed, on the
/// threads of another executor. What a task did is visible to the next.
///
///     cadre::strand log(pool);
///     log.execute([&] { file << line; });   // no lock needed
///
/// No thread waits for its turn. For each task one goes to the other executor, so its bounds and
/// its rejection policy hold for strands as well: a task is accepted exactly when execute returns.
/// A task that throws does not stop those behind it; the exception goes where the other executor
/// sends it (if several were thrown in one go, the others to stderr). A task that the other
/// executor drops, by shutdown_now() or a policy, is dropped: its future is cancelled.
///
/// A task of a pool may wait for one of a strand on that pool, whose threads may all be busy: it
/// runs that, and what is before it in the strand, in place. A task must not wait for another one
/// of its own strand; nor, on a work-stealing pool, for anything at all if a task that waits for
/// the strand may be run meanwhile, on top of it.
///
/// May be destroyed before its tasks have run; the other executor must live longer than both.
class CADRE_API strand : public executor {
public:
    explicit strand(executor& where);

    /// Throws std::invalid_argument if the task is empty; what the other executor throws.
    void execute(task t) override;
    std::shared_ptr<const void> kept() const override { return where_.kept(); }
    /// As executor_service::submit().
    template <class F, class... Args>
    [[nodiscard]] auto submit(F&& f, Args&&... args) {
        return detail::submit_by([this](task t) { execute(std::move(t)); }, std::forward<F>(f),
                                 std::forward<Args>(args)...);
    }

private:
    class only_lane;
    executor& where_;
    const std::shared_ptr<only_lane> lane_;
};

/// A strand for each key: tasks of one key run one at a time and in order, those of different keys
/// in parallel. A key costs nothing when it has no tasks, so there may be any number of them.
///
///     cadre::keyed_strands<account_id> accounts(pool);
///     accounts.execute(from, [=] { withdraw(from, amount); });
///
/// Each strand is as cadre::strand. Keys are copied, hashed and compared under a lock, so those
/// must not use this object; hash and comparison must not throw.
template <class Key, class Hash = std::hash<Key>, class Equal = std::equal_to<Key>>
class keyed_strands {
public:
    explicit keyed_strands(executor& where) : where_(where) {
        for (auto& each : shards_) each = std::make_shared<shard>();
    }

    void execute(const Key& key, task t) {
        auto what =
            detail::intrusive_ptr<detail::lane_task>::adopt(new detail::lane_task(std::move(t)));
        shard& of = *shards_[shard_number(key)];
        std::unique_lock lock(of.mutex());
        detail::lane& to = of.lane_of(key);
        of.send(std::move(lock), to, std::move(what), where_);
    }
    template <class F, class... Args>
    [[nodiscard]] auto submit(const Key& key, F&& f, Args&&... args) {
        return detail::submit_by([&](task t) { execute(key, std::move(t)); }, std::forward<F>(f),
                                 std::forward<Args>(args)...);
    }

    /// The strand of one key, as an executor of its own; not to be used after this object's end.
    class keyed_strand : public executor {
    public:
        void execute(task t) override { all_.execute(key_, std::move(t)); }
        std::shared_ptr<const void> kept() const override { return all_.where_.kept(); }
        template <class F, class... Args>
        [[nodiscard]] auto submit(F&& f, Args&&... args) {
            return all_.submit(key_, std::forward<F>(f), std::forward<Args>(args)...);
        }

    private:
        friend class keyed_strands;
        keyed_strand(keyed_strands& all, Key key) : all_(all), key_(std::move(key)) {}
        keyed_strands& all_;
        const Key key_;
    };
    keyed_strand strand(Key key) { return keyed_strand(*this, std::move(key)); }

    /// How many keys have tasks, running or waiting.
    std::size_t active_keys() const {
        std::size_t sum = 0;
        for (const auto& each : shards_) {
            const std::lock_guard lock(each->mutex());
            sum += each->size();
        }
        return sum;
    }

private:
    struct keyed_lane : detail::lane {
        const Key* key = nullptr;
    };

    /// Some of the keys, with a lock of their own.
    class shard final : public detail::lane_owner {
    public:
        detail::lane& lane_of(const Key& key) {
            const auto [place, is_new] = lanes_.try_emplace(key);
            place->second.key = &place->first;
            return place->second;
        }
        std::size_t size() const { return lanes_.size(); }

    private:
        using map = std::unordered_map<Key, keyed_lane, Hash, Equal>;
        static constexpr std::size_t kept_buckets = 64;

        void retire(detail::lane& which, std::unique_lock<std::mutex>& lock) noexcept override {
            const auto gone = lanes_.extract(lanes_.find(*static_cast<keyed_lane&>(which).key));
            map large;  // what a rush has left behind
            if (lanes_.empty() && lanes_.bucket_count() > kept_buckets) large.swap(lanes_);
            lock.unlock();  // the key is destroyed outside
        }
        map lanes_;
    };

    /// Other bits of the hash than those that the map looks at first.
    static std::size_t shard_number(const Key& key) {
        const auto mixed = static_cast<std::uint64_t>(Hash()(key)) * 0x9E3779B97F4A7C15u;
        return static_cast<std::size_t>(mixed >> (64 - shard_bits));
    }

    static constexpr int shard_bits = 4;
    executor& where_;
    std::array<std::shared_ptr<shard>, 1 << shard_bits> shards_;
};

}  // namespace cadre
