// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>

#include "support/p2300.hpp"

/// A few algorithms of std::execution in their simplest form. Senders have one kind of set_value,
/// and errors are std::exception_ptr.
namespace p2300 {

template <class... Signatures>
struct values {
    using type = std::tuple<>;
};
template <class... V, class... Rest>
struct values<set_value_t(V...), Rest...> {
    using type = std::tuple<std::decay_t<V>...>;
};
template <class First, class... Rest>
struct values<First, Rest...> : values<Rest...> {};
template <class... Signatures>
struct values<completion_signatures<Signatures...>> : values<Signatures...> {};
template <class Sender>
using values_of = typename values<completion_signatures_of_t<Sender>>::type;

template <class Tuple>
struct signatures_with;
template <class... V>
struct signatures_with<std::tuple<V...>> {
    using type =
        completion_signatures<set_value_t(V...), set_error_t(std::exception_ptr), set_stopped_t()>;
};
template <class R>
using tuple_of = std::conditional_t<std::is_void_v<R>, std::tuple<>, std::tuple<R>>;

template <class Receiver>
struct passing_receiver {
    using receiver_concept = receiver_tag;
    Receiver to;
    void set_error(std::exception_ptr e) noexcept { p2300::set_error(std::move(to), std::move(e)); }
    void set_stopped() noexcept { p2300::set_stopped(std::move(to)); }
    auto get_env() const noexcept { return p2300::get_env(to); }
};

template <class... V>
struct just_sender {
    using sender_concept = sender_tag;
    using completion_signatures = p2300::completion_signatures<set_value_t(V...)>;
    std::tuple<V...> held;

    template <class Receiver>
    struct operation {
        using operation_state_concept = operation_state_tag;
        Receiver to;
        std::tuple<V...> held;
        operation(Receiver r, std::tuple<V...> v) : to(std::move(r)), held(std::move(v)) {}
        operation(const operation&) = delete;
        void start() & noexcept {
            std::apply([&](V&... v) { p2300::set_value(std::move(to), std::move(v)...); }, held);
        }
    };
    template <class Receiver>
    operation<Receiver> connect(Receiver to) && {
        return {std::move(to), std::move(held)};
    }
};
template <class... V>
just_sender<V...> just(V... v) {
    return {{std::move(v)...}};
}

template <class From, class F>
struct then_sender {
    using sender_concept = sender_tag;
    using result = decltype(std::apply(std::declval<F&>(), std::declval<values_of<From>>()));
    using completion_signatures = typename signatures_with<tuple_of<result>>::type;
    From from;
    F f;

    template <class Receiver>
    struct then_receiver : passing_receiver<Receiver> {
        F f;
        template <class... V>
        void set_value(V&&... v) noexcept {
            try {
                if constexpr (std::is_void_v<result>) {
                    f(std::forward<V>(v)...);
                    p2300::set_value(std::move(this->to));
                } else {
                    p2300::set_value(std::move(this->to), f(std::forward<V>(v)...));
                }
            } catch (...) {
                this->set_error(std::current_exception());
            }
        }
    };
    template <class Receiver>
    auto connect(Receiver to) && {
        return p2300::connect(std::move(from),
                              then_receiver<Receiver>{{std::move(to)}, std::move(f)});
    }
};
template <sender From, class F>
then_sender<From, F> then(From from, F f) {
    return {std::move(from), std::move(f)};
}

/// What a function of the values returns, which is a sender, goes on.
template <class From, class F>
struct let_value_sender {
    using sender_concept = sender_tag;
    using kept = values_of<From>;
    using next = decltype(std::apply(std::declval<F&>(), std::declval<kept&>()));
    using completion_signatures = typename signatures_with<values_of<next>>::type;
    From from;
    F f;

    template <class Receiver>
    struct operation {
        struct first_receiver {
            using receiver_concept = receiver_tag;
            operation* self;
            template <class... V>
            void set_value(V&&... v) noexcept {
                try {
                    self->held.emplace(std::forward<V>(v)...);
                    self->second.emplace([this] {
                        return p2300::connect(std::apply(self->f, *self->held),
                                              passing<Receiver>{{std::move(self->to)}});
                    });
                } catch (...) {
                    return set_error(std::current_exception());
                }
                p2300::start(self->second->value);
            }
            void set_error(std::exception_ptr e) noexcept {
                p2300::set_error(std::move(self->to), std::move(e));
            }
            void set_stopped() noexcept { p2300::set_stopped(std::move(self->to)); }
            decltype(p2300::get_env(std::declval<const Receiver&>())) get_env() const noexcept {
                return p2300::get_env(self->to);
            }
        };
        template <class R>
        struct passing : passing_receiver<R> {
            template <class... V>
            void set_value(V&&... v) noexcept {
                p2300::set_value(std::move(this->to), std::forward<V>(v)...);
            }
        };
        struct holder {  // of what cannot be moved
            connect_result_t<next, passing<Receiver>> value;
            template <class Make>
            explicit holder(Make make) : value(make()) {}
        };
        using operation_state_concept = operation_state_tag;

        Receiver to;
        F f;
        std::optional<kept> held;
        std::optional<holder> second;
        connect_result_t<From, first_receiver> first;

        operation(From s, F function, Receiver r)
            : to(std::move(r)),
              f(std::move(function)),
              first(p2300::connect(std::move(s), first_receiver{this})) {}
        operation(const operation&) = delete;
        void start() & noexcept { p2300::start(first); }
    };
    template <class Receiver>
    operation<Receiver> connect(Receiver to) && {
        return {std::move(from), std::move(f), std::move(to)};
    }
};
template <sender From, class F>
let_value_sender<From, F> let_value(From from, F f) {
    return {std::move(from), std::move(f)};
}

struct stoppable_env {
    stop_token token;
    const stop_token& query(get_stop_token_t) const noexcept { return token; }
};

/// All values of two senders; the first that fails or stops stops the other.
template <class A, class B>
struct when_all_sender {
    using sender_concept = sender_tag;
    using joined =
        decltype(std::tuple_cat(std::declval<values_of<A>>(), std::declval<values_of<B>>()));
    using completion_signatures = typename signatures_with<joined>::type;
    A a;
    B b;

    template <class Receiver>
    struct operation {
        template <int which>
        struct part_receiver {
            using receiver_concept = receiver_tag;
            operation* self;
            template <class... V>
            void set_value(V&&... v) noexcept {
                std::get<which>(self->results).emplace(std::forward<V>(v)...);
                self->arrived();
            }
            void set_error(std::exception_ptr e) noexcept {
                if (!self->failed.exchange(true)) self->error = std::move(e);
                self->stop.request_stop();
                self->arrived();
            }
            void set_stopped() noexcept {
                self->failed.exchange(true);
                self->stop.request_stop();
                self->arrived();
            }
            stoppable_env get_env() const noexcept { return {{self->stop.get_token()}}; }
        };
        using operation_state_concept = operation_state_tag;

        Receiver to;
        std::stop_source stop;
        std::atomic<int> missing = 2;
        std::atomic<bool> failed = false;
        std::exception_ptr error;
        std::tuple<std::optional<values_of<A>>, std::optional<values_of<B>>> results;
        connect_result_t<A, part_receiver<0>> first;
        connect_result_t<B, part_receiver<1>> second;

        operation(A x, B y, Receiver r)
            : to(std::move(r)),
              first(p2300::connect(std::move(x), part_receiver<0>{this})),
              second(p2300::connect(std::move(y), part_receiver<1>{this})) {}
        operation(const operation&) = delete;
        void start() & noexcept {
            p2300::start(first);
            p2300::start(second);
        }
        void arrived() noexcept {
            if (missing.fetch_sub(1) != 1) return;
            if (error) return p2300::set_error(std::move(to), std::move(error));
            if (failed) return p2300::set_stopped(std::move(to));
            std::apply(
                [&](auto&&... v) { p2300::set_value(std::move(to), std::move(v)...); },
                std::tuple_cat(std::move(*std::get<0>(results)), std::move(*std::get<1>(results))));
        }
    };
    template <class Receiver>
    operation<Receiver> connect(Receiver to) && {
        return {std::move(a), std::move(b), std::move(to)};
    }
};
template <sender A, sender B>
when_all_sender<A, B> when_all(A a, B b) {
    return {std::move(a), std::move(b)};
}

template <class From>
struct sync_wait_state {
    std::mutex mutex;  // guards `over`
    std::condition_variable changed;
    bool over = false;
    std::optional<values_of<From>> result;
    std::exception_ptr error;
    void end() noexcept {
        const std::lock_guard lock(mutex);
        over = true;
        changed.notify_one();  // under the lock: the state goes when it is seen
    }
};

template <class From>
struct sync_wait_receiver {
    using receiver_concept = receiver_tag;
    sync_wait_state<From>* at;
    stop_token token;
    template <class... V>
    void set_value(V&&... v) noexcept {
        try {
            at->result.emplace(std::forward<V>(v)...);
        } catch (...) {
            at->error = std::current_exception();
        }
        at->end();
    }
    void set_error(std::exception_ptr e) noexcept {
        at->error = std::move(e);
        at->end();
    }
    void set_stopped() noexcept { at->end(); }
    stoppable_env get_env() const noexcept { return {token}; }
};

/// The values of a sender; nothing if it stopped. Throws its error. Its environment has this token.
template <sender From>
std::optional<values_of<From>> sync_wait(From from, std::stop_token stop = {}) {
    sync_wait_state<From> here;
    auto operation =
        connect(std::move(from), sync_wait_receiver<From>{&here, stop_token{std::move(stop)}});
    start(operation);
    std::unique_lock lock(here.mutex);
    here.changed.wait(lock, [&] { return here.over; });
    if (here.error) std::rethrow_exception(here.error);
    return std::move(here.result);
}

}  // namespace p2300
