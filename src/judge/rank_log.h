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
  /// Beyond `step_limit`, neighboring steps of a process are merged in pairs, repeatedly. Throws
  /// Error of kind config if an output metric's pattern is not a regular expression.
  RankLogReader(const plan::CasePlan& plan, RankLog& log, std::size_t step_limit = 1 << 20);
  ~RankLogReader();
  RankLogReader(const RankLogReader&) = delete;
  RankLogReader& operator=(const RankLogReader&) = delete;

  /// Gives the times at which the agent had the log's lines; `arrivals` must outlive this.
  void use(const Arrivals* arrivals);
  void on_event(const perflog::Event& event);
  /// Ordinary output, as in perflog::Parser::OnText; searched for the plan's output metrics.
  void on_text(std::string_view text, std::uint64_t line, bool ends);
  [[nodiscard]] bool wants_text() const noexcept;
  /// Reports that lines are missing before the following ones (a rotated log).
  void on_hole();
  /// Must be called at the end of the log.
  void on_end();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// "ranks 3, 7–12", "rank 3".
[[nodiscard]] std::string rank_list(std::vector<int> ranks);

}  // namespace assay::judge
