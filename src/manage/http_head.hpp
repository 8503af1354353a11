// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

/// How the bytes of a request are cut into lines, headers and a body. Where two readers could cut
/// them differently, one of them would see a request that the other has not checked; so what is not
/// plain is refused, before anybody else reads it.
namespace cadre::manage::detail {

/// Why a request is not read any further; status 0: it may be.
struct head_refusal {
    int status = 0;
    std::string why = {};
};

inline constexpr std::size_t most_headers = 100;

/// What can be said of a head, or of the beginning of one: a line that does not end as lines must.
/// The first `seen` bytes were looked at before.
head_refusal refusal_of_lines(std::string_view head, std::size_t seen);

/// The head with the empty line at its end; `max_body` bounds the length that it may announce.
head_refusal refusal_of_head(std::string_view head, std::size_t max_body);

/// HOST:PORT of a target in absolute form, http://HOST:PORT/PATH, which every server has to take;
/// empty for any other.
std::string_view authority_of(std::string_view target) noexcept;

}  // namespace cadre::manage::detail
