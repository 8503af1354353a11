// SPDX-License-Identifier: Apache-2.0
#include <cadre/manage/apollo_source.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <utility>

#include "manage/apollo_release.hpp"
#include "manage/atomic_file.hpp"
#include "manage/centre.hpp"
#include "manage/digest.hpp"
#include "manage/document_builder.hpp"
#include "manage/source_loop.hpp"

// A long poll says that there is something newer than the notification id it was sent; the release
// is read from /configs. Of several config services one may notify before another has the release.
// So the one that notified is asked first, every read carries the messages of the notification,
// which make a service that is behind catch up, and the id is taken over only when a read with them
// has succeeded; that there is no release counts from the second time on. Ids of a database that
// was restored are lower than ours, and never notified of: hence the refresh.

namespace cadre::manage {
namespace detail {
namespace {

using clock = std::chrono::steady_clock;

/// Of a text with commas between them; blanks around them are none of theirs.
std::vector<std::string> parts_of(std::string_view text) {
    std::vector<std::string> parts;
    while (!text.empty()) {
        auto part = text.substr(0, text.find(','));
        text.remove_prefix(std::min(part.size() + 1, text.size()));
        while (part.starts_with(' ')) part.remove_prefix(1);
        while (part.ends_with(' ')) part.remove_suffix(1);
        if (!part.empty()) parts.emplace_back(part);
    }
    return parts;
}

class apollo_fetcher final : public document_fetcher {
public:
    apollo_fetcher(apollo_source_options options)
        : options_(std::move(options)),
          pace_(options_.pace),
          watched_(options_.name_space),
          cache_(options_.cache_directory.empty()
                     ? std::filesystem::path()
                     : apollo_cache_file(options_.cache_directory, options_.app_id,
                                         options_.cluster, options_.name_space)) {
        for (const auto& url : options_.config_services)
            services_.push_back(base_url(url, "config_services"));
        if (!services_.empty()) return;
        for (const auto& url : parts_of(options_.meta)) metas_.push_back(base_url(url, "meta"));
    }

    std::optional<config_document> fetch(const stop_signal& stop) override {
        if (!client_) client_.emplace(stop, options_.ca_file);
        if (!loaded_) return first_load();
        for (;;) {
            pace_.wait(stop);
            const bool was_missing = absences_ > 0;
            // Polls may fail for as long as they like.
            if (clock::now() < refresh_at_ && !poll() && !was_missing) return {};
            auto document = read();
            // A first release is waited for by polls, not in pauses that grow.
            if (absences_ == 0 || !was_missing) return document;
        }
    }
    void forget() override {
        loaded_ = false;
        release_ = {};
    }

private:
    std::optional<config_document> first_load() {
        try {
            return read();
        } catch (const http_failure&) {
            // Better than nothing, once; the next attempt fails openly.
            if (cache_.empty() || std::exchange(cache_was_read_, true)) throw;
            auto cached = read_apollo_cache(cache_, options_.name_space);
            if (!cached) throw;
            return cached;  // which says of itself that it is stale
        }
    }

    /// A document that must be there and is not is looked for some more times, told of or not: it
    /// may come a little later than the word of it.
    std::optional<config_document> read() {
        constexpr int looks = 4;
        auto document = load();
        const bool missing = document && !document->exists && options_.required;
        absences_ = missing ? absences_ + 1 : 0;
        loaded_ = !missing || absences_ >= looks;
        return document;
    }

    client_response ask(const std::string& base, const std::string& target,
                        std::chrono::milliseconds timeout) {
        client_request request{.url = base + target, .timeout = timeout};
        if (!options_.secret.empty()) {
            const auto now = std::chrono::system_clock::now().time_since_epoch();
            const std::string timestamp =
                std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
            // The path of the base, if it has one, is part of what is sent.
            const auto path = request.url.find('/', request.url.find("://") + 3);
            request.headers = {"Timestamp: " + timestamp,
                               "Authorization: Apollo " + options_.app_id + ":" +
                                   apollo_signature(options_.secret, timestamp,
                                                    std::string_view(request.url).substr(path))};
        }
        return client_->send(request);
    }

    void find_services() {
        if (metas_.empty() || (!services_.empty() && clock::now() < find_again_at_)) return;
        std::string error;
        for (std::size_t attempt = 0; attempt < metas_.size(); ++attempt) {
            try {
                services_ = services_by(metas_[meta_at_ % metas_.size()]);
                error.clear();
                break;
            } catch (const http_failure& failure) {
                error = failure.what();
                ++meta_at_;
            }
        }
        if (!error.empty() && services_.empty()) throw http_failure(error);
        find_again_at_ = clock::now() + std::chrono::minutes(5);  // those of before may do
    }

    /// What a meta server says. An entry that is no address does not spoil the others.
    std::vector<std::string> services_by(const std::string& meta) {
        const std::string target = "/services/config?appId=" + percent_encoded(options_.app_id) +
                                   "&ip=" + percent_encoded(options_.ip);
        const auto response = client_->send({.url = meta + target});
        if (response.status != 200) throw http_failure(unexpected(response, meta));
        std::vector<std::string> found;
        std::string error = shown_url(meta) + " knows no config service";
        for (const auto& service : json_answer(response.body, meta).items) {
            try {
                found.push_back(base_url(text_at(service, "homepageUrl"), "homepageUrl"));
            } catch (const std::invalid_argument& refused) {
                error = refused.what();
            }
        }
        if (found.empty()) throw http_failure(error);
        std::shuffle(found.begin(), found.end(), random_);  // so that a fleet is spread
        return found;
    }

    /// Reads the release, from the service that was last asked or else from any other.
    std::optional<config_document> load() {
        find_services();
        std::string error;
        for (std::size_t attempt = 0; attempt < services_.size(); ++attempt) {
            try {
                return load_from(service());
            } catch (const http_failure& failure) {
                error = failure.what();
                ++at_;
            }
        }
        find_again_at_ = {};
        throw http_failure(error);
    }

    std::optional<config_document> load_from(const std::string& base) {
        std::string target = "/configs/" + percent_encoded(options_.app_id) + "/" +
                             percent_encoded(options_.cluster) + "/" +
                             percent_encoded(options_.name_space) + "?";
        const auto add = [&](std::string_view name, const std::string& value) {
            if (value.empty()) return;
            if (!target.ends_with('?')) target += '&';
            target.append(name).append("=").append(percent_encoded(value));
        };
        add("releaseKey", release_.key);
        add("dataCenter", options_.data_center);
        add("ip", options_.ip);
        add("label", options_.label);
        add("messages", messages_text());
        if (target.ends_with('?')) target.pop_back();

        const auto response = ask(base, target, options_.timeout);
        if (response.status == 404) {
            release_ = {};
            // Once, it may be of a service that does not know yet what another has told.
            if (std::exchange(absent_id_, notified_id_) == notified_id_) taken_over();
            return config_document{.format = apollo_format(options_.name_space), .exists = false};
        }
        if (response.status == 304 && !release_.key.empty()) {
            taken_over();
            return {};
        }
        if (response.status != 200) throw http_failure(unexpected(response, base));
        try {
            auto next = release_.after(json_answer(response.body, base));
            auto document = next.document(options_.name_space);
            release_ = std::move(next);
            taken_over();
            keep();
            return document;
        } catch (const http_failure&) {
            release_ = {};  // so that the next answer is the whole
            throw;
        }
    }

    /// A read with the messages has succeeded: what they told of is known now.
    void taken_over() {
        notification_id_ = notified_id_;
        refresh_at_ = clock::now() + options_.refresh;
    }

    void keep() const {
        if (cache_.empty()) return;
        try {
            write_apollo_cache(cache_, release_);
        } catch (const std::exception&) {
            // A cache that cannot be written must not keep a release from being applied.
        }
    }

    /// Waits for a notification; false if none came.
    bool poll() {
        find_services();
        const std::string asked = "[{\"namespaceName\":" + json_quoted(watched_) +
                                  ",\"notificationId\":" + std::to_string(notification_id_) + "}]";
        std::string target = "/notifications/v2?appId=" + percent_encoded(options_.app_id) +
                             "&cluster=" + percent_encoded(options_.cluster) +
                             "&notifications=" + percent_encoded(asked);
        if (!options_.data_center.empty())
            target += "&dataCenter=" + percent_encoded(options_.data_center);
        if (!options_.ip.empty()) target += "&ip=" + percent_encoded(options_.ip);

        const std::string base = service();
        try {
            const auto response = ask(base, target, options_.long_poll);
            if (response.status == 304) {
                at_ += random_() % 2;  // as Apollo's clients do, to spread
                return false;
            }
            if (response.status != 200) throw http_failure(unexpected(response, base));
            bool told = false;
            for (const auto& notification : json_answer(response.body, base).items)
                told = note(notification) || told;
            return told;
        } catch (const http_failure&) {
            ++at_;
            find_again_at_ = {};  // there may be others by now
            throw;
        }
    }

    bool note(const document_node& notification) {
        if (text_at(notification, "namespaceName") != watched_) return false;
        notified_id_ = number_at(notification, "notificationId", notified_id_);
        const auto* messages = notification.find("messages");
        const auto* details = messages == nullptr ? nullptr : messages->find("details");
        if (details != nullptr)
            for (const auto& [key, line, value] : details->members) {
                auto& id = messages_.try_emplace(key, -1).first->second;
                id = std::max(id, to_number(value.value, -1));
            }
        return true;
    }

    std::string messages_text() const {
        if (messages_.empty()) return {};
        std::string details;
        for (const auto& [key, id] : messages_)
            details += (details.empty() ? "" : ",") + json_quoted(key) + ":" + std::to_string(id);
        return "{\"details\":{" + details + "}}";
    }

    const std::string& service() const { return services_[at_ % services_.size()]; }

    const apollo_source_options options_;
    poll_pace pace_;
    const std::string watched_;
    const std::filesystem::path cache_;
    std::optional<http_client> client_;
    std::vector<std::string> metas_;  ///< none, if the services were named
    std::size_t meta_at_ = 0;         ///< the meta server to ask next
    std::vector<std::string> services_;
    std::size_t at_ = 0;  ///< the service to ask next
    clock::time_point find_again_at_ = {};
    bool loaded_ = false;
    bool cache_was_read_ = false;
    int absences_ = 0;  ///< reads in a row that did not find what must be there
    apollo_release release_;
    std::int64_t notification_id_ = -1;  ///< sent with a poll
    std::int64_t notified_id_ = -1;      ///< told by one, and to be taken over by a read
    std::int64_t absent_id_ = -2;        ///< notified_id_ when a read last found nothing
    std::map<std::string, std::int64_t> messages_;
    clock::time_point refresh_at_ = {};
    std::minstd_rand random_{std::random_device{}()};
};

bool has_suffix(std::string_view name, std::string_view suffix) {
    return name.size() > suffix.size() &&
           std::equal(suffix.begin(), suffix.end(), name.end() - suffix.size(), [](char a, char b) {
               return a == std::tolower(static_cast<unsigned char>(b));
           });
}

/// What a machine says of itself to Apollo's clients.
struct machine_settings {
    std::string data_center = {};
    std::string environment = {};  ///< in upper case
};

machine_settings read_machine_settings(const std::filesystem::path& file) {
    const auto text = read_small_file(file, document_limits{}.bytes);
    if (!text) return {};
    constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
    std::string_view rest = *text;
    if (rest.starts_with(byte_order_mark)) rest.remove_prefix(byte_order_mark.size());
    auto all = flat_properties(rest, file.string());
    const auto trimmed = [&](const char* key) {
        std::string& value = all[key];
        value.erase(value.find_last_not_of(" \t") + 1);
        return value;
    };
    machine_settings result{.data_center = trimmed("idc"), .environment = trimmed("env")};
    for (char& c : result.environment)
        c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    if (result.environment == "PROD") result.environment = "PRO";  // as the Java client has it
    return result;
}

bool is_app_id(std::string_view text) {
    constexpr std::string_view letters =
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-.";
    return !text.empty() && text.front() != '.' &&
           text.find_first_not_of(letters) == std::string_view::npos;
}

}  // namespace
}  // namespace detail

std::unique_ptr<config_source> apollo_source(apollo_source_options options) {
    if (!detail::is_app_id(options.app_id))
        throw std::invalid_argument("app_id (" + options.app_id +
                                    ") must be of letters, digits, _, - and, not first, dots");
    if (options.config_services.empty() && detail::parts_of(options.meta).empty())
        throw std::invalid_argument("apollo needs a meta server or config services");
    if (options.cluster.empty()) options.cluster = "default";
    // The service takes the suffix off, in any case of letters, and answers without it.
    constexpr std::string_view suffix = ".properties";
    if (detail::has_suffix(options.name_space, suffix))
        options.name_space.resize(options.name_space.size() - suffix.size());
    for (const auto* part : {&options.name_space, &options.cluster})
        if (part->empty() || part->find('/') != std::string::npos)
            throw std::invalid_argument("\"" + *part + "\" is no name of a namespace or cluster");
    detail::apollo_format(options.name_space);
    detail::check_above_zero(options.timeout, "timeout");
    detail::check_above_zero(options.long_poll, "long_poll");
    detail::check_above_zero(options.refresh, "refresh");
    detail::check_above_zero(options.pace, "pace");
    const std::string name = "apollo:" + options.app_id + "/" +
                             (options.cluster == "default" ? "" : options.cluster + "/") +
                             options.name_space;
    const bool required = options.required;
    const auto backoff = options.backoff;
    return std::make_unique<detail::source_loop>(
        name, std::make_unique<detail::apollo_fetcher>(std::move(options)), required, backoff);
}

apollo_source_options apollo_source_options::from_environment(
    const std::filesystem::path& server_properties) {
    const auto variable = [](const std::string& name) {
        const char* value = std::getenv(name.c_str());
        return std::string(value == nullptr ? "" : value);
    };
    const auto machine = detail::read_machine_settings(server_properties);
    apollo_source_options options{.meta = variable("APOLLO_META"),
                                  .app_id = variable("APP_ID"),
                                  .data_center = machine.data_center,
                                  .label = variable("APOLLO_LABEL"),
                                  .secret = variable("APOLLO_ACCESS_KEY_SECRET"),
                                  .cache_directory = variable("APOLLO_CACHE_DIR")};
    if (options.meta.empty() && !machine.environment.empty())
        options.meta = variable(machine.environment + "_META");
    const std::string cluster = variable("APOLLO_CLUSTER");
    if (!cluster.empty())
        options.cluster = cluster;
    else if (!machine.data_center.empty())
        options.cluster = machine.data_center;
    options.config_services = detail::parts_of(variable("APOLLO_CONFIG_SERVICE"));
    return options;
}

}  // namespace cadre::manage
