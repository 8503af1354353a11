// SPDX-License-Identifier: Apache-2.0
#include <cadre/manage/http_source.hpp>

#include <utility>

#include "manage/digest.hpp"
#include "manage/http_client.hpp"
#include "manage/source_loop.hpp"

namespace cadre::manage {
namespace detail {
namespace {

class http_fetcher final : public document_fetcher {
public:
    http_fetcher(http_source_options options, document_format format)
        : options_(std::move(options)), format_(format) {}

    std::optional<config_document> fetch(const stop_signal& stop) override {
        if (!client_) client_.emplace(stop, options_.ca_file);
        if (std::exchange(answered_, false)) stop.sleep_for(options_.interval);
        client_request request{
            .url = options_.url, .headers = options_.headers, .timeout = options_.timeout};
        if (!etag_.empty()) request.headers.push_back("If-None-Match: " + etag_);
        auto response = client_->send(request);
        if (response.status == 304 && !etag_.empty()) {
            answered_ = true;
            return {};
        }
        if (response.status == 404) {
            etag_.clear();
            answered_ = !options_.required;  // else the loop makes the pauses
            return config_document{.format = format_, .exists = false};
        }
        if (response.status != 200) {
            etag_.clear();  // which the server may have stumbled over
            throw http_failure(unexpected(response, options_.url));
        }
        answered_ = true;
        etag_ = response.header("etag");
        config_document document{.text = std::move(response.body), .format = format_};
        document.revision = etag_.empty() ? to_hex(sha256(document.text)).substr(0, 12) : etag_;
        return document;
    }
    void forget() override {
        etag_.clear();
        answered_ = false;
    }

private:
    const http_source_options options_;
    const document_format format_;
    std::optional<http_client> client_;
    std::string etag_;
    bool answered_ = false;
};

}  // namespace
}  // namespace detail

std::unique_ptr<config_source> http_source(http_source_options options) {
    static_cast<void>(detail::base_url(options.url, "url"));  // or it throws
    detail::check_above_zero(options.interval, "interval");
    detail::check_above_zero(options.timeout, "timeout");
    const std::string name = detail::shown_url(options.url);
    const auto format = options.format ? *options.format : format_of(name);
    const bool required = options.required;
    const auto backoff = options.backoff;
    return std::make_unique<detail::source_loop>(
        name, std::make_unique<detail::http_fetcher>(std::move(options), format), required,
        backoff);
}

}  // namespace cadre::manage
