// SPDX-License-Identifier: Apache-2.0
#include <cadre/manage/nacos_source.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "manage/centre.hpp"
#include "manage/digest.hpp"
#include "manage/source_loop.hpp"

namespace cadre::manage {
namespace detail {
namespace {

/// True for what a server answers to a path that it does not have.
bool is_missing(int status) {
    return status == 404 || status == 405 || status == 410 || status == 501;
}

class nacos_fetcher final : public document_fetcher {
public:
    nacos_fetcher(nacos_source_options options, document_format format)
        : options_(std::move(options)),
          format_(format),
          servers_(options_.servers, "servers"),
          pace_(options_.pace),
          protocol_(options_.protocol) {}

    std::optional<config_document> fetch(const stop_signal& stop) override {
        if (!client_) client_.emplace(stop, options_.ca_file);
        try {
            if (std::exchange(waits_, false) && !changed(stop)) {
                waits_ = true;
                if (md5_.empty()) return absent();  // still, which may be a failure
                return {};
            }
            log_in_if_due();
            auto document = read();
            waits_ = true;
            return document;
        } catch (const http_failure&) {
            waits_ = false;
            token_.clear();
            protocol_ = options_.protocol;
            servers_.next();
            throw;
        }
    }
    bool waits_for_the_absent() const override { return true; }
    void forget() override { waits_ = false; }

private:
    using clock = std::chrono::steady_clock;

    std::string with_token(std::string url) const {
        if (token_.empty()) return url;
        url += url.find('?') == std::string::npos ? "?accessToken=" : "&accessToken=";
        return url + percent_encoded(token_);
    }

    client_response ask_for_token(const std::string& url) {
        return client_->send({.url = url,
                              .headers = {"Content-Type: application/x-www-form-urlencoded"},
                              .body = "username=" + percent_encoded(options_.username) +
                                      "&password=" + percent_encoded(options_.password),
                              .post = true});
    }

    void log_in_if_due() {
        if (options_.username.empty() || (!token_.empty() && clock::now() < token_until_)) return;
        const std::string older = servers_.current() + "/nacos/v1/auth/users/login";
        std::string url = protocol_ == nacos_protocol::v1
                              ? older
                              : servers_.current() + "/nacos/v3/auth/user/login";
        auto response = ask_for_token(url);
        if (response.status != 200 && protocol_ == nacos_protocol::probe) {
            auto second = ask_for_token(older);
            if (!is_missing(second.status)) {  // else the first is the server's own
                url = older;
                response = std::move(second);
            }
        }
        if (response.status != 200) throw http_failure(unexpected(response, url));
        const auto answer = json_answer(response.body, url);
        token_ = text_at(answer, "accessToken");
        if (token_.empty()) throw http_failure(shown_url(url) + ": no accessToken");
        const auto ttl = std::clamp<std::int64_t>(number_at(answer, "tokenTtl", 18000), 1, 86'400);
        token_until_ = clock::now() + std::chrono::seconds(ttl) * 9 / 10;
    }

    config_document read() {
        if (protocol_ == nacos_protocol::probe) {
            if (auto document = read_v3()) {
                protocol_ = nacos_protocol::v3;
                return *document;
            }
            protocol_ = nacos_protocol::v1;
        }
        if (protocol_ == nacos_protocol::v1) return read_v1();
        if (auto document = read_v3()) return *document;
        throw http_failure(shown_url(servers_.current()) + " has no interface of Nacos 3");
    }

    config_document absent() {
        md5_.clear();
        return {.format = format_, .exists = false};
    }

    config_document read_v1() {
        const std::string url = servers_.current() +
                                "/nacos/v1/cs/configs?dataId=" + percent_encoded(options_.data_id) +
                                "&group=" + percent_encoded(options_.group) +
                                "&tenant=" + percent_encoded(options_.namespace_id);
        auto response = client_->send({.url = with_token(url)});
        // A path that is not there, of a server that is starting or another, says nothing of the
        // document; Nacos says "config data not exist".
        const bool of_document = response.body.find("not exist") != std::string::npos;
        if (response.status == 404 && of_document) return absent();
        if (response.status == 404 && was_forbidden_)
            throw http_failure(shown_url(url) + ": forbidden by the newer interface, and not here");
        // 409: the server is writing it just now.
        if (response.status != 200) throw http_failure(unexpected(response, url));
        // Of what was read: what the header says may already be of the next version.
        md5_ = to_hex(md5(response.body));
        return {.text = std::move(response.body), .format = format_, .revision = md5_};
    }

    /// Nothing if the server does not have that interface.
    std::optional<config_document> read_v3() {
        const std::string url = servers_.current() + "/nacos/v3/client/cs/config?namespaceId=" +
                                percent_encoded(options_.namespace_id) +
                                "&groupName=" + percent_encoded(options_.group) +
                                "&dataId=" + percent_encoded(options_.data_id);
        const auto response = client_->send({.url = with_token(url)});
        was_forbidden_ = response.status == 403;
        const bool may_be_older =
            response.status == 404 || (protocol_ == nacos_protocol::probe &&
                                       (is_missing(response.status) || response.status == 403));
        if (response.status != 200 && !may_be_older) throw http_failure(unexpected(response, url));
        document_node answer;
        try {
            answer = json_answer(response.body, url);
        } catch (const http_failure&) {
            if (response.status == 200) throw;
        }
        if (answer.find("code") == nullptr) return {};
        if (response.status == 404) return absent();
        const auto* data = answer.find("data");
        if (number_at(answer, "code", -1) != 0 || data == nullptr)
            throw http_failure(shown_url(url) + ": " + text_at(answer, "message"));
        config_document document{.text = text_at(*data, "content"), .format = format_};
        md5_ = to_hex(md5(document.text));
        document.revision = md5_;
        return document;
    }

    /// Waits until it is time to read; false if the server says that nothing has changed.
    bool changed(const stop_signal& stop) {
        if (protocol_ == nacos_protocol::v3) {
            stop.sleep_for(options_.interval);
            return true;
        }
        pace_.wait(stop);
        log_in_if_due();
        std::string listened = options_.data_id + '\x02' + options_.group + '\x02' + md5_;
        if (!options_.namespace_id.empty()) listened += '\x02' + options_.namespace_id;
        listened += '\x01';
        const client_request request{
            .url = with_token(servers_.current() + "/nacos/v1/cs/configs/listener"),
            .headers = {"Content-Type: application/x-www-form-urlencoded",
                        "Long-Pulling-Timeout: " + std::to_string(options_.long_poll.count())},
            .body = "Listening-Configs=" + percent_encoded(listened),
            .post = true,
            .timeout = options_.long_poll + std::chrono::seconds(10)};
        const auto response = client_->send(request);
        if (response.status != 200) throw http_failure(unexpected(response, request.url));
        // It names what has changed, and we asked for one only.
        return response.body.find_first_not_of(" \r\n") != std::string::npos;
    }

    const nacos_source_options options_;
    const document_format format_;
    server_list servers_;
    poll_pace pace_;
    nacos_protocol protocol_;
    std::optional<http_client> client_;
    std::string token_;
    clock::time_point token_until_;
    std::string md5_;             ///< of the text that was read; empty: there is none
    bool was_forbidden_ = false;  // by the interface of Nacos 3, when it was last tried
    bool waits_ = false;          ///< has read, and may wait for news
};

}  // namespace
}  // namespace detail

std::unique_ptr<config_source> nacos_source(nacos_source_options options) {
    if (options.data_id.empty()) throw std::invalid_argument("data_id must not be empty");
    if (options.group.empty()) throw std::invalid_argument("group must not be empty");
    detail::check_above_zero(options.long_poll, "long_poll");
    detail::check_above_zero(options.interval, "interval");
    detail::check_above_zero(options.pace, "pace");
    const auto format = options.format ? *options.format : format_of(options.data_id);
    const std::string name =
        "nacos:" + (options.namespace_id.empty() ? "" : options.namespace_id + "/") +
        options.group + "/" + options.data_id;
    const bool required = options.required;
    const auto backoff = options.backoff;
    return std::make_unique<detail::source_loop>(
        name, std::make_unique<detail::nacos_fetcher>(std::move(options), format), required,
        backoff);
}

}  // namespace cadre::manage
