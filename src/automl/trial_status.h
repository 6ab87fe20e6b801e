#pragma once

#include <cstdint>

#include "core/enum_names.h"

namespace assay::automl {

/// How far a trial is. An attempt ends as one of the last four; `lost` and `stopped` are no
/// results.
enum class TrialStatus : std::uint8_t { waiting, running, ok, failed, lost, stopped };

constexpr auto enum_names(TrialStatus) {
  using enum TrialStatus;
  return std::to_array<EnumName<TrialStatus>>({{waiting, "waiting"},
                                               {running, "running"},
                                               {ok, "ok"},
                                               {failed, "failed"},
                                               {lost, "lost"},
                                               {stopped, "stopped"}});
}

/// Why an experiment ended.
enum class ExperimentEnd : std::uint8_t {
  time,       ///< its time was over
  trials,     ///< it had all its trials
  stopped,    ///< by the user
  failed,     ///< it could not go on
  exhausted,  ///< there is no further architecture within the limits
};

constexpr auto enum_names(ExperimentEnd) {
  using enum ExperimentEnd;
  return std::to_array<EnumName<ExperimentEnd>>({{time, "time"},
                                                 {trials, "trials"},
                                                 {stopped, "stopped"},
                                                 {failed, "failed"},
                                                 {exhausted, "exhausted"}});
}

}  // namespace assay::automl
