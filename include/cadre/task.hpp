// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <cadre/detail/export.hpp>
#include <cadre/detail/recycled_memory.hpp>
#include <cadre/errors.hpp>
#include <cadre/thread.hpp>

namespace cadre {

class task;

namespace detail {

/// True for a callable that holds nothing to call: a null pointer, an empty std::function or task.
template <class F>
bool is_empty_callable(const F& f) {
    if constexpr (std::is_pointer_v<F> || std::is_member_pointer_v<F>)
        return f == nullptr;
    else if constexpr (std::is_empty_v<F> || std::is_function_v<F>)
        return false;  // a lambda without captures would compare as a function pointer
    else if constexpr (requires { static_cast<bool>(f == nullptr); })
        return static_cast<bool>(f == nullptr);
    else
        return false;
}

/// F as a task calls it: an lvalue, for a task may be run again, if F does not want to be an
/// rvalue.
template <class F, class... Args>
using called_as = std::conditional_t<
    std::is_invocable_v<F&, Args...> || std::is_invocable_v<F&, std::stop_token, Args...>, F&, F&&>;

/// True if F gets a std::stop_token before Args: whenever it takes one, as with std::jthread. What
/// std::bind makes takes anything, and drops it.
template <class F, class... Args>
inline constexpr bool takes_stop_token =
    std::is_invocable_v<called_as<F, Args...>, std::stop_token, Args...> &&
    !(std::is_bind_expression_v<F> && sizeof...(Args) == 0 && std::is_invocable_v<F&>);

template <class F, class... Args>
inline constexpr bool is_task_callable =
    std::is_invocable_v<called_as<F, Args...>, Args...> || takes_stop_token<F, Args...>;

/// Calls f as a task does.
template <class F, class... Args>
decltype(auto) invoke_task(F& f, Args&&... args) {
    using called = called_as<F, Args...>;
    if constexpr (takes_stop_token<F, Args...>)
        return std::invoke(static_cast<called>(f), this_thread::stop_token(),
                           std::forward<Args>(args)...);
    else
        return std::invoke(static_cast<called>(f), std::forward<Args>(args)...);
}

/// The state of the future that a callable has inside, as a number; 0 if it has none.
template <class F>
std::uintptr_t future_inside(const F& f) noexcept;

/// A callable with a name and a priority. It is called as the callable itself would be.
template <class F>
struct annotated {
    F function;
    std::string name = {};
    int priority = 0;

    template <class... Args>
    using called = std::conditional_t<std::is_invocable_v<F&, Args...>, F&, F&&>;
    template <class... Args>
        requires std::is_invocable_v<called<Args...>, Args...>
    decltype(auto) operator()(Args&&... args) {
        return std::invoke(static_cast<called<Args...>>(function), std::forward<Args>(args)...);
    }
    std::string_view task_name() const noexcept { return name; }
    int task_priority() const noexcept { return priority; }
    std::uintptr_t task_identity() const noexcept
        requires(std::is_same_v<F, task> || requires(const F& f) { f.task_identity(); }) {
        return future_inside(function);
    }
};

/// A callable that has a name and a priority, or passes on those of one inside.
template <class F>
concept has_annotations = requires(const F& f) {
    f.task_name();
    f.task_priority();
};

/// With the name and the priority that f has already.
template <class F>
annotated<std::decay_t<F>> annotate(F&& f) {
    using function = std::decay_t<F>;
    if (is_empty_callable(f)) throw std::invalid_argument("the callable is empty");
    std::string name;
    int priority = 0;
    if constexpr (std::is_same_v<function, task>) {
        name = f.name();
        priority = f.priority();
    } else if constexpr (has_annotations<function>) {
        name = f.task_name();
        priority = f.task_priority();
    }
    return {.function = std::forward<F>(f), .name = std::move(name), .priority = priority};
}
template <class F>
annotated<F> annotate(annotated<F> f) {
    return f;
}

struct task_access;

}  // namespace detail

/// Gives a callable a name, which traces, hooks and error messages show.
///
///     pool.execute(cadre::named("flush", [&] { cache.flush(); }));
template <class F>
auto named(std::string name, F f) {
    auto task = detail::annotate(std::move(f));
    task.name = std::move(name);
    return task;
}

/// Gives a callable a priority: larger runs first in a priority_blocking_queue<task>.
template <class F>
auto prioritized(int priority, F f) {
    auto task = detail::annotate(std::move(f));
    task.priority = priority;
    return task;
}

/// What a pool runs: a callable without arguments or result, or one that takes a std::stop_token;
/// one that can be called either way gets the token, as with std::jthread. Move-only; a callable of
/// up to 48 bytes that moves without exceptions lives inside, without allocation, any other in
/// memory that is kept for the next such task. Made of an empty callable it is empty. Not to be
/// used by two threads at once.
class CADRE_API task {
public:
    task() noexcept = default;
    task(std::nullptr_t) noexcept {}
    template <class F>
        requires(!std::is_same_v<std::remove_cvref_t<F>, task> &&
                 detail::is_task_callable<std::decay_t<F>>)
    task(F&& f) {
        if (detail::is_empty_callable(f)) return;
        emplace<std::decay_t<F>>(std::forward<F>(f));
    }
    task(task&& other) noexcept { take(other); }
    task& operator=(task&& other) noexcept {
        if (this != &other) {
            reset();
            take(other);
        }
        return *this;
    }
    ~task() { reset(); }

    /// Runs the callable. Throws illegal_state if the task is empty.
    void operator()() {
        if (!operations_) throw illegal_state("an empty task cannot be run");
        operations_->invoke(storage_);
    }
    explicit operator bool() const noexcept { return operations_ != nullptr; }
    /// For tasks alone: what can be made a task, a callable round another task say, is none.
    template <std::same_as<task> Task>
    friend bool operator==(const Task& t, std::nullptr_t) noexcept {
        return !t;
    }

    /// Empty if it has none.
    std::string_view name() const noexcept {
        return operations_ && operations_->name ? operations_->name(storage_) : std::string_view();
    }
    /// 0 if it has none.
    int priority() const noexcept { return operations_ ? operations_->priority(storage_) : 0; }

private:
    friend struct detail::task_access;

    static constexpr std::size_t inline_size = 48;

    struct operations {
        void (*invoke)(void*);
        void (*relocate)(void* to, void* from) noexcept;  // null: the bytes are the value
        void (*destroy)(void*);                           // null: nothing to do
        std::string_view (*name)(const void*) noexcept;   // null: it has none
        int (*priority)(const void*) noexcept;
        std::int64_t (*stamp)(const void*) noexcept;  // null: it has none
    };

    static constexpr operations relocated = {};  // of what is no task any more

    template <class F>
    static constexpr bool fits =
        sizeof(F) <= inline_size &&
        alignof(F) <= alignof(std::max_align_t) && std::is_nothrow_move_constructible_v<F>;

    /// A callable that does not fit. Made by one thread and destroyed by another, as a rule.
    template <class F>
    struct outside final : detail::in_recycled_memory {
        template <class From>
        explicit outside(From&& from) : function(std::forward<From>(from)) {}
        F function;
    };

    template <class F>
    static outside<F>*& pointer(void* storage) noexcept {
        return *std::launder(static_cast<outside<F>**>(storage));
    }
    template <class F, bool inside>
    static F& callable(void* storage) noexcept {
        if constexpr (inside)
            return *std::launder(static_cast<F*>(storage));
        else
            return pointer<F>(storage)->function;
    }

    template <class F, bool inside>
    static constexpr auto stamp_function() -> std::int64_t (*)(const void*) noexcept {
        if constexpr (requires(const F& f) { f.task_stamp(); })
            return [](const void* storage) noexcept -> std::int64_t {
                return callable<F, inside>(const_cast<void*>(storage)).task_stamp();
            };
        else
            return nullptr;
    }

    template <class F, bool inside>
    static constexpr auto name_function() -> std::string_view (*)(const void*) noexcept {
        if constexpr (requires(const F& f) { f.task_name(); })
            return [](const void* storage) noexcept -> std::string_view {
                return callable<F, inside>(const_cast<void*>(storage)).task_name();
            };
        else
            return nullptr;
    }

    template <class F, bool inside>
    static constexpr operations operations_for = {
        .invoke =
            [](void* storage) {
                static_cast<void>(detail::invoke_task(callable<F, inside>(storage)));
            },
        .relocate = inside && !std::is_trivially_copyable_v<F>
                        ? [](void* to, void* from) noexcept {
                              F& source = callable<F, true>(from);
                              ::new (to) F(std::move(source));
                              source.~F();
                          }
                        : static_cast<void (*)(void*, void*) noexcept>(nullptr),
        .destroy = inside && std::is_trivially_destructible_v<F>
                       ? static_cast<void (*)(void*)>(nullptr)
                       : [](void* storage) {
                             if constexpr (inside)
                                 callable<F, true>(storage).~F();
                             else
                                 delete pointer<F>(storage);
                         },
        .name = name_function<F, inside>(),
        .priority = [](const void* storage) noexcept -> int {
            if constexpr (requires(const F& f) { f.task_priority(); })
                return callable<F, inside>(const_cast<void*>(storage)).task_priority();
            else
                return 0;
        },
        .stamp = stamp_function<F, inside>(),
    };

    template <class F, class From>
    void emplace(From&& from) {
        if constexpr (fits<F>) {
            ::new (static_cast<void*>(storage_)) F(std::forward<From>(from));
            operations_ = &operations_for<F, true>;
        } else {
            using kept = outside<F>;
            ::new (static_cast<void*>(storage_)) kept*(new kept(std::forward<From>(from)));
            operations_ = &operations_for<F, false>;
        }
        if constexpr (requires(const F& f) { f.task_identity(); })
            identity_ = callable<F, fits<F>>(storage_).task_identity();
    }

    void take(task& other) noexcept {
        operations_ = std::exchange(other.operations_, nullptr);
        identity_ = std::exchange(other.identity_, 0);
        if (operations_) take_storage(other);
    }
    void take_storage(task& other) noexcept {
        if (operations_->relocate)
            operations_->relocate(storage_, other.storage_);
        else
            copy_bytes(storage_, other.storage_);
    }
    // A small callable leaves the end of its storage as it was; g++ warns of the copy of that.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
    static void copy_bytes(std::byte* to, const std::byte* from) noexcept {
        std::memcpy(to, from, inline_size);
    }
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

    /// Destroys the callable. An exception of its destructor has nowhere to go from here; a pool
    /// asks for it through task_access::release instead.
    void reset() noexcept {
        try {
            release();
        } catch (...) {}
    }
    void release() {
        identity_ = 0;
        const operations* old = std::exchange(operations_, nullptr);
        if (old && old->destroy) old->destroy(storage_);
    }

    alignas(std::max_align_t) std::byte storage_[inline_size];
    const operations* operations_ = nullptr;
    // Which task this is, for those who look for it in a queue: the address of the state of its
    // future, or an odd number given to it by its pool, which may be made of a stamp. 0: none yet.
    std::uintptr_t identity_ = 0;
};

namespace detail {

/// A tick is a time without so many bits of its nanoseconds, so about a millisecond, and never more
/// than so many of those behind.
inline constexpr int tick_bits = 20;
inline constexpr int most_ticks_behind = 5;

/// What pools and futures may do with a task.
struct task_access {
    static std::uintptr_t identity(const task& t) noexcept { return t.identity_; }
    static void set_identity(task& t, std::uintptr_t identity) noexcept { t.identity_ = identity; }
    /// What the pool's observer gave it on its way; 0 if nothing.
    static std::int64_t stamp(const task& t) noexcept {
        if (t.operations_ && t.operations_->stamp) return t.operations_->stamp(t.storage_);
        if (has_stamp_inside(t))
            return static_cast<std::int64_t>((t.identity_ & ~stamp_inside) >> 1);
        return has_coarse_stamp(t) ? coarse_stamp_of(t.identity_) : 0;
    }
    /// In an odd identity: the bits below, but for the lowest, are a stamp.
    static constexpr std::uintptr_t stamp_inside = ~(~std::uintptr_t{0} >> 1);
    /// With the one above: some of the bits below are a tick. See coarse_stamp.hpp.
    static constexpr std::uintptr_t coarse_stamp = stamp_inside >> 1;
    static bool has_stamp_inside(const task& t) noexcept {
        return (t.identity_ & (stamp_inside | coarse_stamp | 1)) == (stamp_inside | 1);
    }
    static bool has_coarse_stamp(const task& t) noexcept {
        return (t.identity_ & (stamp_inside | coarse_stamp | 1)) ==
                   (stamp_inside | coarse_stamp | 1) &&
               !(t.operations_ && t.operations_->stamp);
    }
    CADRE_API static std::int64_t coarse_stamp_of(std::uintptr_t identity) noexcept;
    /// True for a callable as the user gave it: it has no name, nor a future, nor anything wrapped
    /// round it.
    static bool is_bare(const task& t) noexcept {
        return t.operations_ && !t.operations_->name && !t.operations_->stamp &&
               (t.identity_ == 0 || (t.identity_ & 1) != 0);
    }
    /// Destroys the callable and lets its exceptions through.
    static void release(task& t) { t.release(); }
    /// Moves `from` to `to` and ends its life; whoever sees was_relocated(from) after that may use
    /// its memory for something else.
    static void relocate(task& from, task& to) noexcept {
        to.reset();
        to.operations_ = from.operations_;
        to.identity_ = from.identity_;
        if (to.operations_) to.take_storage(from);
        // release: pairs with was_relocated().
        std::atomic_ref(from.operations_).store(&task::relocated, std::memory_order_release);
    }
    static bool was_relocated(task& from) noexcept {
        return std::atomic_ref(from.operations_).load(std::memory_order_acquire) ==
               &task::relocated;
    }
};

template <class F>
std::uintptr_t future_inside(const F& f) noexcept {
    std::uintptr_t identity = 0;
    if constexpr (std::is_same_v<F, task>)
        identity = task_access::identity(f);
    else
        identity = f.task_identity();
    return identity & 1 ? 0 : identity;  // a number was given to what is inside, not to this
}

}  // namespace detail

static_assert(std::is_nothrow_move_constructible_v<task> &&
              std::is_nothrow_move_assignable_v<task>);

}  // namespace cadre
