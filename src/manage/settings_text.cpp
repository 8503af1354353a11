// SPDX-License-Identifier: Apache-2.0
//
// One table says how each field of pool_settings is called, written and read.

#include <cadre/manage/settings_text.hpp>

#include <charconv>
#include <functional>
#include <limits>
#include <stdexcept>

#include <cadre/manage/duration_text.hpp>
#include <cadre/queue/blocking_queue.hpp>

namespace cadre::manage {
namespace {

[[noreturn]] void refuse(std::string_view field, std::string_view text, const std::string& rule) {
    throw std::invalid_argument(std::string(field) + " (" + std::string(text) + "): " + rule);
}

void read(std::string_view field, std::string_view text, int& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
        refuse(field, text,
               "must be a whole number up to " + std::to_string(std::numeric_limits<int>::max()));
}
void read(std::string_view field, std::string_view text, std::size_t& value) {
    int capacity = unbounded;
    if (text != "unbounded") read(field, text, capacity);
    if (capacity < 1) refuse(field, text, "must be at least 1");
    value = static_cast<std::size_t>(capacity);
}
void read(std::string_view field, std::string_view text, bool& value) {
    if (text != "true" && text != "false") refuse(field, text, "must be true or false");
    value = text == "true";
}
void read(std::string_view field, std::string_view text, std::chrono::nanoseconds& value) {
    try {
        value = parse_duration(text);
    } catch (const std::invalid_argument& e) {
        refuse(field, text, e.what());
    }
}
void read(std::string_view, std::string_view text, std::string& value) { value = text; }

std::string write(int value) { return std::to_string(value); }
std::string write(std::size_t value) {
    return value == static_cast<std::size_t>(unbounded) ? "unbounded" : std::to_string(value);
}
std::string write(bool value) { return value ? "true" : "false"; }
std::string write(std::chrono::nanoseconds value) { return to_text(value); }
std::string write(const std::string& value) { return value; }

struct field {
    std::string name;
    std::function<std::string(const pool_settings&)> text;
    std::function<void(pool_settings&, std::string_view)> set;
    std::function<void(pool_settings&, const pool_settings&)> fall_back;
};

template <class T>
field make_field(std::string name, std::optional<T> pool_settings::*member) {
    return {
        .name = name,
        .text =
            [=](const pool_settings& s) { return s.*member ? write(*(s.*member)) : std::string(); },
        .set =
            [=](pool_settings& s, std::string_view text) {
                T value{};
                read(name, text, value);
                s.*member = std::move(value);
            },
        .fall_back =
            [=](pool_settings& above, const pool_settings& below) {
                if (!(above.*member)) above.*member = below.*member;
            }};
}

const std::vector<field>& fields() {
    static const std::vector<field> all{
        make_field("core_pool_size", &pool_settings::core_pool_size),
        make_field("maximum_pool_size", &pool_settings::maximum_pool_size),
        make_field("keep_alive", &pool_settings::keep_alive),
        make_field("allow_core_thread_time_out", &pool_settings::allow_core_thread_time_out),
        make_field("queue_capacity", &pool_settings::queue_capacity),
        make_field("rejection", &pool_settings::rejection),
        make_field("thread_name_prefix", &pool_settings::thread_name_prefix),
        make_field("prestart_core_threads", &pool_settings::prestart_core_threads),
        make_field("run_timeout", &pool_settings::run_timeout),
        make_field("queue_timeout", &pool_settings::queue_timeout),
        make_field("interrupt_on_run_timeout", &pool_settings::interrupt_on_run_timeout)};
    return all;
}

const field& field_called(std::string_view name) {
    for (const auto& f : fields())
        if (f.name == name) return f;
    std::string rule = "is no setting of a pool; those are";
    for (const auto& f : fields()) rule += " " + f.name;
    throw std::invalid_argument("field (" + std::string(name) + ") " + rule);
}

}  // namespace

const std::vector<std::string>& field_names() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> all;
        for (const auto& f : fields()) all.push_back(f.name);
        return all;
    }();
    return names;
}

std::string field_text(const pool_settings& settings, std::string_view field) {
    return field_called(field).text(settings);
}

void set_field(pool_settings& settings, std::string_view field, std::string_view text) {
    field_called(field).set(settings, text);
}

pool_settings merged(pool_settings above, const pool_settings& below) {
    for (const auto& f : fields()) f.fall_back(above, below);
    return above;
}

}  // namespace cadre::manage
