// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string_view>

#include <cadre/detail/export.hpp>

namespace cadre::detail {

/// Writes one line on stderr: what was thrown, where, on which thread. For exceptions that have
/// nowhere else to go. Never throws.
CADRE_API void report_uncaught(std::string_view where, const std::exception_ptr& error) noexcept;

}  // namespace cadre::detail
