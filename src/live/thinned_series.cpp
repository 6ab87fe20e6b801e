#include "live/thinned_series.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay::live {

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace

void ThinnedSeries::add(double t, double value) {
  if (!std::isfinite(t)) return;
  t = std::max(t, newest_);
  newest_ = t;
  Bucket one{{t, value}, {t, value}, t, 0, 1};
  if (!std::isfinite(value)) one = {{t, kNaN}, {t, kNaN}, t, t, 1};
  if (buckets_.empty() || buckets_.back().values >= per_bucket_)
    buckets_.push_back(one);
  else
    join(buckets_.back(), one);
  if (buckets_.size() > most_) thin();
}

void ThinnedSeries::join(Bucket& into, const Bucket& next) {
  if (std::isnan(into.least.second) || next.least.second < into.least.second)
    into.least = std::isnan(next.least.second) ? into.least : next.least;
  if (std::isnan(into.greatest.second) || next.greatest.second > into.greatest.second)
    into.greatest = std::isnan(next.greatest.second) ? into.greatest : next.greatest;
  if (into.gap == 0) into.gap = next.gap;
  into.values += next.values;
}

void ThinnedSeries::thin() {
  per_bucket_ *= 2;
  std::vector<Bucket> fewer;
  fewer.reserve(buckets_.size() / 2 + 1);
  for (const Bucket& bucket : buckets_) {
    if (fewer.empty() || fewer.back().values + bucket.values > per_bucket_)
      fewer.push_back(bucket);
    else
      join(fewer.back(), bucket);
  }
  buckets_ = std::move(fewer);
}

void ThinnedSeries::limit(std::size_t most) {
  most_ = std::max<std::size_t>(most, 2);
  while (buckets_.size() > most_) thin();
}

Stretch ThinnedSeries::points(const Span& span, std::size_t count) const {
  // The bucket in which the span begins has grown since, perhaps.
  auto first = std::ranges::upper_bound(buckets_, span.from, {}, &Bucket::begin);
  if (first != buckets_.begin()) --first;
  const auto last = std::ranges::upper_bound(buckets_, span.to, {}, &Bucket::begin);
  Stretch out;
  if (first >= last) return out;
  out.replaces_from = first->begin;
  const auto buckets = static_cast<std::size_t>(last - first);
  const std::size_t step =
      (2 * buckets + std::max<std::size_t>(count, 2) - 1) / std::max<std::size_t>(count, 2);
  for (auto at = first; at < last; at += static_cast<std::ptrdiff_t>(std::min<std::size_t>(
                                       step, static_cast<std::size_t>(last - at)))) {
    Bucket joined = *at;
    for (std::size_t i = 1; i < step && at + static_cast<std::ptrdiff_t>(i) < last; ++i)
      join(joined, at[static_cast<std::ptrdiff_t>(i)]);
    std::vector<Point> here;
    if (!std::isnan(joined.least.second)) {
      here.push_back(joined.least);
      if (joined.greatest != joined.least) here.push_back(joined.greatest);
    }
    if (joined.gap != 0) here.emplace_back(joined.gap, kNaN);
    std::ranges::sort(here, {}, &Point::first);
    out.points.insert(out.points.end(), here.begin(), here.end());
  }
  return out;
}

void RateSeries::add(double from, double to, double amount) {
  constexpr double kLongest = 30 * 86400.0;
  if (!std::isfinite(from) || !std::isfinite(to) || !std::isfinite(amount) || amount < 0) return;
  if (to <= from || to - from > kLongest) return;
  if (bins_.empty()) start_ = std::floor(from / width_) * width_;
  from = std::max(from, start_);
  if (to <= from) return;
  while ((to - start_) / width_ >= static_cast<double>(most_)) widen();
  const auto last = static_cast<std::size_t>((to - start_) / width_);
  if (bins_.size() <= last) bins_.resize(last + 1);
  const double rate = amount / (to - from);
  for (auto i = static_cast<std::size_t>((from - start_) / width_); i <= last; ++i) {
    const double begin = start_ + static_cast<double>(i) * width_;
    const double part = std::min(to, begin + width_) - std::max(from, begin);
    if (part <= 0) continue;
    bins_[i].amount += rate * part;
    bins_[i].covered = true;
  }
}

void RateSeries::widen() {
  for (std::size_t i = 0; i < bins_.size(); i += 2) {
    Bin both = bins_[i];
    if (i + 1 < bins_.size()) {
      both.amount += bins_[i + 1].amount;
      both.covered = both.covered || bins_[i + 1].covered;
    }
    bins_[i / 2] = both;
  }
  bins_.resize((bins_.size() + 1) / 2);
  width_ *= 2;
}

void RateSeries::limit(std::size_t most) {
  most_ = std::max<std::size_t>(most, 2);
  while (bins_.size() > most_) widen();
}

Stretch RateSeries::points(const Span& span, std::size_t count, double complete_until) const {
  Stretch out;
  const std::size_t step = std::max<std::size_t>(
      (bins_.size() + std::max<std::size_t>(count, 2) - 1) / std::max<std::size_t>(count, 2), 1);
  bool gap = true;
  for (std::size_t i = 0; i < bins_.size(); i += step) {
    const double begin = start_ + static_cast<double>(i) * width_;
    const double end = begin + static_cast<double>(step) * width_;
    if (begin + width_ > complete_until || begin > span.to) break;
    if (end <= span.from) continue;
    double amount = 0;
    double time = 0;
    for (std::size_t k = i; k < std::min(i + step, bins_.size()); ++k) {
      if (start_ + static_cast<double>(k + 1) * width_ > complete_until) break;
      if (!bins_[k].covered) continue;
      amount += bins_[k].amount;
      time += width_;
    }
    if (out.replaces_from == 0) out.replaces_from = begin;
    const double middle = begin + static_cast<double>(step) * width_ / 2;
    if (time > 0)
      out.points.emplace_back(middle, amount / time);
    else if (!gap)
      out.points.emplace_back(middle, kNaN);
    gap = time == 0;
  }
  return out;
}

}  // namespace assay::live
