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

/// A count or time of an event if it is possible: finite, not negative, not absurd. Impossible ones
/// are counted in LogAudit::impossible_counts.
[[nodiscard]] std::optional<double> possible_number(const perflog::Event& event,
                                                    std::string_view key);

/// Fills RankLog::audit and RankLog::trials from the events of one rank's log, in one pass and
/// bounded memory. It only records what the log says; plausibility.cpp and completeness.cpp, which
/// know when the rank ran, decide what it means.
class LogAuditor {
 public:
  /// `log` and `plan` must outlive this. With a per-node command or a job's head, several processes
  /// write to the log: their counters and lines are not compared with each other.
  LogAuditor(RankLog& log, const plan::CasePlan& plan);

  /// Gives the times at which the agent had the log's lines; `arrivals` must outlive this.
  void use(const Arrivals* arrivals) noexcept { arrivals_ = arrivals; }
  /// `at` is the event's stamp as the judge uses it.
  void see(const perflog::Event& event, const Stamp& at);
  /// Adds the values that are known only at the end of the log (LogAudit::clocks_apart_s).
  void on_end();

 private:
  static constexpr std::size_t kReadings = 16;

  [[nodiscard]] LoggedEvent place(const perflog::Event& event, const Stamp& at) const;
  void see_times(const perflog::Event& event, const Stamp& at);
  void see_arrival(const perflog::Event& event, const Stamp& at);
  void see_step(const perflog::Event& event, const Stamp& at);
  void see_length(const Stamp& at);
  /// Lines in the batches that the agent received, timed by one of the rank's clocks.
  struct Batches {
    std::int64_t Stamp::*clock;
    double to_s;                             // converts the clock's unit
    SeenSpan& span;                          // in the audit
    const Arrivals::Seen* newest = nullptr;  // the batch of the previous event
    std::int64_t count = 0;                  // batches since the first one with a time
    std::int64_t first_end_ns = 0;           // when that one had arrived
    std::int64_t first = kNoTime;            // its earliest time
    std::optional<LoggedEvent> last = {};    // the latest time in `newest`
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
  std::uint64_t last_values_ = 0;  // a hash of the last STEP_END's values
  double last_trained_ = 0;
  std::int64_t latest_us_ = kNoTime;
  std::int64_t previous_us_ = kNoTime;
  std::int64_t last_end_us_ = kNoTime;     // of the last STEP_END
  std::int64_t last_length_us_ = kNoTime;  // of its step
  std::uint64_t fine_stamps_ = 0;          // those with fractions of a millisecond
  Batches mono_batches_;
  Batches wall_batches_;
  LoggedEvent ended_;            // the last event that ends something, where a pause can begin
  LoggedEvent saved_;            // the last PHASE checkpoint
  LoggedEvent last_trained_at_;  // the STEP_END in a training with the latest mono_us
  std::int64_t train_end_us_ = kNoTime;
  std::vector<std::uint64_t> hashes_;  // of STEP_ENDs
  std::uint64_t comparisons_ = 0;
  std::vector<double> first_offsets_;  // wall - monotonic, for the first and the last readings
  std::array<double, kReadings> last_offsets_{};
  std::uint64_t readings_ = 0;
};

}  // namespace assay::judge
