// SPDX-License-Identifier: Apache-2.0
#include <cadre/manage/etcd_source.hpp>

#include <stdexcept>
#include <utility>

#include "manage/centre.hpp"
#include "manage/digest.hpp"
#include "manage/source_loop.hpp"

// The value is only ever taken from a read (range). A watch, from the revision after that of the
// read, only says that it is time for the next: whether by an event, because the revisions it asked
// for were compacted away, or because it has been open for long. So nothing is missed between read
// and watch, and no event is trusted that may be half of the story.

namespace cadre::manage {
namespace detail {
namespace {

constexpr int unauthenticated = 16;  // of gRPC

class etcd_fetcher final : public document_fetcher {
public:
    etcd_fetcher(etcd_source_options options, document_format format)
        : options_(std::move(options)),
          format_(format),
          servers_(options_.endpoints, "endpoints"),
          pace_(options_.pace) {}

    std::optional<config_document> fetch(const stop_signal& stop) override {
        if (!client_) client_.emplace(stop, options_.ca_file);
        try {
            if (watching_) watch();
            watching_ = false;
            pace_.wait(stop);
            auto document = read();
            watching_ = true;
            return document;
        } catch (const http_failure&) {
            watching_ = false;
            servers_.next();
            token_.clear();
            throw;
        }
    }
    bool waits_for_the_absent() const override { return true; }
    void forget() override { watching_ = false; }

private:
    struct answer {
        client_response response = {};
        document_node body = {};
    };

    client_request request(std::string_view path, std::string body) const {
        client_request result{.url = servers_.current() + std::string(path),
                              .headers = {"Content-Type: application/json"},
                              .body = std::move(body),
                              .post = true,
                              .timeout = options_.timeout};
        // Without "Bearer", which etcd does not take.
        if (!token_.empty()) result.headers.push_back("Authorization: " + token_);
        return result;
    }

    answer ask(std::string_view path, const std::string& body) {
        const auto asked = request(path, body);
        answer result{.response = client_->send(asked)};
        try {
            result.body = json_answer(result.response.body, asked.url);
        } catch (const http_failure&) {
            if (result.response.status == 200) throw;
            throw http_failure(unexpected(result.response, asked.url));  // the page of a proxy
        }
        return result;
    }

    [[noreturn]] void refuse(std::string_view path, const answer& got) const {
        throw http_failure(unexpected(got.response, servers_.current() + std::string(path)) + ": " +
                           text_at(got.body, "message"));
    }

    void authenticate() {
        constexpr std::string_view path = "/v3/auth/authenticate";
        if (options_.username.empty()) return;
        token_.clear();
        const auto got = ask(path, "{\"name\":" + json_quoted(options_.username) +
                                       ",\"password\":" + json_quoted(options_.password) + "}");
        token_ = text_at(got.body, "token");
        if (got.response.status != 200 || token_.empty()) refuse(path, got);
        token_is_fresh_ = true;
    }

    config_document read() {
        constexpr std::string_view path = "/v3/kv/range";
        if (token_.empty()) authenticate();
        const std::string body = "{\"key\":\"" + to_base64(options_.key) + "\"}";
        auto got = ask(path, body);
        const bool expired =
            got.response.status == 401 || number_at(got.body, "code", 0) == unauthenticated;
        if (expired && !options_.username.empty()) {
            authenticate();
            got = ask(path, body);
        }
        if (got.response.status != 200) refuse(path, got);

        const auto* header = got.body.find("header");
        const auto revision = header == nullptr ? -1 : number_at(*header, "revision", -1);
        if (revision < 0) throw http_failure(shown_url(servers_.current()) + " gave no revision");
        order_.check(revision, servers_.current());
        revision_ = revision;
        const auto* found = got.body.find("kvs");
        if (found == nullptr || found->items.empty()) return {.format = format_, .exists = false};
        // An empty value is left out, as all that is zero.
        auto text = from_base64(text_at(found->items[0], "value"));
        if (!text) throw http_failure("etcd gave a value that is not base64");
        return {.text = std::move(*text),
                .format = format_,
                .revision = text_at(found->items[0], "mod_revision")};
    }

    /// Returns when it is time to read again.
    void watch() {
        auto asked = request("/v3/watch", "{\"create_request\":{\"key\":\"" +
                                              to_base64(options_.key) + "\",\"start_revision\":\"" +
                                              std::to_string(revision_ + 1) + "\"}}");
        asked.timeout = options_.renew_watch;
        std::string lines;
        bool due = false;
        const auto on_data = [&](std::string_view data) {
            constexpr std::size_t most = std::size_t{4} << 20;
            lines += data;
            if (lines.size() > most) throw http_failure("etcd sent a line without an end");
            for (auto end = lines.find('\n'); !due && end != std::string::npos;
                 end = lines.find('\n')) {
                due = on_line(lines.substr(0, end), asked.url);
                lines.erase(0, end + 1);
            }
            return !due;
        };
        try {
            const auto response = client_->stream(asked, on_data);
            if (response.status != 200) throw http_failure(unexpected(response, asked.url));
        } catch (const http_failure& failure) {
            if (!failure.timed_out) throw;
            due = true;  // open for long enough
        }
        if (!due) throw http_failure(shown_url(asked.url) + ": etcd ended the watch");
    }

    /// True if it is time to read again.
    bool on_line(const std::string& line, const std::string& url) {
        if (line.empty()) return false;
        const auto message = json_answer(line, url);
        if (const auto* error = message.find("error"))
            throw http_failure(shown_url(url) + ": " + text_at(*error, "message"));
        const auto* result = message.find("result");
        if (result == nullptr) return false;
        if (text_at(*result, "canceled") == "true") {
            // The stream stays open after that, and nothing comes any more.
            if (number_at(*result, "compact_revision", 0) > 0) return true;
            if (!token_.empty() && !token_is_fresh_) {
                token_.clear();  // it has expired; reading gets another
                return true;
            }
            throw http_failure(shown_url(url) +
                               ": the watch was refused: " + text_at(*result, "cancel_reason"));
        }
        token_is_fresh_ = false;
        return result->find("events") != nullptr;
    }

    const etcd_source_options options_;
    const document_format format_;
    server_list servers_;
    poll_pace pace_;
    revision_order order_;
    std::optional<http_client> client_;
    std::string token_;
    bool token_is_fresh_ = false;  ///< no watch has been accepted with it yet
    std::int64_t revision_ = 0;    ///< of the store, when the key was read
    bool watching_ = false;        ///< it has been read, and not been told to again
};

}  // namespace
}  // namespace detail

std::unique_ptr<config_source> etcd_source(etcd_source_options options) {
    if (options.key.empty()) throw std::invalid_argument("key must not be empty");
    detail::check_above_zero(options.timeout, "timeout");
    detail::check_above_zero(options.renew_watch, "renew_watch");
    detail::check_above_zero(options.pace, "pace");
    const auto format = options.format ? *options.format : format_of(options.key);
    const std::string name = "etcd:" + options.key;
    const bool required = options.required;
    const auto backoff = options.backoff;
    return std::make_unique<detail::source_loop>(
        name, std::make_unique<detail::etcd_fetcher>(std::move(options), format), required,
        backoff);
}

}  // namespace cadre::manage
