#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "judge/result.h"
#include "report/report.h"

namespace assay::report {

/// Additional information for a round's log, besides its result.
struct MllogContext {
  std::string org = "unknown";
  std::string division = "open";
  std::string status = "onprem";
  std::string platform;          ///< empty: from the case ("2x8xA100")
  std::string benchmark;         ///< empty: the case's model or name
  Json config = Json::object();  ///< the workload's: batch size, seed, optimizer …
  bool own_program = false;      ///< it is Assay's, so what its configuration omits is known
  bool caches_dropped = false;   ///< before the round, as the plan requests
  std::optional<std::string> target_metric;  ///< the case's quality metric
  std::string file = "assay";                ///< for the "file" in every line's metadata
};

/// The lines of a round in MLPerf's training log format, or "" for a round that did not start.
/// Unknown values of required keys are null with a note; nothing is invented.
[[nodiscard]] std::string render_mllog(const judge::CaseResult& result,
                                       const judge::RoundResult& round,
                                       const MllogContext& context);

/// The objections of MLPerf's compliance checker to that round's log, for people; empty if none is
/// known. Rulesets differ: those that know the benchmark decide.
[[nodiscard]] std::vector<std::string> mllog_obstacles(const judge::CaseResult& result,
                                                       const judge::RoundResult& round,
                                                       const MllogContext& context);

/// The same for every case of a run, as "case: obstacle", without repetitions.
[[nodiscard]] std::vector<std::string> mllog_obstacles(const judge::RunResult& result,
                                                       const plan::Plan& plan);

/// Writes the logs of all rounds to mllog/, with the obstacles in notes.md, and removes logs of
/// rounds that are no longer in the result.
void write_mllogs(const ReportInput& input);

/// "<case>_round<N>.txt", without characters that are not allowed in file names.
[[nodiscard]] std::string mllog_file_name(const std::string& case_name, int round);

/// "2026-11-15T10:15:00[.123]Z" as milliseconds since the epoch, or nothing.
[[nodiscard]] std::optional<std::int64_t> parse_iso_ms(const std::string& text);

}  // namespace assay::report
