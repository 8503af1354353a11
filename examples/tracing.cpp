// SPDX-License-Identifier: Apache-2.0
// Two requests, each with a task that submits further ones: the id of the request goes with them,
// from thread to thread. What ran when and where is written as a trace for Perfetto or Chrome:
//     tracing trace.json

#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#include <cadre/cadre.hpp>

thread_local std::string request_id;

void log(const std::string& text) {
    std::ostringstream line;
    line << '[' << request_id << "] " << text << '\n';
    std::cout << line.str();
}

int main(int argc, char** argv) {
    const auto carried = cadre::carry_context([] { return request_id; },
                                              [](std::string id) { request_id = std::move(id); });
    cadre::task_tracer tracer;
    {
        cadre::thread_pool_executor pool({.core_pool_size = 2,
                                          .hooks = {.decorate_task = tracer.decorator("shop")},
                                          .name = "shop"});
        for (const char* id : {"request 1", "request 2"}) {
            request_id = id;
            pool.execute(cadre::named("order", [&] {
                log("order received");
                pool.execute(cadre::named("pay", [] { log("paid"); }));
                pool.execute(cadre::named("pack", [] { log("packed"); }));
            }));
        }
        while (pool.completed_task_count() < 6)
            cadre::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::ofstream file(argc > 1 ? argv[1] : "/dev/null");
    tracer.write_json(file);
    std::cout << "a trace of " << tracer.size() << " tasks\n";
}
