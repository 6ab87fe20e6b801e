#include "jobs/job_array.h"

#include <algorithm>

#include "core/parse_number.h"
#include "core/text.h"

namespace assay::jobs {

int array_limit(std::string_view text) {
  const auto percent = text.find('%');
  if (percent == std::string_view::npos) return 0;
  return parse_number<int>(text.substr(percent + 1), 1, static_cast<int>(kMaxArrayElements))
      .value_or(0);
}

std::optional<ArrayRange> parse_array(std::string_view text) {
  ArrayRange range;
  if (const auto percent = text.find('%'); percent != std::string_view::npos) {
    const auto limit =
        parse_number<int>(text.substr(percent + 1), 1, static_cast<int>(kMaxArrayElements));
    if (!limit) return std::nullopt;
    range.limit = *limit;
    text = text.substr(0, percent);
  }
  for (std::string_view part : split(text, ',')) {
    int step = 1;
    const auto dash = part.find('-');
    if (const auto colon = part.find(':'); colon != std::string_view::npos) {
      const auto parsed = parse_number<int>(part.substr(colon + 1), 1, kMaxArrayIndex);
      if (!parsed || dash == std::string_view::npos) return std::nullopt;
      step = *parsed;
      part = part.substr(0, colon);
    }
    const auto first = parse_number<int>(part.substr(0, dash), 0, kMaxArrayIndex);
    const auto last = dash == std::string_view::npos
                          ? first
                          : parse_number<int>(part.substr(dash + 1), 0, kMaxArrayIndex);
    if (!first || !last || *last < *first) return std::nullopt;
    if (static_cast<std::size_t>((*last - *first) / step) + range.indices.size() >=
        kMaxArrayElements)
      return std::nullopt;
    for (int index = *first; index <= *last; index += step) range.indices.push_back(index);
  }
  std::ranges::sort(range.indices);
  if (std::ranges::adjacent_find(range.indices) != range.indices.end()) return std::nullopt;
  return range;
}

std::optional<std::vector<JobId>> parse_job_numbers(std::string_view text) {
  constexpr JobId kLast = JobId{1} << 53;
  std::vector<JobId> numbers;
  for (const std::string_view part : split(text, ',')) {
    const auto dash = part.find('-');
    const auto first = parse_number<JobId>(trim(part.substr(0, dash)), 1, kLast);
    const auto last = dash == std::string_view::npos
                          ? first
                          : parse_number<JobId>(trim(part.substr(dash + 1)), 1, kLast);
    if (!first || !last || *last < *first ||
        static_cast<std::size_t>(*last - *first) + numbers.size() >= kMaxNumbers)
      return std::nullopt;
    for (JobId id = *first; id <= *last; ++id) numbers.push_back(id);
  }
  std::ranges::sort(numbers);
  const auto again = std::ranges::unique(numbers);
  numbers.erase(again.begin(), again.end());
  return numbers;
}

}  // namespace assay::jobs
