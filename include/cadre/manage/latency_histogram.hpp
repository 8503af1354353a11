// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include <cadre/detail/export.hpp>

namespace cadre::manage {

/// How long things took: counts in buckets of which four make a power of two, so that a quantile is
/// off by an eighth at most. From 256 ns to 36 minutes; what is shorter or longer counts at the
/// ends. A value; adding up those of several pools or processes makes sense.
class CADRE_API latency_histogram {
public:
    static constexpr int first_octave = 8;
    static constexpr int octaves = 33;
    static constexpr int steps = 4;  // of an octave
    static constexpr std::size_t bucket_count = octaves * steps + 1;

    /// In which bucket a duration is counted.
    static constexpr std::size_t bucket_of(std::int64_t ns) noexcept {
        if (ns < (std::int64_t{1} << first_octave)) return 0;
        const auto value = static_cast<std::uint64_t>(ns);
        const int octave = static_cast<int>(std::bit_width(value)) - 1;
        if (octave >= first_octave + octaves) return bucket_count - 1;
        const auto step = (value >> (octave - 2)) & 3;
        return static_cast<std::size_t>((octave - first_octave) * steps) + step + 1;
    }
    /// Durations in the bucket are shorter than this.
    static std::chrono::nanoseconds upper_bound(std::size_t bucket) noexcept;

    void add(std::size_t bucket, std::uint64_t times) noexcept { counts_[bucket] += times; }
    void add_sum(std::uint64_t ns) noexcept { sum_ += ns; }
    void merge(const latency_histogram& other) noexcept;
    /// What came in since `earlier`, a copy of this one.
    latency_histogram since(const latency_histogram& earlier) const noexcept;

    std::uint64_t count() const noexcept;
    std::chrono::nanoseconds sum() const noexcept;
    /// Zero if there is nothing.
    std::chrono::nanoseconds mean() const noexcept;
    /// So long took at most this share, from 0 to 1, of all; zero if there is nothing.
    std::chrono::nanoseconds quantile(double share) const noexcept;
    /// How many took less than that power of two of nanoseconds.
    std::uint64_t count_below_octave(int octave) const noexcept;

private:
    std::array<std::uint64_t, bucket_count> counts_{};
    std::uint64_t sum_ = 0;
};

}  // namespace cadre::manage
