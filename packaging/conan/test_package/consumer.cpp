// SPDX-License-Identifier: Apache-2.0
#include <cadre/cadre.hpp>

int main() {
    cadre::thread_pool_executor pool({.core_pool_size = 2});
    return pool.submit([] { return 42; }).get() == 42 ? 0 : 1;
}
