#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/any_fields.h"
#include "core/cpu_set.h"
#include "core/round_status.h"
#include "core/time.h"
#include "store/journal_event.h"

/// The fields of journal lines, one struct per kind of line that is read in several places. One
/// list of fields serves both directions: fields_to_json() makes the argument of Journal::append(),
/// and fields_from_any() reads a line. A journal may come from anywhere: missing or mistyped fields
/// get their defaults, and numbers may be nonsense.
namespace assay::store {

/// An enum's word in a journal, even one that this version does not know.
template <NamedEnum E>
struct Word {
  std::optional<E> value{};
  std::string text{};

  Word() = default;
  Word(E known) : value(known), text(to_text(known)) {}  // NOLINT(google-explicit-constructor)
  bool operator==(E known) const { return value == known; }
};
template <NamedEnum E>
[[nodiscard]] Json to_json(const Word<E>& word) {
  return word.text;
}
template <NamedEnum E>
void decode_json(const Json& json, Word<E>& word, const std::string& where) {
  if (!json.is_string()) json_fields_detail::wrong(where, "text");
  word.text = json.get<std::string>();
  word.value = parse_enum<E>(word.text);
}

// The subject of a line, besides its own fields.

/// A round of a case, or of a hook, whose case is its folder.
struct RoundName {
  std::string case_name{};
  int round = 0;  ///< from 1

  auto operator<=>(const RoundName&) const = default;
  static void fields(auto& self, auto&& field) {
    field("case", self.case_name);
    field("round", self.round);
  }
};
struct NodeName {
  int node = 0;
  std::string host{};

  bool operator==(const NodeName&) const = default;
  static void fields(auto& self, auto&& field) {
    field("node", self.node);
    field("host", self.host);
  }
};
[[nodiscard]] RoundName round_of(const Json& line);
[[nodiscard]] NodeName node_of(const Json& line);
/// The time of the event by the clocks of the machine that saw it; nothing if they are nonsense.
[[nodiscard]] std::optional<Instant> instant_of(const Json& line);

/// For run_start and run_resume.
struct RunStart {
  std::string run{};
  std::string host{};  ///< the controller's
  int pid = 0;
  std::string assay{};  ///< its version
  int evidence = 0;     ///< 0: the rounds that follow have no lists
  Json files{};         ///< list of evidence::FileRecord; null: the version did not write it
  std::string job{};    ///< the allocation that the controller runs in
  /// The controller's working folder, in which commands run that name no `workdir`; empty: an
  /// earlier version did not write it.
  std::string folder{};

  static void fields(auto& self, auto&& field) {
    field("run", self.run);
    field("host", self.host);
    field.optional("folder", self.folder);
    field("pid", self.pid);
    field("assay", self.assay);
    field("evidence", self.evidence);
    field.optional("files", self.files);
    field.optional("job", self.job);
  }
};
/// Whether a line begins a controller's work on the run.
[[nodiscard]] constexpr bool starts_run(std::optional<JournalEvent> kind) {
  return kind == JournalEvent::run_start || kind == JournalEvent::run_resume;
}

struct RunEnd {
  Word<RunStatus> status{};

  static void fields(auto& self, auto&& field) { field("status", self.status); }
};

struct RoundStart {
  // For rounds on nodes:
  std::string id{};   ///< ASSAY_ROUND_ID; empty for a job in a cloud or an old version
  std::string job{};  ///< in a cloud
  std::vector<NodeName> nodes{};
  std::optional<int> master_port{};
  // For a hook on the controller:
  std::string hook{};
  std::vector<std::string> command{};
  std::string processes{};  ///< ASSAY_ROUND_ID of the processes it starts

  static void fields(auto& self, auto&& field) {
    field.optional("id", self.id);
    field.optional("job", self.job);
    field.optional("nodes", self.nodes);
    field.optional("master_port", self.master_port);
    field.optional("hook", self.hook);
    field.optional("command", self.command);
    field.optional("processes", self.processes);
  }
};

struct RoundEnd {
  Word<RoundStatus> status{};
  std::string reason{};
  std::string advice{};
  std::vector<int> culprits{};  ///< ranks

  static void fields(auto& self, auto&& field) {
    field("status", self.status);
    field("reason", self.reason);
    field("advice", self.advice);
    field.optional("culprits", self.culprits);
  }
};

/// Agents write their own (agent::RankStart).
struct RankStart {
  int rank = 0;
  int local_rank = 0;
  std::optional<int> pid{};
  std::optional<CpuSet> bound{};
  // For a job in a cloud:
  std::optional<double> late_s{};            ///< the stamps may be this late
  std::optional<std::int64_t> service_ms{};  ///< on the service's clock

  static void fields(auto& self, auto&& field) {
    field("rank", self.rank);
    field("local_rank", self.local_rank);
    field.optional("pid", self.pid);
    field.optional("bound", self.bound);
    field.optional("late_s", self.late_s);
    field.optional("service_ms", self.service_ms);
  }
};

/// Agents write their own (agent::RankExit); little is known about a lost rank.
struct RankExit {
  int rank = 0;
  std::optional<int> local_rank{};
  std::optional<bool> rests{};  ///< true: it has not ended but only sleeps
  std::optional<CpuSet> ran_on{};
  std::optional<int> signal{};
  std::optional<int> code{};
  Word<EndedBy> ended_by{};
  std::optional<std::uint64_t> log_bytes{};
  std::optional<std::uint64_t> dropped_bytes{};
  std::optional<std::uint64_t> steps{};
  // As in RankStart:
  std::optional<double> late_s{};
  std::optional<std::int64_t> service_ms{};
  /// Seconds since this machine requested the job, by its own clock: an upper bound for the job.
  std::optional<double> within_s{};

  static void fields(auto& self, auto&& field) {
    field("rank", self.rank);
    field.optional("local_rank", self.local_rank);
    field.optional("rests", self.rests);
    field.optional("ran_on", self.ran_on);
    field.optional("signal", self.signal);
    field.optional("code", self.code);
    field("ended_by", self.ended_by);
    field.optional("log_bytes", self.log_bytes);
    field.optional("dropped_bytes", self.dropped_bytes);
    field.optional("steps", self.steps);
    field.optional("late_s", self.late_s);
    field.optional("service_ms", self.service_ms);
    field.optional("within_s", self.within_s);
  }
};

}  // namespace assay::store
