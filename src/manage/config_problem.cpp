// SPDX-License-Identifier: Apache-2.0
#include <cadre/manage/config_problem.hpp>

#include <utility>

#include "manage/harmless.hpp"

namespace cadre::manage {
namespace {

std::string all_of(const std::vector<config_problem>& problems) {
    std::string text;
    for (const auto& p : problems) text += (text.empty() ? "" : "\n") + to_text(p);
    return text;
}

}  // namespace

std::string to_text(const config_problem& problem) {
    std::string text = problem.file;
    if (problem.line > 0) text += ":" + std::to_string(problem.line);
    if (!text.empty()) text += ": ";
    if (!problem.key.empty()) text += problem.key + ": ";
    return detail::harmless(text + problem.rule);
}

configuration_error::configuration_error(std::vector<config_problem> problems)
    : std::runtime_error(all_of(problems)), problems_(std::move(problems)) {}

}  // namespace cadre::manage
