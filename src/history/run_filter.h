#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "history/run_index.h"
#include "history/run_record.h"

namespace assay::history {

/// "steady_throughput > 100", applied to the median over a case's rounds.
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

/// Milliseconds since the epoch for "2026-11-15", "2026-11-15T10:15:00Z", or a time ago such as
/// "30d" (12h, 90m). Throws Error of kind usage at `option`.
[[nodiscard]] std::int64_t parse_when(const std::string& text, const std::string& option,
                                      std::int64_t now_ms);

/// Selects the runs that satisfy all given criteria.
struct RunFilter {
  std::vector<std::string> cases{};  ///< any of them: part of a name, or a pattern with * or ?
  std::vector<std::string> hosts{};  ///< any of them
  std::vector<judge::Validity> verdicts{};
  std::vector<std::string> tags{};      ///< all of them
  std::string note{};                   ///< part of a note, ignoring case
  std::vector<Condition> conditions{};  ///< all of them, each satisfied by a case in `cases`
  std::optional<std::int64_t> since_ms{};
  std::optional<std::int64_t> until_ms{};
  std::optional<bool> archived{};
};

/// A run as shown in a list.
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
  std::int64_t environment = 0;  ///< index id of its facts
  std::string copy_of;           ///< the folder with the same run; empty: none
  std::string archived;          ///< its packed file; empty: not archived
  std::vector<std::string> tags{};
  std::vector<Note> notes{};
};

/// In the order in which they began. Throws Error of kind usage for a metric that no run has.
[[nodiscard]] std::vector<FoundRun> find_runs(RunIndex& index, const RunFilter& filter);

/// Remarks for the user: unreadable, unjudged and archived runs, and different runs with the same
/// id.
[[nodiscard]] std::vector<std::string> remarks_about(const std::vector<FoundRun>& runs);

/// Whether a case is selected: a pattern matches, or there is none.
[[nodiscard]] bool case_fits(const std::string& name, const std::vector<std::string>& patterns);

}  // namespace assay::history
