// SPDX-License-Identifier: Apache-2.0
// A pool as an executor of Asio: three coroutines wait for timers without a thread, go on on the
// pool, and write one after the other through a strand.

#include <iostream>
#include <latch>
#include <string>

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <asio/strand.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <cadre/asio.hpp>
#include <cadre/cadre.hpp>

using lane = asio::strand<cadre::asio_context::executor_type>;

asio::awaitable<void> sensor(std::string name, lane log, int& lines, std::latch& over) {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    for (int i = 1; i <= 3; ++i) {
        timer.expires_after(std::chrono::milliseconds(5));
        co_await timer.async_wait(asio::use_awaitable);
        asio::post(log, [=, &lines] {  // no lock: the strand runs one at a time
            ++lines;
            std::cout << name << ' ' << i << '\n';
        });
    }
    asio::post(log, [&over] { over.count_down(); });  // behind its lines
}

int main() {
    int lines = 0;
    std::latch over(3);
    cadre::thread_pool_executor pool({.core_pool_size = 2, .name = "io"});
    cadre::asio_context context(pool);
    const lane log = asio::make_strand(context.get_executor());
    for (const char* name : {"heat", "light", "rain"})
        asio::co_spawn(context.get_executor(), sensor(name, log, lines, over), asio::detached);
    over.wait();
    std::cout << lines << " lines on " << pool.largest_pool_size() << " threads\n";
}  // the context waits for its handlers, then the pool ends
