#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "jobs/job_request.h"

namespace assay::jobs {

inline constexpr int kMaxArrayIndex = 1'000'000;
inline constexpr std::size_t kMaxArrayElements = 10'000;

/// The elements of a job array.
struct ArrayRange {
  std::vector<int> indices{};  ///< ascending, each once
  int limit = 0;               ///< elements at a time; 0: any number

  bool operator==(const ArrayRange&) const = default;
};

/// The "4" of "0-9%4", without a look at its elements; 0: any number at a time.
[[nodiscard]] int array_limit(std::string_view text);

/// "0-9", "0-9%4" (four at a time), "1,5,10-20:2". Nothing where it is not that, names an element
/// twice, or has more than kMaxArrayElements.
[[nodiscard]] std::optional<ArrayRange> parse_array(std::string_view text);

inline constexpr std::size_t kMaxNumbers = 100'000;  ///< of jobs that are named at a time

/// "12,17-26": numbers of jobs, each once, ascending. Nothing where it is not that, or names more
/// than kMaxNumbers.
[[nodiscard]] std::optional<std::vector<JobId>> parse_job_numbers(std::string_view text);

}  // namespace assay::jobs
