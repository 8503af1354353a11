// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "manage/http_message.hpp"

/// Who may ask. A page of another site can make its visitor's browser send requests here; what it
/// cannot do is choose their Host and Origin headers. So the host must be a name that we know (or a
/// name of the attacker that resolves to this machine would do), and the origin, if a browser sent
/// one, the page that we served ourselves.
namespace cadre::manage::detail {

/// Takes as long for a wrong guess as for the secret, whatever they have in common; only the
/// length of the guess can be told from the time. False if the secret is empty.
bool same_secret(std::string_view guess, std::string_view secret) noexcept;

/// What follows "Bearer "; empty if there is none.
std::string_view bearer_token(std::string_view authorization) noexcept;

/// The host of a Host header in lower case, without port and brackets; empty if it is malformed.
std::string host_name(std::string_view host_header);

/// True for the loopback names, and for those in `more`.
bool host_is_known(std::string_view host_header, const std::vector<std::string>& more);

/// True if there is no origin, or it is http(s):// and the host that was asked.
bool origin_is_ours(std::string_view origin, std::string_view host_header);

/// The refusal of a request that did not come by one of our names or from our page; status 0 if
/// there is none.
http_response refusal_of(const http_request& request, const std::vector<std::string>& more_hosts);

}  // namespace cadre::manage::detail
