#pragma once

#include <map>
#include <memory>
#include <string_view>

#include "judge/arrivals.h"
#include "judge/evidence.h"
#include "plan/plan.h"

namespace assay::judge {

/// Turns the events and lines of one rank's log into a RankLog, in one pass and bounded memory.
class RankLogReader {
 public:
  /// `step_limit`: beyond it, neighboring steps of a process are merged in pairs, again and again.
  /// Throws Error of kind config for an output metric whose pattern is not a regular expression.
  RankLogReader(const plan::CasePlan& plan, RankLog& log, std::size_t step_limit = 1 << 20);
  ~RankLogReader();
  RankLogReader(const RankLogReader&) = delete;
  RankLogReader& operator=(const RankLogReader&) = delete;

  /// When the agent had how much of the log; lives longer than this.
  void use(const Arrivals* arrivals);
  void on_event(const perflog::Event& event);
  /// Ordinary output, as perflog::Parser::OnText; looked at for the plan's output metrics.
  void on_text(std::string_view text, std::uint64_t line, bool ends);
  [[nodiscard]] bool wants_text() const noexcept;
  /// Reports that lines are missing between those read and those that follow (a rotated log).
  void on_hole();
  /// The log has been read to its end.
  void on_end();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// "ranks 3, 7–12", "rank 3".
[[nodiscard]] std::string rank_list(std::vector<int> ranks);

}  // namespace assay::judge
