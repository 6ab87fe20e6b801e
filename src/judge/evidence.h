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
      false;  ///< the time since the previous one is not a step time (restart, lost log)
};

/// The steps of one process, in log order.
struct StepTrack {
  std::vector<Step> steps;
  std::uint32_t merged = 1;  ///< STEP_ENDs per element of `steps`
  std::int64_t first_number = kNoTime;
  std::int64_t last_number = kNoTime;
  std::int64_t stride = 0;   ///< largest distance between neighboring step numbers
  std::uint64_t logged = 0;  ///< STEP_ENDs
};

/// EVALUATE, stamped at its end.
struct Evaluation {
  Stamp at;
  std::optional<double> seconds;                       ///< its `time`
  std::vector<std::pair<std::string, double>> values;  ///< finite numbers, except `time` and steps
};

/// PHASE, stamped at its end.
struct LoggedPhase {
  TimePart part = TimePart::preparation;
  Stamp at;
  double seconds = 0;  ///< finite, not negative
};

/// The sum of a counter in STEP_END.
struct Total {
  bool known = false;
  double sum = 0;
  double first = 0;  ///< from the first STEP_END only
  void add(double value) {
    if (!known) first = value;
    known = true;
    sum += value;
  }
};

/// An event of a log, for findings that refer to it.
struct LoggedEvent {
  Stamp at;
  std::uint64_t line = 0;  ///< 1-based, in the kept parts of the log; 0: none
  std::string name{};      ///< "TRAIN_END"
};

/// A field of an event, for findings that show it.
struct SaidValue {
  LoggedEvent event;
  std::int64_t step = kNoTime;
  std::string key{};
  std::string shown{};  ///< "-32", "NaN", "'abc'"
  double number = 0;    ///< when it is finite
};

/// The largest contradiction between when lines came and their stamps: they came over at least
/// `came_in_s`, but one of their own clocks, up to `slow_line`, says that they were written within
/// `said_in_s`. Seconds; both are 0 when nothing was compared.
struct SeenSpan {
  double came_in_s = 0;
  double said_in_s = 0;
  LoggedEvent slow_line;
};

/// A log's claims that can be checked against the agent's clocks and itself (log_audit.h).
struct LogAudit {
  std::uint64_t step_ends = 0;  ///< all of them, even outside the training
  std::uint64_t train_starts = 0;
  std::uint64_t train_ends = 0;
  bool training_open = false;  ///< the last of the two was a TRAIN_START
  LoggedEvent mono_first;      ///< with the smallest mono_us
  LoggedEvent mono_last;
  LoggedEvent wall_first;  ///< with the smallest wall_ms
  LoggedEvent wall_last;
  /// By how much wall and monotonic clock diverged between the beginning and the end of the log.
  std::optional<double> clocks_apart_s;
  double clocks_allowed_s = 0;  ///< the part that delayed scheduling of a process can explain
  std::uint64_t repeated = 0;   ///< STEP_ENDs equal to an earlier one, including their times
  LoggedEvent first_repeated;
  std::uint64_t counters_back =
      0;  ///< step numbers that did not rise, num_trained_samples that fell
  LoggedEvent first_back;
  /// How far stamps are ahead of the agent's receipt of their line (arrivals.h); seconds.
  double mono_ahead_s = 0;
  double wall_ahead_s = 0;
  LoggedEvent mono_ahead;
  LoggedEvent wall_ahead;
  SeenSpan by_mono;
  SeenSpan by_wall;
  std::uint64_t lengths = 0;        ///< steps that could be compared with the previous one
  std::uint64_t lengths_alike = 0;  ///< those of them with the same length to the microsecond
  /// The longest duration claimed by a field of EVALUATE, PHASE or STEP_END.
  SaidValue longest_said;
  /// The EVALUATE or PHASE checkpoint whose `time` most exceeds the time since the rank's last
  /// event that ends something, on the rank's own clock (one writer only).
  SaidValue long_pause;
  double pause_room_s = 0;    ///< the time that had passed, for long_pause
  double pause_excess_s = 0;  ///< for long_pause; 0: every pause fits
  LoggedEvent pause_since;
  /// The largest fall of mono_us from one line to a later one, and the sum of all falls; a STEP_END
  /// after the TRAIN_END that follows it is a fall too. Seconds.
  double back_s = 0;
  double back_sum_s = 0;
  LoggedEvent back;
  std::uint64_t impossible_counts = 0;  ///< counts and times: not a number, negative, absurd
  SaidValue first_impossible;
  std::uint64_t unreadable_shares = 0;  ///< accuracies that are not finite numbers
  SaidValue first_unreadable_share;
};

/// An AutoML worker's log of one trial.
struct TrialLog {
  std::int64_t trial = 0;
  double samples = 0;            ///< of complete epochs in all attempts
  std::vector<double> accuracy;  ///< one per evaluation
};

/// The content of one rank's log in compact form. Made by RankLogReader, or by tests.
struct RankLog {
  bool found = false;
  std::uint64_t bytes = 0;
  std::uint64_t events = 0;
  std::uint64_t malformed_lines = 0;
  std::uint64_t first_malformed = 0;
  bool truncated = false;  ///< the last line is a torn PerfLog line
  bool has_mono = false;   ///< every event with a time also has mono_us
  Stamp first_event;
  Stamp last_event;
  Stamp init_start;   ///< the first
  Stamp init_end;     ///< the last
  Stamp train_start;  ///< the first
  Stamp train_end;    ///< the last
  int restarts = 0;   ///< TRAIN_START after steps (only logs with one writer)
  /// One per process that writes to the log; per-node commands may have several.
  std::vector<StepTrack> tracks;
  Total samples;         ///< `samples`: this rank's
  Total global_samples;  ///< `global_samples`: all ranks', from one process
  Total tokens;
  Total global_tokens;
  Total flops;
  Total data_s;
  Total compute_s;
  Total comm_s;
  Total bubble_s;  ///< part of comm_s
  Total optimizer_s;
  std::optional<double> trained_first;  ///< `num_trained_samples`, cumulative over all ranks
  std::optional<double> trained_last;
  double trained_stride = 0;  ///< its largest increase
  /// The highest `flops` / `compute_s` of any STEP_END.
  std::optional<double> best_flops{};
  std::uint64_t nonfinite_losses = 0;
  std::int64_t first_nonfinite_step = kNoTime;
  std::vector<Evaluation> evaluations;
  std::vector<LoggedPhase> phases{};                            ///< those with known names
  std::optional<perflog::FinishedSummary> finished;             ///< the first FINISHED
  std::vector<std::pair<std::string, double>> finished_values;  ///< its numbers and booleans
  double clock_jump_s = 0;  ///< largest disagreement of wall and monotonic time, or step backwards
  LogAudit audit;
  std::vector<TrialLog> trials;         ///< by an AutoML worker
  std::vector<std::string> last_lines;  ///< the end of a failed rank's log
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
  std::optional<EndedBy> ended_by;  ///< nothing without a rank_exit
  /// The rank ran in a service's job, so nobody saw exec or exit. `start` and `end` are then on the
  /// service's clock, with both readings equal; or, if it does not report them, the times when the
  /// controller learned of them, on its own clocks.
  bool by_service = false;
  std::optional<Instant> learned{};  ///< when the start became known, on the controller's clocks
  double learned_late_s = 0;         ///< the start may have been this much earlier
  double end_late_s = 0;             ///< and so may the end, if it is the controller's
  /// From the controller's request for the job until it saw the job's end, and that moment, on its
  /// own clocks.
  std::optional<double> job_within_s{};
  std::optional<Instant> seen_end{};
  std::uint64_t dropped_bytes = 0;
  /// Processes that outlived the rank held its output when they were ended.
  bool output_held = false;
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
  /// Controller's wall clock minus the node's, from the quickest message; seconds.
  std::optional<double> clock_behind_s{};
  /// The same as measured at the run's start by questions and answers; seconds.
  std::optional<double> clock_measured_s{};
  double clock_uncertainty_s = 0;  ///< of clock_measured_s
  std::uint64_t killed_leftovers = 0;
  /// On a node where a head starts processes: the most seen at once. Nothing: the agent started the
  /// ranks itself, or did not report it.
  std::optional<std::int64_t> seen_processes{};
  std::optional<bool> caches_dropped{};            ///< nothing: not requested
  std::string caches_how{};                        ///< or why not
  std::optional<telemetry::MachineUse> machine{};  ///< nothing: its agent did not tell
  int parts = 1;                                   ///< how often it began its work in the round
  bool away = false;  ///< it left the round, and was not back at its end
  /// The first rows of telemetry of its later parts.
  std::vector<Instant> came_back{};
};

/// A gap reported by the agent itself.
struct GapEvidence {
  int node = 0;
  std::string source;
  double seconds = 0;
  std::string reason;
};

/// The values that an ais-bench workload reported with set_result, and its phases.
struct AisEvidence {
  aisbench::SetResultCalls reported;
  aisbench::Phase prepare;
  aisbench::Phase dataload;
  aisbench::Phase proc;
  aisbench::Phase total;
  std::string prepare_how;  ///< origin of the phase, for people
  std::string dataload_how;
  std::string proc_how;
};

/// A round's job in a cloud as its service saw it, and the results by ais-bench's rules.
struct AisJobEvidence {
  aisbench::Phase prepare;    ///< the upload, until the job's creation
  aisbench::Phase proc;       ///< the job by the service's clock, moved to the controller's
  std::int64_t moved_ns = 0;  ///< by this much; 0: the clocks agreed within a second
  aisbench::Phase total;      ///< from upload to results
  std::optional<double> device_util_percent;
  std::optional<aisbench::Results> results{};  ///< only complete ones
};

/// The journal's records about a round's evidence (docs/evidence.md).
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

/// A round's files compared with the records; each problem is "place: what is wrong".
struct RoundIntegrity {
  RecordedEvidence recorded;
  std::size_t files = 0;  ///< listed files that the judge reads
  std::vector<std::string> missing;
  std::vector<std::string> changed;
  std::vector<std::string> unlisted;
  std::vector<std::string> broken;  ///< chains, and files that contradict a chain
};

/// Everything known about one round, as plain data.
struct RoundEvidence {
  int round = 1;
  RoundStatus status = RoundStatus::not_run;
  std::string reason;
  std::string advice{};                         ///< from whatever ended it
  std::vector<int> culprits{};                  ///< ranks that the others waited for, if known
  std::vector<RoundStatus> earlier_attempts{};  ///< how the attempts that were repeated ended
  std::optional<Instant> start;  ///< round_start and round_end, on the controller's clocks
  std::optional<Instant> end;
  bool one_clock = true;   ///< controller and ranks share a machine and its CLOCK_MONOTONIC
  bool supervised = true;  ///< agents started the ranks and saw them end, on the nodes' clocks
  double telemetry_interval_s = 1;
  bool telemetry_enabled = true;
  bool run_ended = true;            ///< run_has_ended() of its run
  std::vector<RankEvidence> ranks;  ///< by rank
  std::vector<NodeEvidence> nodes;  ///< by node
  std::vector<GapEvidence> gaps;
  Json executed = Json::array();       ///< what each node ran: the journal's `executed`
  std::optional<Experiment> automl{};  ///< for an AutoML case
  std::optional<automl::JournalCheck> automl_check{};  ///< of its journal, or of its absence
  std::optional<AisEvidence> ais{};                    ///< for a workload that uses set_result
  std::optional<AisJobEvidence> ais_job{};  ///< for a job whose results follow ais-bench's rules
  RoundIntegrity integrity{};
  /// Files named like a rank's log although no such rank ran there; their content does not count.
  std::vector<std::string> foreign_logs{};
  std::vector<std::string> problems;  ///< unreadable evidence, for people
};

}  // namespace assay::judge
