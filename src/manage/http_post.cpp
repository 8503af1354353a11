// SPDX-License-Identifier: Apache-2.0
#include "http_post.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <stdexcept>

#include <curl/curl.h>

namespace cadre::manage::detail {
namespace {

constexpr std::size_t longest_answer = std::size_t{64} << 10;

std::size_t keep(char* data, std::size_t size, std::size_t count, void* answer) {
    auto& text = *static_cast<std::string*>(answer);
    text.append(data, std::min(size * count, longest_answer - text.size()));
    return size * count;
}

/// The part of a URL that is no secret: tokens are in what follows, and before an @.
std::string shown(const std::string& url) {
    const auto scheme = url.find("://");
    const auto start = scheme == std::string::npos ? 0 : scheme + 3;
    const auto authority = url.substr(start, url.find_first_of("/?#", start) - start);
    return url.substr(0, start) + authority.substr(authority.rfind('@') + 1);
}

}  // namespace

void check_url(const std::string& url) {
    if (!url.starts_with("http://") && !url.starts_with("https://"))
        throw std::invalid_argument("url (" + shown(url) + ") must begin with http:// or https://");
}

std::string http_post(const post_request& request) {
    static const auto ready = curl_global_init(CURL_GLOBAL_DEFAULT);
    const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> call(
        ready == CURLE_OK ? curl_easy_init() : nullptr, &curl_easy_cleanup);
    if (!call) throw std::runtime_error("libcurl cannot be used");
    std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> list(nullptr, &curl_slist_free_all);
    const auto add_header = [&](const char* header) {
        auto* const longer = curl_slist_append(list.get(), header);
        if (longer == nullptr) throw std::bad_alloc();
        static_cast<void>(list.release());
        list.reset(longer);
    };
    add_header("Content-Type: application/json");
    add_header("Expect:");  // no 100 Continue: it costs a round trip and puzzles small servers
    for (const auto& header : request.headers) add_header(header.c_str());
    std::string answer;
    char error[CURL_ERROR_SIZE] = {};
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(request.timeout).count();
    curl_easy_setopt(call.get(), CURLOPT_URL, request.url.c_str());
    curl_easy_setopt(call.get(), CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(call.get(), CURLOPT_POSTFIELDSIZE, static_cast<long>(request.body.size()));
    curl_easy_setopt(call.get(), CURLOPT_POSTFIELDS, request.body.c_str());
    curl_easy_setopt(call.get(), CURLOPT_HTTPHEADER, list.get());
    curl_easy_setopt(call.get(), CURLOPT_TIMEOUT_MS, static_cast<long>(ms));
    curl_easy_setopt(call.get(), CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(call.get(), CURLOPT_USERAGENT, "cadre");
    if (!request.ca_file.empty())
        curl_easy_setopt(call.get(), CURLOPT_CAINFO, request.ca_file.c_str());
    curl_easy_setopt(call.get(), CURLOPT_WRITEFUNCTION, &keep);
    curl_easy_setopt(call.get(), CURLOPT_WRITEDATA, &answer);
    curl_easy_setopt(call.get(), CURLOPT_ERRORBUFFER, error);
    const auto result = curl_easy_perform(call.get());
    if (result != CURLE_OK)
        throw std::runtime_error(shown(request.url) + ": " +
                                 (error[0] ? error : curl_easy_strerror(result)));
    long status = 0;
    curl_easy_getinfo(call.get(), CURLINFO_RESPONSE_CODE, &status);
    if (status < 200 || status > 299)
        throw std::runtime_error(shown(request.url) + ": answered with status " +
                                 std::to_string(status));
    return answer;
}

}  // namespace cadre::manage::detail
