#pragma once

#include <string_view>

#include "core/run_layout.h"

namespace assay::layout {

/// Whether a file in a node's folder is named like a rank's log or part of one
/// ("rank3.out.log.head"), even with a number that no rank can have ("rank00.out.log").
[[nodiscard]] inline bool is_rank_log_name(std::string_view name) noexcept {
  const RunFile* file = find_run_file(FilePlace::node, name);
  constexpr std::string_view kRank = "rank";
  if (file == nullptr || !file->name.starts_with("rank<")) return false;
  // Excludes "rank_table.out.log".
  const std::string_view number = name.substr(kRank.size(), name.find('.') - kRank.size());
  return number.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace assay::layout
