#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "judge/result.h"
#include "report/report.h"

namespace assay::report {

/// The data that a round's log needs besides its result.
struct MllogContext {
  std::string org = "unknown";
  std::string division = "open";
  std::string status = "onprem";
  std::string platform;          ///< empty: from the case ("2x8xA100")
  std::string benchmark;         ///< empty: the case's model or name
  Json config = Json::object();  ///< of the workload: batch size, seed, optimizer …
  bool own_program = false;      ///< Assay's: the defaults of its configuration are known
  bool caches_dropped = false;   ///< before the round, as the plan asks for
  std::optional<std::string> target_metric;  ///< the quality metric of the case
  std::string file = "assay";                ///< the "file" of every line's metadata
};

/// The lines of one round in MLPerf's training log format, or "" for a round that did not start.
/// Unknown required keys have the value null and a note; nothing is invented.
[[nodiscard]] std::string render_mllog(const judge::CaseResult& result,
                                       const judge::RoundResult& round,
                                       const MllogContext& context);

/// The objections of MLPerf's compliance checker to the log of that round, for people; empty: none
/// that is known here. Rulesets differ: those that know the benchmark decide.
[[nodiscard]] std::vector<std::string> mllog_obstacles(const judge::CaseResult& result,
                                                       const judge::RoundResult& round,
                                                       const MllogContext& context);

/// The same for every case of a run, "case: objection"; each once.
[[nodiscard]] std::vector<std::string> mllog_obstacles(const judge::RunResult& result,
                                                       const plan::Plan& plan);

/// Writes the logs of all rounds to mllog/, with the objections in notes.md beside them; logs of
/// rounds that are no longer in the result are removed.
void write_mllogs(const ReportInput& input);

/// "<case>_round<N>.txt", without characters that a file name cannot have.
[[nodiscard]] std::string mllog_file_name(const std::string& case_name, int round);

/// Milliseconds since the epoch of "2026-11-15T10:15:00[.123]Z", or nothing.
[[nodiscard]] std::optional<std::int64_t> parse_iso_ms(const std::string& text);

}  // namespace assay::report
