#pragma once

#include <cstdint>
#include <string>

#include "commands/base/terminal.h"
#include "launch/observer.h"
#include "launch/time_left.h"

namespace assay::commands {

/// Shows a run in progress: a redrawn line on a terminal, otherwise plain lines (at the start and
/// end of every round, and every ten seconds in between). The remaining time is estimated from the
/// rounds so far, and marked as such.
class Progress : public launch::Observer {
 public:
  explicit Progress(Terminal terminal);
  ~Progress() override;

  void round_started(const plan::CasePlan& plan_case, int round, int done, int total) override;
  void round_progress(const plan::CasePlan& plan_case, int round,
                      const launch::RoundProgress& progress) override;
  void round_ended(const plan::CasePlan& plan_case, int round,
                   const launch::RoundOutcome& outcome) override;
  void waiting(const std::string& what_for) override;
  void warning(const std::string& text) override;
  void remark(const std::string& text) override;
  void stopping(int signals) override;

 private:
  void line(const std::string& text);
  void redraw(const std::string& text);
  /// The sequence that removes the drawn line; empty if there is none.
  [[nodiscard]] std::string erase();
  [[nodiscard]] std::string bar() const;
  /// "  about 2 min left", or "".
  [[nodiscard]] std::string left() const;

  Terminal terminal_;
  int done_ = 0;
  int total_ = 1;
  launch::TimeLeft time_left_;
  std::int64_t round_started_ns_ = 0;
  std::int64_t shown_ns_ = 0;
  std::size_t drawn_columns_ = 0;  // 0: nothing is drawn
  std::string waiting_for_;
};

}  // namespace assay::commands
