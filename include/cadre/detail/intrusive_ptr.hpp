// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace cadre::detail {

/// A counted pointer to an object that carries its own count: T has add_ref() and release(),
/// both noexcept, and deletes itself when the last reference goes.
template <class T>
class intrusive_ptr {
public:
    intrusive_ptr() noexcept = default;
    intrusive_ptr(std::nullptr_t) noexcept {}
    /// Shares an object: one reference more.
    explicit intrusive_ptr(T* object) noexcept : object_(object) {
        if (object_) object_->add_ref();
    }
    /// Takes over the reference that the caller holds.
    static intrusive_ptr adopt(T* object) noexcept {
        intrusive_ptr p;
        p.object_ = object;
        return p;
    }
    intrusive_ptr(const intrusive_ptr& other) noexcept : intrusive_ptr(other.object_) {}
    intrusive_ptr(intrusive_ptr&& other) noexcept
        : object_(std::exchange(other.object_, nullptr)) {}
    template <class U>
        requires std::is_convertible_v<U*, T*> intrusive_ptr(intrusive_ptr<U> other)
    noexcept : object_(other.detach()) {}
    intrusive_ptr& operator=(intrusive_ptr other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~intrusive_ptr() {
        if (object_) object_->release();
    }

    T* get() const noexcept { return object_; }
    T& operator*() const noexcept { return *object_; }
    T* operator->() const noexcept { return object_; }
    explicit operator bool() const noexcept { return object_ != nullptr; }
    friend bool operator==(const intrusive_ptr&, const intrusive_ptr&) = default;

    /// Gives the reference to the caller.
    [[nodiscard]] T* detach() noexcept { return std::exchange(object_, nullptr); }

private:
    T* object_ = nullptr;
};

}  // namespace cadre::detail
