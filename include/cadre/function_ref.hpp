// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace cadre {

/// A callable that is borrowed for the length of a call: two pointers, no allocation.
/// It must not outlive what it was made from; use it for parameters only.
template <class Signature>
class function_ref;

/// For functions that take Args and return R.
template <class R, class... Args>
class function_ref<R(Args...)> {
public:
    template <class F>
        requires(!std::is_same_v<std::remove_cvref_t<F>, function_ref> &&
                 std::is_invocable_r_v<R, F&, Args...>)
    function_ref(F&& f)
    noexcept {
        using callable = std::remove_reference_t<F>;
        if constexpr (std::is_function_v<callable>) {
            object_.function = reinterpret_cast<void (*)()>(std::addressof(f));
            call_ = [](target object, Args... args) -> R {
                return invoke(reinterpret_cast<callable*>(object.function),
                              std::forward<Args>(args)...);
            };
        } else {
            object_.data = const_cast<void*>(static_cast<const void*>(std::addressof(f)));
            call_ = [](target object, Args... args) -> R {
                return invoke(*static_cast<callable*>(object.data), std::forward<Args>(args)...);
            };
        }
    }

    R operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

private:
    union target {
        void* data;
        void (*function)();
    };
    /// std::invoke, with the result converted, or dropped if R is void.
    template <class F>
    static R invoke(F&& f, Args&&... args) {
        if constexpr (std::is_void_v<R>)
            static_cast<void>(std::invoke(f, std::forward<Args>(args)...));
        else
            return std::invoke(f, std::forward<Args>(args)...);
    }

    target object_;
    R (*call_)(target, Args...);
};

}  // namespace cadre
