#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "store/run_dir.h"

namespace assay::commands {

/// Which logs of a run.
struct LogChoice {
  std::string case_name{};  ///< empty: of all
  int round = 0;            ///< 0: all
  int rank = -1;            ///< -1: all
};

/// A rank's log, as far as it has come.
struct LogFile {
  std::string case_name;
  int round = 0;
  int rank = 0;
  std::string node;                            ///< its folder's name
  std::vector<std::filesystem::path> parts{};  ///< oldest first
  std::uintmax_t bytes = 0;
  bool so_far = false;  ///< what an agent has sent: the log itself comes at the end of the round
};

/// In order of case, round and rank.
[[nodiscard]] std::vector<LogFile> find_logs(const store::RunDir& run, const LogChoice& choice);

/// Prints the chosen logs as they grow, each line with its rank where there are several, until
/// nobody works on the run; first the last `lines` of the round that runs (or ran last).
int follow_logs(const store::RunDir& run, const LogChoice& choice, int lines, bool raw);

}  // namespace assay::commands
