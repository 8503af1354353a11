// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include <cadre/detail/export.hpp>

namespace cadre::manage {

/// What is wrong in a document, and where. A line of 0: the document as a whole.
struct config_problem {
    std::string file = {};
    int line = 0;
    /// The path of the value, as pools.orders.core_pool_size; empty: the document.
    std::string key = {};
    /// What was found, and the rule it breaks.
    std::string rule = {};

    friend bool operator==(const config_problem&, const config_problem&) = default;
};

/// pools.yaml:7: pools.orders.core_pool_size: 64 is above maximum_pool_size (32)
CADRE_API std::string to_text(const config_problem& problem);

/// A document was refused, whole. what() has one line for each problem.
class CADRE_API configuration_error : public std::runtime_error {
public:
    explicit configuration_error(std::vector<config_problem> problems);
    /// All that were found, at least one, in the order of the documents.
    const std::vector<config_problem>& problems() const noexcept { return problems_; }

private:
    std::vector<config_problem> problems_;
};

}  // namespace cadre::manage
