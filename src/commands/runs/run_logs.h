#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "store/run_dir.h"

namespace assay::commands {

/// Selects logs of a run.
struct LogChoice {
  std::string case_name{};  ///< empty: every case's
  int round = 0;            ///< 0: all
  int rank = -1;            ///< -1: all
};

/// A rank's log so far.
struct LogFile {
  std::string case_name;
  int round = 0;
  int rank = 0;
  std::string node;                            ///< its folder's name
  std::vector<std::filesystem::path> parts{};  ///< oldest first
  std::uintmax_t bytes = 0;
  bool so_far = false;  ///< sent by an agent: the log itself comes at the end of the round
};

/// Ordered by case, round and rank.
[[nodiscard]] std::vector<LogFile> find_logs(const store::RunDir& run, const LogChoice& choice);

/// Prints the selected logs as they grow, each line with its rank if there are several, until
/// nobody works on the run; starts with the last `lines` of the current (or last) round.
int follow_logs(const store::RunDir& run, const LogChoice& choice, int lines, bool raw);

}  // namespace assay::commands
