#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "judge/arrivals.h"
#include "judge/evidence.h"
#include "perflog/event.h"
#include "plan/plan.h"

namespace assay::judge {

/// A count or a time of an event, where it can be one: finite, not negative, not absurd. What
/// cannot be is in LogAudit::impossible_counts.
[[nodiscard]] std::optional<double> possible_number(const perflog::Event& event,
                                                    std::string_view key);

/// Fills RankLog::audit and RankLog::trials from the events of one rank's log, in one pass and
/// bounded memory. It only states the log's contents; plausibility.cpp and completeness.cpp, which
/// know when the rank ran, decide what they mean.
class LogAuditor {
 public:
  /// `log` and `plan` live longer. Of a command per node or of a job's head, several processes
  /// write into the log: their counters and lines are not compared with each other.
  LogAuditor(RankLog& log, const plan::CasePlan& plan);

  /// The arrival times of the log's parts; lives longer.
  void use(const Arrivals* arrivals) noexcept { arrivals_ = arrivals; }
  /// `at`: the event's stamp as the judge takes it.
  void see(const perflog::Event& event, const Stamp& at);
  /// The log is over: fills the fields that need its end (LogAudit::clocks_apart_s).
  void on_end();

 private:
  static constexpr std::size_t kReadings = 16;

  [[nodiscard]] LoggedEvent place(const perflog::Event& event, const Stamp& at) const;
  void see_times(const perflog::Event& event, const Stamp& at);
  void see_arrival(const perflog::Event& event, const Stamp& at);
  void see_step(const perflog::Event& event, const Stamp& at);
  void see_length(const Stamp& at);
  /// Lines as the agent saw them come, by one of the rank's clocks.
  struct Batches {
    std::int64_t Stamp::*clock;
    double to_s;                             // from the clock's unit
    SeenSpan& span;                          // of the audit
    const Arrivals::Seen* newest = nullptr;  // the lines that came with the event before
    std::int64_t count = 0;                  // since the first that has a time
    std::int64_t first_end_ns = 0;           // by when that one was there
    std::int64_t first = kNoTime;            // the earliest time in it
    std::optional<LoggedEvent> last = {};    // the latest of `newest`
  };
  void see_batch(Batches& batches, const perflog::Event& event, const Stamp& at,
                 const Arrivals::Seen& seen) const;
  static void end_batch(Batches& batches);
  void see_trial(const perflog::Event& event);
  void find_repeated(const perflog::Event& event, const Stamp& at, std::uint64_t hash);
  void see_order(const perflog::Event& event, const Stamp& at);
  void see_values(const perflog::Event& event, const Stamp& at);
  void see_pause(const perflog::Event& event, const Stamp& at, double seconds);
  [[nodiscard]] SaidValue said(const perflog::Event& event, const Stamp& at,
                               const perflog::Field& field) const;

  RankLog& log_;
  LogAudit& audit_;
  const plan::CasePlan& plan_;
  const Arrivals* arrivals_ = nullptr;
  bool one_writer_;
  std::int64_t last_step_ = kNoTime;
  std::uint64_t last_values_ = 0;  // a hash of those of the last STEP_END
  double last_trained_ = 0;
  std::int64_t latest_us_ = kNoTime;
  std::int64_t previous_us_ = kNoTime;
  std::int64_t last_end_us_ = kNoTime;     // of the last STEP_END
  std::int64_t last_length_us_ = kNoTime;  // of its step
  std::uint64_t fine_stamps_ = 0;          // that are no whole milliseconds
  Batches mono_batches_;
  Batches wall_batches_;
  LoggedEvent ended_;            // the last event that ends something: where a pause can begin
  LoggedEvent saved_;            // the last PHASE checkpoint
  LoggedEvent last_trained_at_;  // the STEP_END with the latest mono_us in a training
  std::int64_t train_end_us_ = kNoTime;
  std::vector<std::uint64_t> hashes_;  // of STEP_ENDs
  std::uint64_t comparisons_ = 0;
  std::vector<double> first_offsets_;  // wall - monotonic of the first and the last readings
  std::array<double, kReadings> last_offsets_{};
  std::uint64_t readings_ = 0;
};

}  // namespace assay::judge
