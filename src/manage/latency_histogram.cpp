// SPDX-License-Identifier: Apache-2.0
#include <cadre/manage/latency_histogram.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace cadre::manage {

std::chrono::nanoseconds latency_histogram::upper_bound(std::size_t bucket) noexcept {
    const auto above = static_cast<int>(bucket);  // of bucket 0: the beginning of bucket 1
    const int octave = first_octave + above / steps;
    const std::int64_t quarter = std::int64_t{1} << (octave - 2);
    return std::chrono::nanoseconds(quarter * (steps + above % steps));
}

void latency_histogram::merge(const latency_histogram& other) noexcept {
    for (std::size_t i = 0; i < bucket_count; ++i) counts_[i] += other.counts_[i];
    sum_ += other.sum_;
}

latency_histogram latency_histogram::since(const latency_histogram& earlier) const noexcept {
    latency_histogram rest = *this;
    // A reader may see a later sum and an earlier count; never below nothing.
    for (std::size_t i = 0; i < bucket_count; ++i)
        rest.counts_[i] -= std::min(rest.counts_[i], earlier.counts_[i]);
    rest.sum_ -= std::min(rest.sum_, earlier.sum_);
    return rest;
}

std::uint64_t latency_histogram::count() const noexcept {
    std::uint64_t all = 0;
    for (const auto n : counts_) all += n;
    return all;
}

std::chrono::nanoseconds latency_histogram::sum() const noexcept {
    // Past 292 years, as the waits of a long queue add up to, it begins at zero again.
    constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
    return std::chrono::nanoseconds(static_cast<std::int64_t>(sum_ & most));
}

std::chrono::nanoseconds latency_histogram::mean() const noexcept {
    const auto all = count();
    return std::chrono::nanoseconds(all == 0 ? 0 : static_cast<std::int64_t>(sum_ / all));
}

std::chrono::nanoseconds latency_histogram::quantile(double share) const noexcept {
    const auto all = count();
    if (all == 0) return {};
    const double wanted = std::ceil(std::clamp(share, 0.0, 1.0) * static_cast<double>(all));
    const auto rank = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(wanted));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < bucket_count; ++i) {
        seen += counts_[i];
        if (seen < rank) continue;
        const auto low = i == 0 ? std::chrono::nanoseconds(0) : upper_bound(i - 1);
        return (low + upper_bound(i)) / 2;
    }
    return upper_bound(bucket_count - 1);
}

std::uint64_t latency_histogram::count_below_octave(int octave) const noexcept {
    const int buckets = (octave - first_octave) * steps + 1;
    std::uint64_t below = 0;
    for (int i = 0; i < std::min<int>(buckets, static_cast<int>(bucket_count)); ++i)
        below += counts_[static_cast<std::size_t>(i)];
    return below;
}

}  // namespace cadre::manage
