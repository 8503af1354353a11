// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "manage/digest.hpp"
#include "manage/support/loopback_http.hpp"

// What the servers of the sources do, as their documentation says; and, on demand, what they should
// not.

namespace cadre::testing {

/// A server with one document that can be changed, and faults that come before its answers.
class standin {
public:
    virtual ~standin() = default;
    std::string url() const { return http_.url(); }
    void set(std::optional<std::string> text) {
        const std::lock_guard lock(mutex_);
        change(std::move(text));
    }
    void set_version(int version) {
        const std::lock_guard lock(mutex_);
        version_ = version;
        changed_.notify_all();
    }
    void hold_polls_for(std::chrono::milliseconds longest) {
        const std::lock_guard lock(mutex_);
        hold_ = longest;
    }
    void inject(served_answer fault) {
        const std::lock_guard lock(mutex_);
        faults_.push_back(std::move(fault));
        changed_.notify_all();
    }
    bool all_injected() const {
        const std::lock_guard lock(mutex_);
        return faults_.empty();
    }
    std::vector<served_request> requests() const {
        const std::lock_guard lock(mutex_);
        return requests_;
    }

protected:
    using lock_type = std::unique_lock<std::mutex>;
    virtual served_answer answer(const served_request& request, lock_type& lock) = 0;
    /// Call it in the destructor, before what answer() uses is gone.
    void end() { http_.end(); }
    void change(std::optional<std::string> text) {
        text_ = std::move(text);
        ++version_;
        changed_.notify_all();
    }
    /// A long poll: until the fact, for a moment.
    template <class Fact>
    void hold(lock_type& lock, Fact fact) {
        changed_.wait_for(lock, hold_, [&] { return fact() || !faults_.empty(); });
    }

    mutable std::mutex mutex_;  // guards all below
    std::condition_variable changed_;
    std::optional<std::string> text_;
    int version_ = 1;
    std::chrono::milliseconds hold_{20};
    std::deque<served_answer> faults_;
    std::vector<served_request> requests_;

private:
    loopback_http http_{[this](const served_request& request) {
        lock_type lock(mutex_);
        requests_.push_back(request);
        auto reply = answer(request, lock);
        if (faults_.empty()) return reply;
        reply = faults_.front();
        faults_.pop_front();
        return reply;
    }};
};

/// A server of files, with one, which knows it by its ETag.
class file_server final : public standin {
public:
    ~file_server() override { end(); }

private:
    served_answer answer(const served_request& request, lock_type&) override {
        if (!text_) return {.status = 404};
        const std::string etag = "\"" + std::to_string(version_) + "\"";
        const auto has = request.headers.find("if-none-match");
        if (has != request.headers.end() && has->second == etag) return {.status = 304};
        return {.body = *text_, .headers = {{"ETag", etag}}};
    }
};

/// Consul's key/value store, with one key, whatever it is called.
class consul_standin final : public standin {
public:
    ~consul_standin() override { end(); }

private:
    served_answer answer(const served_request& request, lock_type& lock) override {
        if (!request.path.starts_with("/v1/kv/")) return {.status = 404};
        if (request.method == "PUT" || request.method == "DELETE") {
            change(request.method == "PUT" ? std::optional(request.body) : std::nullopt);
            return {.body = "true"};
        }
        const auto asked = request.query.find("index");
        const int index = asked == request.query.end() ? 0 : std::stoi(asked->second);
        if (index == version_) hold(lock, [&] { return version_ != index; });
        const std::string now = std::to_string(version_);
        const std::map<std::string, std::string> headers{{"X-Consul-Index", now},
                                                         {"Content-Type", "application/json"}};
        if (!text_) return {.status = 404, .headers = headers};
        return {.body = R"([{"LockIndex":0,"Key":")" + url_decoded(request.path.substr(7)) +
                        R"(","Flags":0,"Value":")" + manage::detail::to_base64(*text_) +
                        R"(","CreateIndex":1,"ModifyIndex":)" + now + "}]",
                .headers = headers};
    }
};

/// Servers 1.x and 2.x, or 3.x, with one document: pools.yaml of the group shop, in the namespace
/// ns.
class nacos_standin final : public standin {
public:
    explicit nacos_standin(bool v3 = false, bool with_login = false)
        : v3_(v3), login_(with_login) {}
    ~nacos_standin() override { end(); }
    void forget_tokens() {
        const std::lock_guard lock(mutex_);
        ++tokens_;
    }

private:
    served_answer answer(const served_request& request, lock_type& lock) override {
        if (request.path == (v3_ ? "/nacos/v3/auth/user/login" : "/nacos/v1/auth/users/login")) {
            if (request.body != "username=nacos&password=p%26w") return {.status = 403};
            return {.body = R"({"accessToken":")" + token() + R"(","tokenTtl":18000})"};
        }
        const bool is_client = request.path.find("/cs/config") != std::string::npos;
        const auto given = request.query.find("accessToken");
        if (login_ && is_client && (given == request.query.end() || given->second != token()))
            return {.status = 403};
        if (v3_) return answer_v3(request);
        if (request.path == "/nacos/v1/cs/configs/listener") return listen(request, lock);
        if (request.path != "/nacos/v1/cs/configs") return {.status = 404, .body = "<html>"};
        if (request.method == "POST") return publish(form_values(request.body));
        if (request.method == "DELETE") return remove(request);
        if (!text_ || !is_ours(request.query)) return {.status = 404, .body = "config not exist"};
        return {.body = *text_, .headers = {{"Content-MD5", md5()}}};
    }
    std::string token() const { return "token" + std::to_string(tokens_); }
    std::string md5() const {
        return text_ ? manage::detail::to_hex(manage::detail::md5(*text_)) : std::string();
    }
    static bool is_ours(const std::map<std::string, std::string>& values) {
        const std::map<std::string, std::string> ours{
            {"dataId", "pools.yaml"}, {"group", "shop"}, {"tenant", "ns"}};
        return std::all_of(ours.begin(), ours.end(), [&](const auto& pair) {
            const auto found = values.find(pair.first);
            return found != values.end() && found->second == pair.second;
        });
    }

    served_answer publish(const std::map<std::string, std::string>& values) {
        if (!is_ours(values) || !values.contains("content")) return {.status = 400};
        change(values.at("content"));
        return {.body = "true"};
    }
    served_answer remove(const served_request& request) {
        if (!is_ours(request.query) && !is_ours(form_values(request.body))) return {.status = 400};
        change(std::nullopt);
        return {.body = "true"};
    }

    /// dataId, group, md5 and perhaps tenant, with 2 between them and 1 after each.
    served_answer listen(const served_request& request, lock_type& lock) {
        const auto values = form_values(request.body);
        const auto listened = values.find("Listening-Configs");
        if (listened == values.end() || !listened->second.ends_with('\x01'))
            return {.status = 400, .body = "invalid probeModify"};
        const auto expected = [&] { return "pools.yaml\x02shop\x02" + md5() + "\x02ns\x01"; };
        hold(lock, [&] { return listened->second != expected(); });
        return {.body = listened->second == expected() ? "" : "pools.yaml%02shop%02ns%01"};
    }
    served_answer answer_v3(const served_request& request) {
        if (request.path != "/nacos/v3/client/cs/config") return {.status = 410};
        if (!text_)
            return {.status = 404, .body = R"({"code":20004,"message":"resource not found"})"};
        return {.body = R"({"code":0,"message":"success","data":{"content":)" +
                        manage::detail::json_quoted(*text_) + "}}"};
    }

    const bool v3_;
    const bool login_;
    int tokens_ = 1;
};

}  // namespace cadre::testing
