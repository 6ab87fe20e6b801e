#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "history/run_index.h"
#include "history/run_record.h"

namespace assay::history {

/// "steady_throughput > 100": a condition on the median over the rounds of a case.
struct Condition {
  enum class Relation { less, at_most, equal, at_least, greater };

  std::string metric;
  Relation relation = Relation::greater;
  double value = 0;

  friend constexpr auto enum_names(Relation /*relation*/) {
    using enum Relation;
    return std::to_array<EnumName<Relation>>(
        {{less, "<"}, {at_most, "<="}, {equal, "="}, {at_least, ">="}, {greater, ">"}});
  }
};
/// Throws Error of kind usage.
[[nodiscard]] Condition parse_condition(const std::string& text);

/// Milliseconds since the epoch of "2026-11-15", "2026-11-15T10:15:00Z", or of "30d" (12h, 90m)
/// ago. Throws Error of kind usage at `option`.
[[nodiscard]] std::int64_t parse_when(const std::string& text, const std::string& option,
                                      std::int64_t now_ms);

/// Selects runs: those that meet all given conditions.
struct RunFilter {
  std::vector<std::string> cases{};  ///< any of them: a part of a name, or a pattern with * or ?
  std::vector<std::string> hosts{};  ///< any of them took part
  std::vector<judge::Validity> verdicts{};
  std::vector<std::string> tags{};      ///< all of them
  std::string note{};                   ///< a part of a note, in any case
  std::vector<Condition> conditions{};  ///< all of them, each by some case that fits `cases`
  std::optional<std::int64_t> since_ms{};
  std::optional<std::int64_t> until_ms{};
  std::optional<bool> archived{};
};

/// A run as a list shows it.
struct FoundRun {
  std::int64_t id = 0;  ///< in the index
  std::string folder;
  std::string run_id;
  std::string suite;
  RunState state = RunState::ended;
  std::string problem;
  judge::Validity validity = judge::Validity::incomplete;
  std::int64_t started_ms = 0;
  std::int64_t ended_ms = 0;
  std::string machine;
  std::string version;
  std::int64_t environment = 0;  ///< its facts, in the index
  std::string copy_of;           ///< the folder that has the same run; empty: none
  std::string archived;          ///< its packed file; empty: its files are in its folder
  std::vector<std::string> tags{};
  std::vector<Note> notes{};
};

/// In the order of their beginning. Throws Error of kind usage for a metric that no run has.
[[nodiscard]] std::vector<FoundRun> find_runs(RunIndex& index, const RunFilter& filter);

/// Remarks for the user about them: unreadable runs, those not judged, archived ones, and different
/// ones with the same id.
[[nodiscard]] std::vector<std::string> remarks_about(const std::vector<FoundRun>& runs);

/// Whether a case is selected: one of the patterns matches, or there is none.
[[nodiscard]] bool case_fits(const std::string& name, const std::vector<std::string>& patterns);

}  // namespace assay::history
