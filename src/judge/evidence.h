#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aisbench/record.h"
#include "aisbench/reported_results.h"
#include "aisbench/results.h"
#include "automl/journal_check.h"
#include "automl/score.h"
#include "core/cpu_set.h"
#include "core/subprocess.h"
#include "core/time.h"
#include "evidence/file_record.h"
#include "judge/output_values.h"
#include "judge/result.h"
#include "judge/stamp.h"
#include "judge/time_parts.h"
#include "perflog/finished.h"
#include "telemetry/machine_use.h"
#include "telemetry/telemetry_table.h"

namespace assay::judge {

/// One STEP_END, or `count` of them merged into one in very long logs.
struct Step {
  static constexpr std::int32_t kNoNumber = std::numeric_limits<std::int32_t>::min();
  Stamp at;
  double samples = 0;
  float tokens = 0;
  float flops = 0;
  float loss = std::numeric_limits<float>::quiet_NaN();
  float comm_s = 0;
  float bubble_s = 0;
  std::int32_t number = kNoNumber;
  std::uint32_t count = 1;
  bool after_break =
      false;  ///< the time since the previous one is not step time (restart, lost log)
};

/// The steps of one process, in the order of its log.
struct StepTrack {
  std::vector<Step> steps;
  std::uint32_t merged = 1;  ///< STEP_ENDs per element of `steps`
  std::int64_t first_number = kNoTime;
  std::int64_t last_number = kNoTime;
  std::int64_t stride = 0;   ///< largest distance of neighboring step numbers
  std::uint64_t logged = 0;  ///< STEP_ENDs
};

/// EVALUATE, at its end.
struct Evaluation {
  Stamp at;
  std::optional<double> seconds;                       ///< its `time`
  std::vector<std::pair<std::string, double>> values;  ///< finite numbers, without `time` and steps
};

/// PHASE, at its end.
struct LoggedPhase {
  TimePart part = TimePart::preparation;
  Stamp at;
  double seconds = 0;  ///< finite, not negative
};

/// A counter that STEP_END carries, summed.
struct Total {
  bool known = false;
  double sum = 0;
  double first = 0;  ///< of the first STEP_END alone
  void add(double value) {
    if (!known) first = value;
    known = true;
    sum += value;
  }
};

/// One event of a log: what a finding about it names.
struct LoggedEvent {
  Stamp at;
  std::uint64_t line = 0;  ///< 1-based, in the parts that were kept of the log; 0: there is none
  std::string name{};      ///< "TRAIN_END"
};

/// One field of an event, as a finding shows it.
struct SaidValue {
  LoggedEvent event;
  std::int64_t step = kNoTime;
  std::string key{};
  std::string shown{};  ///< "-32", "NaN", "'abc'"
  double number = 0;    ///< where it is a finite one
};

/// The agent saw lines come over `came_in_s` at least, and by one of their own clocks they were
/// written within `said_in_s`, up to `slow_line`: where the two differ most. Seconds; both 0:
/// nothing was compared.
struct SeenSpan {
  double came_in_s = 0;
  double said_in_s = 0;
  LoggedEvent slow_line;
};

/// What a log says that can be held against the agent's clocks and against itself (log_audit.h).
struct LogAudit {
  std::uint64_t step_ends = 0;  ///< all of them, also those outside of the training
  std::uint64_t train_starts = 0;
  std::uint64_t train_ends = 0;
  bool training_open = false;  ///< the last of both was a TRAIN_START
  LoggedEvent mono_first;      ///< the smallest mono_us
  LoggedEvent mono_last;
  LoggedEvent wall_first;  ///< the smallest wall_ms
  LoggedEvent wall_last;
  /// By how much wall and monotonic clock went apart between the beginning and the end of the log.
  std::optional<double> clocks_apart_s;
  double clocks_allowed_s = 0;  ///< of it, what a process that is not scheduled explains
  std::uint64_t repeated = 0;   ///< STEP_ENDs that are equal to one before, times included
  LoggedEvent first_repeated;
  std::uint64_t counters_back =
      0;  ///< step numbers that did not rise, num_trained_samples that fell
  LoggedEvent first_back;
  /// Beyond the moment at which the agent had the line already (arrivals.h), the worst; seconds.
  double mono_ahead_s = 0;
  double wall_ahead_s = 0;
  LoggedEvent mono_ahead;
  LoggedEvent wall_ahead;
  SeenSpan by_mono;
  SeenSpan by_wall;
  std::uint64_t lengths = 0;        ///< steps that could be compared with the one before
  std::uint64_t lengths_alike = 0;  ///< of them, those that took as long to the microsecond
  /// The longest time that a field of EVALUATE, PHASE or STEP_END says something took.
  SaidValue longest_said;
  /// EVALUATE or PHASE checkpoint whose `time` is longest beyond what had passed since the rank's
  /// last event that ends something, on the rank's own clock (one writer only).
  SaidValue long_pause;
  double pause_room_s = 0;    ///< of long_pause: what had passed
  double pause_excess_s = 0;  ///< of long_pause; 0: every pause fits
  LoggedEvent pause_since;
  /// By how much mono_us fell from a line to a later one, the most, and all falls together; a
  /// STEP_END behind the TRAIN_END that follows it counts as a fall too. Seconds.
  double back_s = 0;
  double back_sum_s = 0;
  LoggedEvent back;
  std::uint64_t impossible_counts = 0;  ///< counts and times that are no number, negative or absurd
  SaidValue first_impossible;
  std::uint64_t unreadable_shares = 0;  ///< accuracies that are no finite number
  SaidValue first_unreadable_share;
};

/// What a worker of an AutoML experiment logged of one trial.
struct TrialLog {
  std::int64_t trial = 0;
  double samples = 0;            ///< of complete epochs, all attempts
  std::vector<double> accuracy;  ///< of each evaluation
};

/// The content of one rank's log, in compact form. Built by RankLogReader, or by hand in tests.
struct RankLog {
  bool found = false;
  std::uint64_t bytes = 0;
  std::uint64_t events = 0;
  std::uint64_t malformed_lines = 0;
  std::uint64_t first_malformed = 0;
  bool truncated = false;  ///< the last line is a torn PerfLog line
  bool has_mono = false;   ///< every event with a time carries mono_us too
  Stamp first_event;
  Stamp last_event;
  Stamp init_start;   ///< the first
  Stamp init_end;     ///< the last
  Stamp train_start;  ///< the first
  Stamp train_end;    ///< the last
  int restarts = 0;   ///< TRAIN_START after steps were logged (only where one process writes)
  /// One per process that writes into the log: one, or several for per-node commands.
  std::vector<StepTrack> tracks;
  Total samples;         ///< `samples`: of this rank
  Total global_samples;  ///< `global_samples`: of all ranks, of one process
  Total tokens;
  Total global_tokens;
  Total flops;
  Total data_s;
  Total compute_s;
  Total comm_s;
  Total bubble_s;  ///< a part of comm_s
  Total optimizer_s;
  std::optional<double> trained_first;  ///< `num_trained_samples`, cumulative over all ranks
  std::optional<double> trained_last;
  double trained_stride = 0;  ///< its largest increase
  /// The largest `flops` / `compute_s` of a STEP_END.
  std::optional<double> best_flops{};
  std::uint64_t nonfinite_losses = 0;
  std::int64_t first_nonfinite_step = kNoTime;
  std::vector<Evaluation> evaluations;
  std::vector<LoggedPhase> phases{};                            ///< those whose names are known
  std::optional<perflog::FinishedSummary> finished;             ///< the first FINISHED
  std::vector<std::pair<std::string, double>> finished_values;  ///< its numbers and booleans
  double clock_jump_s = 0;  ///< largest disagreement of wall and monotonic time, or step back
  LogAudit audit;
  std::vector<TrialLog> trials;         ///< of an AutoML worker
  std::vector<std::string> last_lines;  ///< the end of the log of a rank that did not end well
  std::vector<OutputValues> outputs;    ///< matches of the plan's output metrics, by metric
};

struct RankEvidence {
  int rank = 0;
  int node = 0;
  int local_rank = 0;
  std::string host;
  std::optional<Instant> start;  ///< exec, on the host's clocks
  std::optional<Instant> end;
  std::optional<ExitStatus> exit;
  std::optional<EndedBy> ended_by;  ///< nothing: there is no rank_exit
  /// Of a job that a service ran, nobody saw exec or exit. `start` and `end` are then on the
  /// service's clock, both of their readings the same; or, where it does not tell them, when the
  /// controller learned of them, on its own clocks.
  bool by_service = false;
  std::optional<Instant> learned{};  ///< of the start, on the controller's clocks
  double learned_late_s = 0;         ///< it may have been so much earlier
  double end_late_s = 0;             ///< and the end, where it is the controller's
  /// From when the controller asked for the job to when it saw its end, and that moment; by its own
  /// clocks.
  std::optional<double> job_within_s{};
  std::optional<Instant> seen_end{};
  std::uint64_t dropped_bytes = 0;
  std::optional<CpuSet> bound{};   ///< nothing: to no CPU in particular
  std::optional<CpuSet> ran_on{};  ///< of a bound rank, where it was seen; nothing: nowhere
  std::optional<std::uint64_t> output_bytes{};  ///< that the agent had received when it ended
  std::optional<std::uint64_t> seen_steps{};    ///< STEP_ENDs in them
  int part = 1;                  ///< of its node's parts, the one that it was last started in
  bool earlier_missing = false;  ///< the log of an earlier one did not come
  std::string log_path;          ///< of that part; relative to the run directory
  RankLog log;                   ///< the same, with the trials of all parts
};

struct NodeEvidence {
  int node = 0;
  std::string host;
  telemetry::Table telemetry;
  std::optional<double> agent_cpu_s;
  /// Controller's wall clock minus the node's, when the quickest message came; seconds.
  std::optional<double> clock_behind_s{};
  /// The same as the run's start measured it, by questions and answers; seconds.
  std::optional<double> clock_measured_s{};
  double clock_uncertainty_s = 0;  ///< of clock_measured_s
  std::uint64_t killed_leftovers = 0;
  /// Of a node where a head starts processes: how many of them were seen at once. Nothing: the
  /// agent started the ranks itself, or did not tell.
  std::optional<std::int64_t> seen_processes{};
  std::optional<bool> caches_dropped{};            ///< nothing: not asked for
  std::string caches_how{};                        ///< or why not
  std::optional<telemetry::MachineUse> machine{};  ///< nothing: its agent did not tell
  int parts = 1;                                   ///< how often it began its work in the round
  bool away = false;  ///< it left the round, and was not back at its end
  /// The first rows of telemetry of its later parts.
  std::vector<Instant> came_back{};
};

/// A hole that the agent itself reported.
struct GapEvidence {
  int node = 0;
  std::string source;
  double seconds = 0;
  std::string reason;
};

/// What a workload of ais-bench reported with set_result, and when it did what.
struct AisEvidence {
  aisbench::SetResultCalls reported;
  aisbench::Phase prepare;
  aisbench::Phase dataload;
  aisbench::Phase proc;
  aisbench::Phase total;
  std::string prepare_how;  ///< where the phase comes from, for people
  std::string dataload_how;
  std::string proc_how;
};

/// A round's job in a cloud, as its service saw it, and what ais-bench's rules make of its files.
struct AisJobEvidence {
  aisbench::Phase prepare;    ///< the upload, until the job was created
  aisbench::Phase proc;       ///< the job, by the service, moved to the controller's clock
  std::int64_t moved_ns = 0;  ///< by so much; 0: the clocks agreed within a second
  aisbench::Phase total;      ///< from the upload to the results
  std::optional<double> device_util_percent;
  std::optional<aisbench::Results> results{};  ///< only when they are complete
};

/// What the journal recorded about the evidence of a round (docs/evidence.md).
struct RecordedChain {
  int node = 0;
  std::string host;
  std::vector<std::string> seen;  ///< heads that came while the round ran, in their order
  std::string last;               ///< the head when the node had ended; empty: it never told
  int part = 1;
};
struct RecordedEvidence {
  bool listed = false;                      ///< the controller listed the round's files
  std::string id;                           ///< of this attempt at the round: chains begin with it
  std::vector<evidence::FileRecord> files;  ///< names are relative to the round's folder
  std::vector<RecordedChain> chains;        ///< by node and part
};

/// The files of a round against what was recorded; each problem is "place: what is wrong".
struct RoundIntegrity {
  RecordedEvidence recorded;
  std::size_t files = 0;  ///< listed files that the judge reads
  std::vector<std::string> missing;
  std::vector<std::string> changed;
  std::vector<std::string> unlisted;
  std::vector<std::string> broken;  ///< chains, and files that a chain contradicts
};

/// Everything that is known about one round, as plain data.
struct RoundEvidence {
  int round = 1;
  RoundStatus status = RoundStatus::not_run;
  std::string reason;
  std::string advice{};         ///< what whoever ended it says to do then
  std::vector<int> culprits{};  ///< ranks that the others waited for, where that could be told
  std::vector<RoundStatus> earlier_attempts{};  ///< how those ended that were run again
  std::optional<Instant> start;  ///< round_start and round_end, on the controller's clocks
  std::optional<Instant> end;
  bool one_clock = true;   ///< controller and ranks share a machine, hence CLOCK_MONOTONIC
  bool supervised = true;  ///< agents started the ranks and saw them end, on the nodes' clocks
  double telemetry_interval_s = 1;
  bool telemetry_enabled = true;
  std::vector<RankEvidence> ranks;  ///< by rank
  std::vector<NodeEvidence> nodes;  ///< by node
  std::vector<GapEvidence> gaps;
  Json executed = Json::array();       ///< what each node ran: the journal's `executed` records
  std::optional<Experiment> automl{};  ///< of an AutoML case
  std::optional<automl::JournalCheck> automl_check{};  ///< of its journal, or of that it is missing
  std::optional<AisEvidence> ais{};                    ///< of a workload that uses set_result
  std::optional<AisJobEvidence> ais_job{};  ///< of a job whose results ais-bench's rules describe
  RoundIntegrity integrity{};
  /// Files that go by the name of a rank's log and are of no rank that ran there; nothing in them
  /// counts.
  std::vector<std::string> foreign_logs{};
  std::vector<std::string> problems;  ///< evidence that could not be read, for people
};

}  // namespace assay::judge
