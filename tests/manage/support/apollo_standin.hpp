// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "manage/apollo_release.hpp"
#include "manage/centre.hpp"
#include "manage/digest.hpp"
#include "manage/support/loopback_http.hpp"

namespace cadre::testing {

using item_map = std::map<std::string, std::string>;

/// What Apollo's config service does for the app "shop", as its source says; and, on demand, what
/// it should not. Every namespace has the same items.
class apollo_standin {
public:
    ~apollo_standin() {
        let_go();
        http_.end();
    }
    std::string url() const { return http_.url(); }

    int publish(item_map items) {
        const std::lock_guard lock(mutex_);
        before_ = items_;
        items_ = std::move(items);
        ++id_;
        changed_.notify_all();
        return id_;
    }
    int publish(const std::string& content) { return publish(item_map{{"content", content}}); }
    /// A release for those of this ip or label; it is notified of as any other.
    int publish_grey(const std::string& ip_or_label, const std::string& content) {
        const std::lock_guard lock(mutex_);
        grey_for_ = ip_or_label;
        grey_ = {{"content", content}};
        changed_.notify_all();
        return ++id_;
    }
    /// Releases are of this cluster from now on.
    void set_cluster(std::string cluster) {
        const std::lock_guard lock(mutex_);
        cluster_ = std::move(cluster);
    }

    /// The next answers of paths that begin so.
    void inject(const std::string& path, served_answer answer) {
        const std::lock_guard lock(mutex_);
        faults_[path].push_back(std::move(answer));
        changed_.notify_all();
    }
    bool all_injected() const {
        const std::lock_guard lock(mutex_);
        return std::all_of(faults_.begin(), faults_.end(),
                           [](const auto& f) { return f.second.empty(); });
    }
    void set_secret(std::string secret) {
        const std::lock_guard lock(mutex_);
        secret_ = std::move(secret);
    }
    /// As if our clock were another; signatures may differ from it by a minute.
    void set_clock_ahead(std::chrono::milliseconds ahead) {
        const std::lock_guard lock(mutex_);
        clock_ahead_ = ahead;
    }
    /// Gives what was released before, until a request's messages show that there is more.
    void be_behind() {
        const std::lock_guard lock(mutex_);
        behind_ = true;
    }
    void answer_by_increments() {
        const std::lock_guard lock(mutex_);
        increments_ = true;
    }
    /// A poll is answered with this one too.
    void tell_also_of(std::string name_space) {
        const std::lock_guard lock(mutex_);
        other_name_space_ = std::move(name_space);
    }
    void hold_polls_for(std::chrono::milliseconds hold) {
        const std::lock_guard lock(mutex_);
        hold_ = hold;
    }
    void let_go() {
        const std::lock_guard lock(mutex_);
        ended_ = true;
        changed_.notify_all();
    }
    std::vector<served_request> requests(const std::string& path) const {
        const std::lock_guard lock(mutex_);
        std::vector<served_request> result;
        for (const auto& r : requests_)
            if (r.path.starts_with(path)) result.push_back(r);
        return result;
    }

private:
    using lock_type = std::unique_lock<std::mutex>;

    served_answer answer(const served_request& request) {
        lock_type lock(mutex_);
        requests_.push_back(request);
        for (auto& [path, answers] : faults_)
            if (request.path.starts_with(path) && !answers.empty()) return take(answers);
        if (request.path == "/services/config")
            return {.body =
                        R"([{"appName":"APOLLO-CONFIGSERVICE","homepageUrl":")" + url() + "/\"}]"};
        if (!is_signed(request)) return {.status = 401};
        if (request.path == "/notifications/v2") return poll(request, lock);
        for (const std::string kind : {"/configs/", "/configfiles/json/"}) {
            const std::string start = kind + "shop/";
            if (!request.path.starts_with(start)) continue;
            const auto cluster = request.path.substr(start.size());
            if (!has_cluster(cluster.substr(0, cluster.find('/')), request)) break;
            return kind == "/configs/" ? configs(request) : items_as_json();
        }
        return {.status = 404};
    }

    static served_answer take(std::deque<served_answer>& answers) {
        auto next = answers.front();
        answers.pop_front();
        return next;
    }
    static std::string value(const served_request& request, const std::string& name) {
        const auto found = request.query.find(name);
        return found == request.query.end() ? std::string() : found->second;
    }

    /// The named cluster, that of the data centre, or the default one.
    bool has_cluster(const std::string& named, const served_request& request) const {
        return cluster_ == named || cluster_ == value(request, "dataCenter") ||
               cluster_ == "default";
    }

    bool is_signed(const served_request& request) const {
        if (secret_.empty()) return true;
        const auto time = request.headers.find("timestamp");
        const auto given = request.headers.find("authorization");
        if (time == request.headers.end() || given == request.headers.end()) return false;
        const auto now = std::chrono::system_clock::now().time_since_epoch() + clock_ahead_;
        const auto off = std::chrono::duration_cast<std::chrono::milliseconds>(now) -
                         std::chrono::milliseconds(std::stoll(time->second));
        return std::chrono::abs(off) <= std::chrono::minutes(1) &&
               given->second == "Apollo shop:" + manage::detail::apollo_signature(
                                                     secret_, time->second, request.target);
    }

    static std::string key(int id) { return "release-" + std::to_string(id); }

    served_answer poll(const served_request& request, lock_type& lock) {
        const auto asked = manage::parse_document(value(request, "notifications"), "",
                                                  manage::document_format::json);
        const auto& first = asked.root.items.at(0);
        const std::string name = manage::detail::text_at(first, "namespaceName");
        const auto has = manage::detail::number_at(first, "notificationId", 0);
        auto& faults = faults_["/notifications"];
        changed_.wait_for(lock, hold_, [&] { return ended_ || id_ > has || !faults.empty(); });
        if (!faults.empty()) return take(faults);
        if (id_ <= has) return {.status = 304};
        std::string body = notification(name);
        if (!other_name_space_.empty()) body = notification(other_name_space_) + "," + body;
        return {.body = "[" + body + "]"};
    }
    std::string notification(const std::string& name) const {
        const std::string id = std::to_string(id_);
        return R"({"namespaceName":")" + name + R"(","notificationId":)" + id +
               R"(,"messages":{"details":{"shop+default+)" + name + "\":" + id + "}}}";
    }

    served_answer configs(const served_request& request) {
        if (value(request, "messages").find(":" + std::to_string(id_)) != std::string::npos)
            behind_ = false;
        const int id = behind_ ? id_ - 1 : id_;
        if (id == 0) return {.status = 404};
        const std::string has = value(request, "releaseKey");
        const bool grey = !grey_for_.empty() && (value(request, "ip") == grey_for_ ||
                                                 value(request, "label") == grey_for_);
        const std::string current = key(id) + (grey ? "-grey" : "");
        if (has == current) return {.status = 304};
        const auto& items = grey ? grey_ : behind_ ? before_ : items_;
        if (increments_ && has == key(id - 1))
            return {.body = R"({"configSyncType":"IncrementalSync","releaseKey":")" + current +
                            R"(","configurationChanges":[)" + changes(items) + "]}"};
        return {.body =
                    R"({"appId":"shop","cluster":"default","namespaceName":"x","releaseKey":")" +
                    current + R"(","configurations":)" + json(items) + "}"};
    }
    served_answer items_as_json() const {
        if (id_ == 0) return {.status = 404};
        return {.body = json(items_)};
    }
    static std::string json(const item_map& items) {
        std::string body;
        for (const auto& [k, v] : items)
            body += (body.empty() ? "" : ",") + manage::detail::json_quoted(k) + ":" +
                    manage::detail::json_quoted(v);
        return "{" + body + "}";
    }
    std::string changes(const item_map& items) const {
        std::string body;
        for (const auto& [k, v] : items)
            if (!before_.contains(k) || before_.at(k) != v)
                body += "," + change(k, before_.contains(k) ? "MODIFIED" : "ADDED", v);
        for (const auto& [k, v] : before_)
            if (!items.contains(k)) body += "," + change(k, "DELETED", "");
        return body.empty() ? "" : body.substr(1);
    }
    static std::string change(const std::string& k, const std::string& kind, const std::string& v) {
        const std::string new_value =
            kind == "DELETED" ? "" : R"("newValue":)" + manage::detail::json_quoted(v) + ",";
        return R"({"key":)" + manage::detail::json_quoted(k) + "," + new_value +
               R"("configurationChangeType":")" + kind + "\"}";
    }

    mutable std::mutex mutex_;  // guards all below
    std::condition_variable changed_;
    item_map items_;
    item_map before_;
    item_map grey_;
    std::string grey_for_;
    std::string cluster_ = "default";
    std::string other_name_space_;
    int id_ = 0;
    bool behind_ = false;
    bool increments_ = false;
    bool ended_ = false;
    std::chrono::milliseconds hold_{20};
    std::chrono::milliseconds clock_ahead_{0};
    std::string secret_;
    std::map<std::string, std::deque<served_answer>> faults_;
    std::vector<served_request> requests_;
    loopback_http http_{
        [this](const served_request& r) { return answer(r); }};  // last: it uses all
};

}  // namespace cadre::testing
