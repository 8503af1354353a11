// SPDX-License-Identifier: Apache-2.0
// An HTTP server (cpp-httplib) whose requests run on a pool, with metrics for Prometheus:
//     http_server 8080 &  curl localhost:8080/hello?name=ann  localhost:8080/metrics;  kill %1
// On SIGTERM or Ctrl-C it takes no more requests, answers those that it has, and ends.

#include <csignal>
#include <iostream>

#include <httplib.h>

#include <cadre/cadre.hpp>
#include <cadre/manage/metrics_text.hpp>
#include <cadre/manage/pool_registry.hpp>

/// How cpp-httplib hands over a connection that it has accepted.
struct pool_of_requests : httplib::TaskQueue {
    explicit pool_of_requests(cadre::executor_service& on) : pool(on) {}
    void enqueue(std::function<void()> request) override {
        pool.execute(cadre::named("request", std::move(request)));
    }
    void shutdown() override { pool.close(); }  // waits until what was accepted is answered
    cadre::executor_service& pool;
};

int main(int argc, char** argv) {
    sigset_t ending;  // blocked before any thread is made, so that only sigwait() sees them
    sigemptyset(&ending);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &ending, nullptr);

    cadre::manage::pool_registry registry;
    const auto pool = registry.create({.name = "http",
                                       .settings = {.core_pool_size = 4,
                                                    .maximum_pool_size = 16,
                                                    .queue_capacity = 100,
                                                    .rejection = "caller_runs"}});  // back-pressure
    httplib::Server server;
    server.new_task_queue = [&] { return new pool_of_requests(*pool->executor()); };
    server.set_keep_alive_timeout(10);  // in seconds: so long an idle connection holds up the end
    server.set_read_timeout(30);
    server.Get("/hello", [](const httplib::Request& request, httplib::Response& response) {
        response.set_content("hello " + request.get_param_value("name") + "\n", "text/plain");
    });
    server.Get("/metrics", [&](const httplib::Request&, httplib::Response& response) {
        response.set_content(cadre::manage::prometheus_text(registry), "text/plain; version=0.0.4");
    });
    const int port = argc > 1 ? std::stoi(argv[1]) : server.bind_to_any_port("127.0.0.1");
    if (argc > 1 && !server.bind_to_port("127.0.0.1", port)) return 1;
    cadre::thread accepting([&] { server.listen_after_bind(); });
    std::cout << "listening on http://127.0.0.1:" << port << std::endl;

    int signal = 0;
    sigwait(&ending, &signal);
    while (!server.is_running()) cadre::this_thread::sleep_for(std::chrono::milliseconds(1));
    server.stop();
    accepting.join();
    std::cout << "answered " << pool->snapshot().completed_task_count << " connections\n";
}
