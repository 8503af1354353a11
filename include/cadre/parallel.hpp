// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <ranges>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <cadre/detail/export.hpp>
#include <cadre/executor.hpp>
#include <cadre/function_ref.hpp>
#include <cadre/task.hpp>
#include <cadre/thread.hpp>

/// Loops over ranges, spread over the threads of an executor and the calling one.
///
///     cadre::parallel_for(pool, images, [](image& i) { i.sharpen(); });
///     long sum = cadre::parallel_reduce(pool, orders, 0L, std::plus<>(), &order::cents);
///     std::vector<int> sizes = cadre::parallel_transform(pool, names, size_of_file);
///     cadre::parallel_for(pool, 0, rows, [&](int row) { fill(row); });
///
/// The caller works too and returns when all is done: it waits for no task that has not started,
/// so these may be called anywhere, also by a task of a pool whose threads are all busy. What the
/// executor refuses or drops is done by those who are at it already, at worst by the caller alone.
/// (A pool with block_policy makes the caller wait for a place all the same: give it a timeout.)
///
/// The first exception, of the function or of an interrupt of the caller, keeps what has not
/// started from starting, and is thrown when nobody is at work any more; others are dropped. A stop
/// that leaves something undone throws cancellation. Threads look for both after each element, or
/// every ten microseconds or so if elements take less; when slow elements follow quick ones, after
/// up to 4096 of them. Functions are called from several threads at once, and refer to nothing of
/// these calls after they have returned.
///
/// All throw std::invalid_argument for an empty function or a negative concurrency.
///
/// A range that can be gone through more than once will do: of one without random access or size,
/// as a list, a map or a filtered view, the caller first notes where each element is.

namespace cadre {

/// How a loop is spread and what ends it.
struct parallel_options {
    /// How many elements a thread takes at a time. 0: about an eighth of its share.
    std::size_t chunk = 0;
    /// How many threads are at work at most, the caller included. 0: available_processors().
    int concurrency = 0;
    /// What ends the work early. By default the stop token of the task that calls.
    std::stop_token stop = this_thread::stop_token();
};

namespace detail {

template <class F>
void refuse_empty(const char* which, const F& f) {
    if (is_empty_callable(f)) throw std::invalid_argument(std::string(which) + " is empty");
}

/// Numbers from 0 to count, cut into chunks that threads take one after the other.
class CADRE_API chunked_work {
public:
    /// Throws std::invalid_argument if the concurrency is negative.
    chunked_work(std::size_t count, parallel_options how);

    std::size_t chunk() const noexcept { return how_.chunk; }
    std::size_t chunks() const noexcept { return chunks_; }
    /// Calls body(first, last) for the parts of each chunk, one after the other, here and on the
    /// executor.
    void run(executor& where, function_ref<void(std::size_t, std::size_t)> body) const;

private:
    std::size_t count_;
    parallel_options how_;
    std::size_t chunks_;
};

/// The elements of a range by their numbers.
template <std::ranges::forward_range Range>
class numbered {
public:
    explicit numbered(Range& range) {
        if constexpr (is_direct) {
            first_ = std::ranges::begin(range);
            size_ = static_cast<std::size_t>(std::ranges::size(range));
        } else {
            for (auto at = std::ranges::begin(range); at != std::ranges::end(range); ++at)
                first_.push_back(at);
            size_ = first_.size();
        }
    }
    std::size_t size() const noexcept { return size_; }
    decltype(auto) operator[](std::size_t number) const {
        if constexpr (is_direct)
            return first_[static_cast<std::ranges::range_difference_t<Range>>(number)];
        else
            return *first_[number];
    }

private:
    static constexpr bool is_direct =
        std::ranges::random_access_range<Range> && std::ranges::sized_range<Range>;
    using iterator = std::ranges::iterator_t<Range>;

    std::conditional_t<is_direct, iterator, std::vector<iterator>> first_;
    std::size_t size_ = 0;
};

}  // namespace detail

/// Calls f with each element.
template <std::ranges::forward_range Range, class F>
    requires std::invocable<F&, std::ranges::range_reference_t<Range>>
void parallel_for(executor& where, Range&& range, F f, parallel_options how = {}) {
    detail::refuse_empty("f", f);
    const detail::numbered elements(range);
    detail::chunked_work(elements.size(), std::move(how))
        .run(where, [&](std::size_t from, std::size_t to) {
            for (; from != to; ++from) static_cast<void>(std::invoke(f, elements[from]));
        });
}

/// Calls f with each number from `first` up to, but not including, `last`; none if that is not
/// larger. The numbers are of the common type of both: of `0` and `names.size()`, std::size_t.
template <std::integral First, std::integral Last, class F>
    requires std::invocable<F&, std::common_type_t<First, Last>>
void parallel_for(executor& where, First first, Last last, F f, parallel_options how = {}) {
    detail::refuse_empty("f", f);
    // Counted without a sign: the distance may be too large for the type.
    const auto from = static_cast<std::uintmax_t>(first);
    const auto count =
        std::cmp_less(+first, +last) ? static_cast<std::uintmax_t>(last) - from : std::uintmax_t{0};
    detail::chunked_work(static_cast<std::size_t>(count), std::move(how))
        .run(where, [&](std::size_t i, std::size_t end) {
            using number = std::common_type_t<First, Last>;
            for (; i != end; ++i) static_cast<void>(std::invoke(f, static_cast<number>(from + i)));
        });
}

/// Puts what f makes of each element where `out` and its successors point, which must be objects
/// of their own (of no vector<bool>). Returns the end of what was written.
template <std::ranges::forward_range Range, std::random_access_iterator Out, class F>
    requires std::indirectly_writable<
        Out, std::invoke_result_t<F&, std::ranges::range_reference_t<Range>>>
        Out parallel_transform(executor& where, Range&& range, Out out, F f,
                               parallel_options how = {}) {
        detail::refuse_empty("f", f);
        using distance = std::iter_difference_t<Out>;
        const detail::numbered elements(range);
        detail::chunked_work(elements.size(), std::move(how))
            .run(where, [&](std::size_t from, std::size_t to) {
                for (; from != to; ++from)
                    out[static_cast<distance>(from)] = std::invoke(f, elements[from]);
            });
        return out + static_cast<distance>(elements.size());
    }

/// What f makes of each element, in their order, as a vector.
template <std::ranges::forward_range Range, class F>
    requires std::invocable<F&, std::ranges::range_reference_t<Range>>
auto parallel_transform(executor& where, Range&& range, F f, parallel_options how = {}) {
    detail::refuse_empty("f", f);
    using result = std::decay_t<std::invoke_result_t<F&, std::ranges::range_reference_t<Range>>>;
    const detail::numbered elements(range);
    const detail::chunked_work work(elements.size(), std::move(how));
    const auto run = [&](auto store) {
        work.run(where, [&](std::size_t from, std::size_t to) {
            for (; from != to; ++from) store(from, std::invoke(f, elements[from]));
        });
    };
    std::vector<result> results;
    if constexpr (std::is_default_constructible_v<result> && std::is_move_assignable_v<result> &&
                  !std::is_same_v<result, bool>) {  // the elements of a vector<bool> share bytes
        results.resize(elements.size());
        run([&](std::size_t number, auto&& made) {
            results[number] = std::forward<decltype(made)>(made);
        });
    } else {
        std::vector<std::optional<result>> all(elements.size());
        run([&](std::size_t number, auto&& made) {
            all[number].emplace(std::forward<decltype(made)>(made));
        });
        results.reserve(all.size());
        for (auto& each : all) results.push_back(std::move(*each));
    }
    return results;
}

/// init combined by op with what `project` makes of each element, converted to T. op must be
/// associative, no more: elements are combined in their order, so that for a given chunk size
/// the result is always the same, floating point or not.
template <std::ranges::forward_range Range, class T, class Op, class Project>
    requires(
        std::convertible_to<std::invoke_result_t<Project&, std::ranges::range_reference_t<Range>>,
                            T>&& std::convertible_to<std::invoke_result_t<Op&, T, T>, T>)
T parallel_reduce(executor& where, Range&& range, T init, Op op, Project project,
                  parallel_options how = {}) {
    detail::refuse_empty("op", op);
    detail::refuse_empty("project", project);
    const detail::numbered elements(range);
    const detail::chunked_work work(elements.size(), std::move(how));
    std::vector<std::optional<T>> parts(work.chunks());
    work.run(where, [&](std::size_t from, std::size_t to) {
        auto& part = parts[from / work.chunk()];
        T so_far = part ? T(std::move(*part)) : T(std::invoke(project, elements[from++]));
        for (; from != to; ++from)
            so_far = std::invoke(op, std::move(so_far), T(std::invoke(project, elements[from])));
        part.emplace(std::move(so_far));
    });
    for (auto& part : parts) init = std::invoke(op, std::move(init), std::move(*part));
    return init;
}
template <std::ranges::forward_range Range, class T, class Op>
    requires std::convertible_to<std::ranges::range_reference_t<Range>, T> T
    parallel_reduce(executor& where, Range&& range, T init, Op op, parallel_options how = {}) {
        return parallel_reduce(where, std::forward<Range>(range), std::move(init), std::move(op),
                               std::identity(), std::move(how));
    }

}  // namespace cadre
