#include "judge/output_values.h"

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "stats/descriptive.h"

namespace assay::judge {

namespace {

constexpr std::size_t kMaxKept = std::size_t{1} << 22;
constexpr std::size_t kShownOfMatch = 60;  // code points of a match that is not a number

template <typename Item>
void keep_every_second(std::vector<Item>& items) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < items.size(); i += 2) items[kept++] = items[i];
  items.resize(kept);
}

}  // namespace

OutputValues::OutputValues(std::initializer_list<double> values) {
  for (const double value : values) add(value);
}

void OutputValues::add(const OutputPoint& point) {
  const double value = point.value;
  if (count_ == 0) first_ = min_ = max_ = value;
  last_ = value;
  last_step_ = point.step;
  min_ = std::min(min_, value);
  max_ = std::max(max_, value);
  const double next = sum_ + value;
  lost_ += std::abs(sum_) >= std::abs(value) ? (sum_ - next) + value : (value - next) + sum_;
  sum_ = next;
  if (count_ % kept_every_ == 0) kept_.push_back(value);
  if (kept_.size() >= kMaxKept) {
    keep_every_second(kept_);
    kept_every_ *= 2;
  }
  if (count_ % points_every_ == 0) points_.push_back(point);
  if (points_.size() > kMaxPoints) {
    keep_every_second(points_);
    points_every_ *= 2;
  }
  ++count_;
}

void OutputValues::add_unreadable(std::uint64_t line, std::string_view text) {
  if (unreadable_++ > 0) return;
  first_unreadable_line_ = line;
  first_unreadable_ = ellipsize(printable(text.substr(0, 4 * kShownOfMatch)), kShownOfMatch);
}

std::optional<double> OutputValues::reduced(std::string_view how) const {
  if (count_ == 0) return std::nullopt;
  if (kept_every_ == 1 || how == "median") return reduce(how, kept_);
  if (how == "first") return first_;
  if (how == "last") return last_;
  if (how == "min") return min_;
  if (how == "max") return max_;
  const double sum = sum_ + lost_;
  return how == "sum" ? sum : sum / static_cast<double>(count_);
}

std::optional<double> reduce(std::string_view how, const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  if (how == "last") return values.back();
  if (how == "first") return values.front();
  if (how == "min") return *std::ranges::min_element(values);
  if (how == "max") return *std::ranges::max_element(values);
  if (how == "median") return stats::median(values);
  const auto mean = stats::mean(values);
  if (how == "sum" && mean) return *mean * static_cast<double>(values.size());
  return mean;
}

}  // namespace assay::judge
