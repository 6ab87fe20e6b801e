#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "compare/differences.h"
#include "core/enum_names.h"
#include "history/run_labels.h"
#include "judge/result.h"

namespace assay::history {

enum class RunState {
  ended,       ///< it has a result
  running,     ///< a process is working on it
  no_result,   ///< not judged: interrupted, or its result was deleted
  unreadable,  ///< its files are unreadable; `problem` says why
};

constexpr auto enum_names(RunState /*state*/) {
  using enum RunState;
  return std::to_array<EnumName<RunState>>({{ended, "ended"},
                                            {running, "running"},
                                            {no_result, "no result"},
                                            {unreadable, "unreadable"}});
}

struct CaseRecord {
  std::string name;  ///< without the number of rounds, which does not affect what is measured
  judge::Validity validity = judge::Validity::incomplete;
  std::string headline;
  std::vector<judge::Summary> metrics;
  compare::Leaves configuration;
};

/// A run in the history, read entirely from its folder.
struct RunRecord {
  std::string folder;  ///< its name within the folder of results
  std::string run_id;  ///< the folder's name if nothing else tells it
  std::string suite;
  RunState state = RunState::no_result;
  std::string problem;  ///< for people; empty if none
  judge::Validity validity = judge::Validity::incomplete;
  std::int64_t started_ms = 0;  ///< Unix epoch, of the first round; else from the run's id; else 0
  std::int64_t ended_ms = 0;    ///< of the last round; 0: unknown
  std::vector<std::string> hosts;
  std::string version;  ///< of Assay
  std::string rounds;   ///< a hash of its rounds' begin and end times: a copy has the same
  compare::Leaves environment;
  std::vector<CaseRecord> cases;
  Labels labels;
  std::string archived;  ///< its packed file; empty: not archived
};

/// A larger result.json is ignored.
inline constexpr std::uintmax_t kMaxResultBytes = std::uintmax_t{512} << 20;

/// Never throws because of the folder's content: an unreadable run yields a record that says why.
[[nodiscard]] RunRecord read_run(const std::filesystem::path& run);

/// "node1", "node1, node2", "node1 … node8 (8 nodes)"; "unknown" for none.
[[nodiscard]] std::string machine_name(const std::vector<std::string>& hosts);

/// The time in "run20261115T101500Z-3f2a", in milliseconds since the epoch; 0 for other names.
[[nodiscard]] std::int64_t time_of_run_id(const std::string& run_id);

}  // namespace assay::history
