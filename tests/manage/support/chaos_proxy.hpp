// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace cadre::testing {

/// What a network, a proxy or a server out of its mind does to an answer.
enum class mischief {
    none,
    refuse,         ///< closes the connection as soon as it is there
    half_tls,       ///< begins a TLS record, and closes
    silence,        ///< takes the request, and never answers
    slow,           ///< byte by byte
    cut,            ///< half of it, and a reset
    truncate,       ///< half of it, and an orderly end
    duplicate,      ///< twice
    reorder,        ///< the second half first
    wrong_json,     ///< the length is right, brackets and quotes are not
    longer_length,  ///< says that there is more than there is
    shorter_length,
    server_error,  ///< 503 instead
    stale          ///< the first answer this path had
};
inline constexpr mischief all_mischief[] = {
    mischief::refuse,     mischief::half_tls,     mischief::silence,       mischief::slow,
    mischief::cut,        mischief::truncate,     mischief::duplicate,     mischief::reorder,
    mischief::wrong_json, mischief::server_error, mischief::longer_length, mischief::shorter_length,
    mischief::stale};
std::string_view to_text(mischief kind);

/// A proxy on a free port of 127.0.0.1, before a server at another. It works on the pieces of
/// answers as they arrive, so that it can be put before a stream as well.
class chaos_proxy {
public:
    /// The server's URL, as http://127.0.0.1:1234.
    explicit chaos_proxy(const std::string& server);
    ~chaos_proxy();
    chaos_proxy(const chaos_proxy&) = delete;
    chaos_proxy& operator=(const chaos_proxy&) = delete;

    std::string url() const;
    /// From now on, at most so many times, then none. Cuts the connections there are, so that
    /// nobody waits for what was done to them.
    void play(mischief kind, int times = 1'000'000'000);
    /// How often it did what it was last told to.
    int played() const;
    /// Keeps back requests for this path from now on, until let_through(): what they say of the
    /// past may be true no more when they arrive.
    void hold_requests(std::string path);
    bool holds_one() const;
    void let_through();

private:
    struct state;
    const std::unique_ptr<state> state_;
};

}  // namespace cadre::testing
