// SPDX-License-Identifier: Apache-2.0
//
// A scheduled_thread_pool_executor as the commands see it.

#include "pool_under_test.hpp"

namespace oracle {

std::unique_ptr<pool_under_test> make_scheduled_pool(const pool_options&) {
    throw not_understood("scheduled pools are not there yet");
}

std::shared_ptr<held_future> schedule(pool_under_test&, const words&, int) {
    throw java_error("ClassCastException");
}

}  // namespace oracle
