// SPDX-License-Identifier: Apache-2.0
#include <cadre/manage/consul_source.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "manage/centre.hpp"
#include "manage/digest.hpp"
#include "manage/source_loop.hpp"

namespace cadre::manage {
namespace detail {
namespace {

std::string encoded_key(std::string_view key) {
    std::string result;
    for (const char c : key) result += c == '/' ? "/" : percent_encoded(std::string_view(&c, 1));
    return result;
}

class consul_fetcher final : public document_fetcher {
public:
    consul_fetcher(consul_source_options options, document_format format)
        : options_(std::move(options)),
          format_(format),
          servers_(options_.agents, "agents"),
          pace_(options_.pace) {}

    std::optional<config_document> fetch(const stop_signal& stop) override {
        if (!client_) client_.emplace(stop, options_.ca_file);
        pace_.wait(stop);
        try {
            return query();
        } catch (const http_failure&) {
            index_ = 0;  // the next agent may be far behind
            servers_.next();
            throw;
        }
    }
    bool waits_for_the_absent() const override { return true; }
    void forget() override { index_ = 0; }

private:
    config_document query() {
        client_request request{
            .url = servers_.current() + "/v1/kv/" + encoded_key(options_.key) + "?index=" +
                   std::to_string(index_) + "&wait=" + std::to_string(options_.wait.count()) + "s",
            // The agent adds up to a sixteenth, so that not all its clients come back together.
            .timeout = options_.wait * 17 / 16 + std::chrono::seconds(5)};
        if (!options_.datacenter.empty())
            request.url += "&dc=" + percent_encoded(options_.datacenter);
        if (!options_.token.empty()) request.headers.push_back("X-Consul-Token: " + options_.token);

        const auto response = client_->send(request);
        if (response.status != 200 && response.status != 404)
            throw http_failure(unexpected(response, request.url));
        const auto index = to_number(response.header("x-consul-index"), -1);
        if (index < 0) throw http_failure(shown_url(request.url) + ": no X-Consul-Index");
        order_.check(index, request.url);
        index_ = std::max<std::int64_t>(index, 1);  // one of 0 would never block
        if (response.status == 404) return {.format = format_, .exists = false};

        const auto answer = json_answer(response.body, request.url);
        if (answer.items.empty()) throw http_failure(shown_url(request.url) + ": an empty answer");
        auto text = from_base64(text_at(answer.items[0], "Value"));
        if (!text) throw http_failure(shown_url(request.url) + ": the value is not base64");
        return {.text = std::move(*text),
                .format = format_,
                .revision = text_at(answer.items[0], "ModifyIndex")};
    }

    const consul_source_options options_;
    const document_format format_;
    server_list servers_;
    poll_pace pace_;
    revision_order order_;
    std::optional<http_client> client_;
    std::int64_t index_ = 0;  ///< 0: answer at once
};

}  // namespace
}  // namespace detail

std::unique_ptr<config_source> consul_source(consul_source_options options) {
    if (options.key.empty()) throw std::invalid_argument("key must not be empty");
    if (options.wait < std::chrono::seconds(1) || options.wait > std::chrono::minutes(10))
        throw std::invalid_argument("wait (" + std::to_string(options.wait.count()) +
                                    "s) must be from 1s to 10m");
    detail::check_above_zero(options.pace, "pace");
    const auto format = options.format ? *options.format : format_of(options.key);
    const std::string name = "consul:" + options.key;
    const bool required = options.required;
    const auto backoff = options.backoff;
    return std::make_unique<detail::source_loop>(
        name, std::make_unique<detail::consul_fetcher>(std::move(options), format), required,
        backoff);
}

}  // namespace cadre::manage
