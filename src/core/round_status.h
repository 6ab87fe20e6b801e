#pragma once

#include <array>

#include "core/enum_names.h"

namespace assay {

/// How a round ended; the texts appear in the journal and in result.json.
enum class RoundStatus {
  completed,      ///< every rank ended with exit code 0
  failed,         ///< a rank ended in another way
  timed_out,      ///< the time limit ended it
  stalled,        ///< the stall limit ended it
  interrupted,    ///< stopped by the user, or the controller died
  launch_failed,  ///< no rank could be started
  lost,           ///< an agent was lost
  unrecorded,     ///< it ran, but its evidence could not be written: the machine failed, not a rank
  not_run,        ///< never in a journal
};

constexpr auto enum_names(RoundStatus /*status*/) {
  using enum RoundStatus;
  return std::to_array<EnumName<RoundStatus>>({{completed, "completed"},
                                               {failed, "failed"},
                                               {timed_out, "timed_out"},
                                               {stalled, "stalled"},
                                               {interrupted, "interrupted"},
                                               {launch_failed, "launch_failed"},
                                               {lost, "lost"},
                                               {unrecorded, "unrecorded"},
                                               {not_run, "not_run"}});
}

/// Whether the round need not run again: a failure is a result, an interruption or a loss is not.
[[nodiscard]] constexpr bool is_result(RoundStatus status) noexcept {
  using enum RoundStatus;
  return status == completed || status == failed || status == timed_out || status == stalled ||
         status == unrecorded;
}

/// The cause of a rank's end: "ended_by" in the journal's rank_exit, and the cause of a stop.
enum class EndedBy { itself, time_limit, stall, stop, lost };

constexpr auto enum_names(EndedBy /*how*/) {
  using enum EndedBy;
  return std::to_array<EnumName<EndedBy>>({{itself, "itself"},
                                           {time_limit, "time limit"},
                                           {stall, "stall"},
                                           {stop, "stop"},
                                           {lost, "lost"}});
}

/// How a run ended, as recorded in the journal's run_end.
enum class RunStatus { completed, failed, interrupted };

constexpr auto enum_names(RunStatus /*status*/) {
  using enum RunStatus;
  return std::to_array<EnumName<RunStatus>>(
      {{completed, "completed"}, {failed, "failed"}, {interrupted, "interrupted"}});
}

}  // namespace assay
