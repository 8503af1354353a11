// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

#include <cadre/detail/export.hpp>

namespace cadre {

/// A task was not accepted: the pool is saturated or shut down, and its policy said no.
class CADRE_API rejected_execution : public std::runtime_error {
public:
    rejected_execution() : std::runtime_error("the task was rejected") {}
    using std::runtime_error::runtime_error;
};

/// The result was asked of a task that had been cancelled.
class CADRE_API cancellation : public std::runtime_error {
public:
    cancellation() : std::runtime_error("the task was cancelled") {}
    using std::runtime_error::runtime_error;
};

/// A wait ended because its time was up.
class CADRE_API timeout : public std::runtime_error {
public:
    timeout() : std::runtime_error("timed out") {}
    using std::runtime_error::runtime_error;
};

/// A blocking call ended because its thread was interrupted. The thread's flag is clear again.
class CADRE_API interrupted : public std::runtime_error {
public:
    interrupted() : std::runtime_error("the thread was interrupted") {}
    using std::runtime_error::runtime_error;
};

/// The object is in no state to do this: a full queue, a result taken twice, a wait for oneself.
class CADRE_API illegal_state : public std::logic_error {
public:
    illegal_state() : std::logic_error("the object is in no state to do this") {}
    using std::logic_error::logic_error;
};

/// The head of an empty queue was asked for.
class CADRE_API no_such_element : public std::logic_error {
public:
    no_such_element() : std::logic_error("the queue is empty") {}
    using std::logic_error::logic_error;
};

}  // namespace cadre
