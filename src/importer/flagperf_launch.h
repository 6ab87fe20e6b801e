#pragma once

#include <string>
#include <utility>
#include <vector>

#include "importer/flagperf.h"
#include "importer/flagperf_layout.h"

namespace assay::importer {

/// How Assay starts what FlagPerf's start_<framework>_task.py would start. Words and values may
/// contain Assay's placeholders ({rank}, {data}, …); a literal {name} is written {{name}}.
struct Launch {
  std::string mode;  ///< per-rank, per-node, head
  std::vector<std::string> command;
  std::vector<std::pair<std::string, std::string>> env;
  std::string workdir;
  bool prints_tokens = false;        ///< prints "Tokens/p/s: …" and "MFU: …" instead of PerfLog
  std::vector<std::string> remarks;  ///< for readers of the suite, one line each
};

/// `here` is the checkout that was read, `on_hosts` the same layout on the hosts.
[[nodiscard]] Launch plan_launch(const FlagPerfConfig& config, const FlagPerfCase& item,
                                 const Layout& here, const Layout& on_hosts,
                                 const std::string& python, bool local);

}  // namespace assay::importer
