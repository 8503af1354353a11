// SPDX-License-Identifier: Apache-2.0
#include "manage/http_client.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

namespace cadre::manage::detail {
namespace {

constexpr std::size_t most_answer_bytes = std::size_t{4} << 20;

/// What the callbacks of one transfer work on. They are called by C, and must not throw.
struct transfer {
    client_response response = {};
    function_ref<bool(std::string_view)>* on_data = nullptr;
    CURL* easy = nullptr;
    std::size_t header_bytes = 0;
    bool too_large = false;
    bool ended_by_us = false;
    std::exception_ptr thrown = nullptr;
};

template <class Function>
std::size_t guarded(transfer& t, std::size_t size, Function function) noexcept {
    try {
        return function() ? size : 0;
    } catch (...) {
        t.thrown = std::current_exception();
        return 0;
    }
}

std::size_t on_header(char* data, std::size_t one, std::size_t size, void* user) {
    auto& t = *static_cast<transfer*>(user);
    return guarded(t, one * size, [&] {
        std::string_view line(data, size);
        t.header_bytes += size;
        if (t.header_bytes > most_answer_bytes) return false;
        if (line.starts_with("HTTP/")) t.response.headers.clear();  // after a 100 Continue
        const auto colon = line.find(':');
        if (colon == std::string_view::npos) return true;
        std::string name(line.substr(0, colon));
        std::transform(name.begin(), name.end(), name.begin(), [](char c) {
            return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        });
        line.remove_prefix(colon + 1);
        const auto first = line.find_first_not_of(" \t");
        const auto last = line.find_last_not_of(" \t\r\n");
        t.response.headers[name] = first == std::string_view::npos || last < first
                                       ? ""
                                       : line.substr(first, last - first + 1);
        return true;
    });
}

std::size_t on_body(char* data, std::size_t one, std::size_t size, void* user) {
    auto& t = *static_cast<transfer*>(user);
    return guarded(t, one * size, [&] {
        long status = 0;
        curl_easy_getinfo(t.easy, CURLINFO_RESPONSE_CODE, &status);
        if (t.on_data != nullptr && status == 200) {
            t.ended_by_us = !(*t.on_data)(std::string_view(data, size));
            return !t.ended_by_us;
        }
        t.too_large = t.response.body.size() + size > most_answer_bytes;
        if (!t.too_large) t.response.body.append(data, size);
        return !t.too_large;
    });
}

}  // namespace

struct http_client::state {
    state() {
        static std::once_flag once;
        std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
        multi = curl_multi_init();
        easy = curl_easy_init();
    }
    ~state() {
        curl_easy_cleanup(easy);
        curl_multi_cleanup(multi);
    }
    state(const state&) = delete;
    state& operator=(const state&) = delete;

    CURLM* multi;
    CURL* easy;
};

http_client::http_client(const stop_signal& stop, std::string ca_file)
    : stop_(stop), ca_file_(std::move(ca_file)), state_(std::make_unique<state>()) {
    if (state_->multi == nullptr || state_->easy == nullptr) throw std::bad_alloc();
}

http_client::~http_client() = default;

client_response http_client::send(const client_request& request) {
    return perform(request, nullptr);
}

client_response http_client::stream(const client_request& request,
                                    function_ref<bool(std::string_view)> on_data) {
    return perform(request, &on_data);
}

client_response http_client::perform(const client_request& request,
                                     function_ref<bool(std::string_view)>* on_data) {
    if (stop_.raised()) throw source_stopped();
    CURL* easy = state_->easy;
    curl_easy_reset(easy);
    transfer t{.on_data = on_data, .easy = easy};

    std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers(nullptr,
                                                                        &curl_slist_free_all);
    const auto add_header = [&](const char* header) {
        curl_slist* longer = curl_slist_append(headers.get(), header);
        if (longer == nullptr) throw std::bad_alloc();
        static_cast<void>(headers.release());  // longer has it
        headers.reset(longer);
    };
    for (const auto& header : request.headers) add_header(header.c_str());
    add_header("Expect:");  // no 100 Continue: it costs a round trip and puzzles small servers

    curl_easy_setopt(easy, CURLOPT_URL, request.url.c_str());
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers.get());
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);  // a stop does not wait for a name server
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, 3000L);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout.count()));
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "cadre");
    // Not to be compressed, and unpacked if it is all the same: a proxy would hold up what comes in
    // pieces to compress it.
    curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "identity");
    if (!ca_file_.empty()) curl_easy_setopt(easy, CURLOPT_CAINFO, ca_file_.c_str());
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, &t);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &t);
    if (request.post) {
        curl_easy_setopt(easy, CURLOPT_POST, 1L);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                         static_cast<curl_off_t>(request.body.size()));
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.c_str());
    }

    struct attached_scope {
        CURLM* multi;
        CURL* easy;
        ~attached_scope() { curl_multi_remove_handle(multi, easy); }
    };
    curl_multi_add_handle(state_->multi, easy);
    const attached_scope attached{state_->multi, easy};
    CURLcode result = CURLE_OK;
    for (int running = 1; running > 0;) {
        CURLMcode code = curl_multi_perform(state_->multi, &running);
        curl_waitfd stop{stop_.descriptor(), CURL_WAIT_POLLIN, 0};
        if (code == CURLM_OK && running > 0)
            code = curl_multi_poll(state_->multi, &stop, 1, 60'000, nullptr);
        if (stop_.raised()) throw source_stopped();
        if (code != CURLM_OK) throw http_failure(curl_multi_strerror(code));
    }
    for (int left = 0;;) {
        const CURLMsg* message = curl_multi_info_read(state_->multi, &left);
        if (message == nullptr) break;
        if (message->msg == CURLMSG_DONE) result = message->data.result;
    }
    if (t.thrown) std::rethrow_exception(t.thrown);
    if (t.too_large)
        throw http_failure(shown_url(request.url) + ": the answer has more than " +
                           std::to_string(most_answer_bytes) + " bytes");
    if (result != CURLE_OK && !t.ended_by_us)
        throw http_failure(shown_url(request.url) + ": " + curl_easy_strerror(result),
                           result == CURLE_OPERATION_TIMEDOUT);
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    t.response.status = static_cast<int>(status);
    return std::move(t.response);
}

std::string client_response::header(const std::string& lower_case_name) const {
    const auto found = headers.find(lower_case_name);
    return found == headers.end() ? "" : found->second;
}

std::string unexpected(const client_response& response, const std::string& url) {
    return shown_url(url) + " answered with status " + std::to_string(response.status);
}

std::string base_url(std::string url, std::string_view option) {
    if (!url.starts_with("http://") && !url.starts_with("https://"))
        throw std::invalid_argument(std::string(option) + " (" + shown_url(url) +
                                    ") must begin with http:// or https://");
    while (url.ends_with('/')) url.pop_back();
    return url;
}

std::string shown_url(std::string_view url) {
    url = url.substr(0, url.find_first_of("?#"));
    const auto scheme = url.find("://");
    const auto start = scheme == std::string_view::npos ? 0 : scheme + 3;
    const auto authority = url.substr(start, url.find('/', start) - start);
    const auto at = authority.rfind('@');
    if (at == std::string_view::npos) return std::string(url);
    return std::string(url.substr(0, start)) + std::string(url.substr(start + at + 1));
}

}  // namespace cadre::manage::detail
