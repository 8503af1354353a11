// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <utility>

#if defined(__SANITIZE_THREAD__)
#define CADRE_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CADRE_THREAD_SANITIZER
#endif
#endif

#ifdef CADRE_THREAD_SANITIZER
extern "C" void AnnotateIgnoreReadsBegin(const char* file, int line);
extern "C" void AnnotateIgnoreReadsEnd(const char* file, int line);
extern "C" void AnnotateIgnoreWritesBegin(const char* file, int line);
extern "C" void AnnotateIgnoreWritesEnd(const char* file, int line);
#endif

namespace cadre::detail {

/// An exception that is kept for others to catch. Whoever lets go of it last destroys it, perhaps
/// while another thread has only just left its catch block. What orders the two is the count of the
/// exception, which lives in the C++ runtime. The runtime is not instrumented, so ThreadSanitizer
/// would take each earlier look at the exception for a race with its end: it is told to look away.
class held_exception {
public:
    held_exception() noexcept = default;
    held_exception(const held_exception&) = delete;
    held_exception& operator=(const held_exception&) = delete;
    ~held_exception() {
        if (kept_) let_go();
    }

    void hold(std::exception_ptr error) noexcept { kept_.swap(error); }
    const std::exception_ptr& get() const noexcept { return kept_; }
    explicit operator bool() const noexcept { return kept_ != nullptr; }

private:
    void let_go() noexcept {
#ifdef CADRE_THREAD_SANITIZER
        AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
        AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
        kept_ = nullptr;
        AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
        AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
#else
        kept_ = nullptr;
#endif
    }

    std::exception_ptr kept_;
};

}  // namespace cadre::detail
