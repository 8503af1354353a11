// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "manage/centre.hpp"
#include "manage/digest.hpp"
#include "manage/http_client.hpp"
#include "manage/support/loopback_http.hpp"
#include "support/eventually.hpp"

extern char** environ;

namespace cadre::testing {

/// A real etcd on ports of loopback that are its own, with its data in a directory of its own.
class etcd_server {
public:
    etcd_server() {
        std::string name = (std::filesystem::temp_directory_path() / "cadre_etcd_XXXXXX").string();
        directory_ = mkdtemp(name.data());
        start();
        EXPECT_TRUE(is_ready()) << "etcd does not start; is etcd-server installed?";
    }
    ~etcd_server() {
        end(SIGKILL);
        std::filesystem::remove_all(directory_);
    }

    /// Returns when it answers, or has ended.
    void start() {
        const std::string arguments[] = {"etcd",
                                         "--data-dir",
                                         directory_ + "/data",
                                         "--listen-client-urls",
                                         url_,
                                         "--advertise-client-urls",
                                         url_,
                                         "--listen-peer-urls",
                                         peer_,
                                         "--initial-advertise-peer-urls",
                                         peer_,
                                         "--initial-cluster",
                                         "default=" + peer_,
                                         "--unsafe-no-fsync",
                                         "--bcrypt-cost",
                                         "4",
                                         "--heartbeat-interval",
                                         "10",
                                         "--election-timeout",
                                         "100",
                                         "--log-level",
                                         "error",
                                         "--auth-token-ttl",
                                         "300"};
        std::vector<char*> argv;
        for (const auto& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
        argv.push_back(nullptr);
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        for (const int output : {STDOUT_FILENO, STDERR_FILENO})
            posix_spawn_file_actions_addopen(&actions, output, "/dev/null", O_WRONLY, 0);
        EXPECT_EQ(posix_spawnp(&process_, "etcd", &actions, nullptr, argv.data(), environ), 0);
        posix_spawn_file_actions_destroy(&actions);
        eventually([&] { return is_ready() || has_ended(); });
    }
    void end(int signal) {
        if (process_ <= 0) return;
        kill(process_, signal);
        waitpid(process_, nullptr, 0);
        process_ = -1;
    }

    /// Between end() and start().
    void forget_everything() { std::filesystem::remove_all(directory_ + "/data"); }

    const std::string& url() const { return url_; }

    /// Returns the answer.
    manage::document_node call(const std::string& path, const std::string& body) {
        const auto response = client_.send({.url = url_ + path,
                                            .headers = headers_,
                                            .body = body,
                                            .post = true,
                                            .timeout = guard});
        EXPECT_EQ(response.status, 200) << path << ": " << response.body;
        return manage::detail::json_answer(response.body, path);
    }
    void put(const std::string& key, const std::string& value) {
        call("/v3/kv/put", "{\"key\":\"" + manage::detail::to_base64(key) + "\",\"value\":\"" +
                               manage::detail::to_base64(value) + "\"}");
    }
    void remove(const std::string& key) {
        call("/v3/kv/deleterange", "{\"key\":\"" + manage::detail::to_base64(key) + "\"}");
    }
    void compact_all() {
        const auto answer =
            call("/v3/kv/range", "{\"key\":\"" + manage::detail::to_base64("x") + "\"}");
        call("/v3/kv/compaction", "{\"revision\":\"" +
                                      manage::detail::text_at(*answer.find("header"), "revision") +
                                      "\",\"physical\":true}");
    }
    void require_password() {
        const std::string user = R"({"name":"root","password":"secret"})";
        call("/v3/auth/role/add", R"({"name":"root"})");
        call("/v3/auth/user/add", user);
        call("/v3/auth/user/grant", R"({"user":"root","role":"root"})");
        call("/v3/auth/enable", "{}");
        log_in();
    }
    /// Tokens of etcd do not outlive it.
    void log_in() {
        headers_.clear();
        const auto answer = call("/v3/auth/authenticate", R"({"name":"root","password":"secret"})");
        headers_ = {"Authorization: " + manage::detail::text_at(answer, "token")};
    }

private:
    bool has_ended() {
        if (process_ > 0 && waitpid(process_, nullptr, WNOHANG) == process_) process_ = -1;
        return process_ < 0;
    }
    bool is_ready() {
        try {
            return client_.send({.url = url_ + "/health"}).status == 200;
        } catch (const manage::detail::http_failure&) {
            return false;
        }
    }

    manage::detail::stop_signal never_;
    manage::detail::http_client client_{never_};
    std::vector<std::string> headers_;
    std::string directory_;
    const reserved_port port_;
    const reserved_port peer_port_;
    const std::string url_ = "http://127.0.0.1:" + std::to_string(port_.number());
    const std::string peer_ = "http://127.0.0.1:" + std::to_string(peer_port_.number());
    pid_t process_ = -1;
};

}  // namespace cadre::testing
