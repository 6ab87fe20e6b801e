#pragma once

#include <map>
#include <optional>
#include <string>

namespace assay::launch {

/// How long a run will still take, guessed from the rounds that have ended: those of a case take as
/// long as its earlier ones, and those of cases that were not run yet as long as a round of the
/// others on average. Pure.
class TimeLeft {
 public:
  /// Rounds of a case are counted from 1; `done` and `total` are rounds of the run, `done` before
  /// this one.
  void round_started(const std::string& name, int round, int rounds_of_case, int done, int total);
  void round_ended(double seconds);

  /// Seconds, `elapsed_s` after the start of the current round. Nothing: no round has ended yet, or
  /// the last one takes longer than any before it.
  [[nodiscard]] std::optional<double> seconds(double elapsed_s) const;

 private:
  struct Seen {
    double sum_s = 0;
    int rounds = 0;
    [[nodiscard]] double mean() const { return sum_s / rounds; }
  };

  std::map<std::string, Seen> cases_;
  std::string current_;
  int left_of_case_ = 0;  // after the current round
  int left_of_others_ = 0;
  bool running_ = false;
};

/// "about 25 s left", "about 4 min left", "about 1 h 20 min left": no finer than a guess is.
[[nodiscard]] std::string about_left(double seconds);

}  // namespace assay::launch
