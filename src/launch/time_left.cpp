#include "launch/time_left.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace assay::launch {

void TimeLeft::round_started(const std::string& name, int round, int rounds_of_case, int done,
                             int total) {
  current_ = name;
  left_of_case_ = std::max(0, std::min(rounds_of_case - round, total - done - 1));
  left_of_others_ = std::max(0, total - done - 1 - left_of_case_);
  running_ = true;
}

void TimeLeft::round_ended(double seconds) {
  Seen& seen = cases_[current_];
  seen.sum_s += std::max(0.0, seconds);
  ++seen.rounds;
  running_ = false;
}

std::optional<double> TimeLeft::seconds(double elapsed_s) const {
  if (cases_.empty()) return std::nullopt;
  double of_others = 0;
  for (const auto& [name, seen] : cases_)
    of_others += seen.mean() / static_cast<double>(cases_.size());
  const auto own = cases_.find(current_);
  const double of_case = own == cases_.end() ? of_others : own->second.mean();
  const double current = running_ ? std::max(0.0, of_case - elapsed_s) : 0;
  const double left = current + left_of_case_ * of_case + left_of_others_ * of_others;
  return left > 0 ? std::optional(left) : std::nullopt;
}

std::string about_left(double seconds) {
  const auto to = [&](double unit) {
    return static_cast<long>(std::max(1.0, std::round(seconds / unit)));
  };
  if (!(seconds < 1e8)) return "more than a year left";
  if (seconds < 57.5) return fmt::format("about {} s left", 5 * to(5));
  if (seconds < 3570) return fmt::format("about {} min left", to(60));
  const long tens = to(600);
  if (tens % 6 == 0) return fmt::format("about {} h left", tens / 6);
  return fmt::format("about {} h {} min left", tens / 6, tens % 6 * 10);
}

}  // namespace assay::launch
