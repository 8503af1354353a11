// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>

#include "words.hpp"

namespace oracle {

/// What the driver can be told, by the first word of a line. A command returns what the trace
/// shows as its result, "" for nothing; what it throws is shown as its error.
class command_table {
public:
    using command = std::function<std::string(const words&)>;

    void add(const std::string& name, command c) { commands_[name] = std::move(c); }
    /// Throws not_understood if there is no such command.
    std::string play(const words& w) const {
        const auto found = commands_.find(w.command());
        if (found == commands_.end()) throw not_understood("unknown command " + w.command());
        return found->second(w);
    }

private:
    std::map<std::string, command> commands_;
};

}  // namespace oracle
