#pragma once

#include <string_view>

#include "core/enum_names.h"

namespace assay::judge {

/// What a round's wall clock was spent on, in the order in which it is shown.
enum class TimePart {
  launch,       ///< from the start of the round to the last rank's exec
  start,        ///< to its first INIT_START or TRAIN_START
  device,       ///< PHASE, as are the next three
  join,         ///< ranks finding each other
  data,         ///< opening
  model,        ///< building
  preparation,  ///< before the training, and none of the others
  first_step,
  settling,   ///< steps after the first and before the steady ones
  data_wait,  ///< in the steps after them, as the next three
  compute,
  communication,
  optimizer,
  step_rest,    ///< in them, and none of the others
  steps,        ///< after those that settle, where the log does not divide them
  training,     ///< that logs no steps
  evaluation,   ///< in the training
  checkpoint,   ///< PHASE
  end,          ///< from TRAIN_END to the last exit
  program,      ///< that logs nothing, from exec to exit
  collection,   ///< of the evidence, from the last exit to the end of the round
  unexplained,  ///< by anything in the evidence
};

constexpr auto enum_names(TimePart /*part*/) {
  using enum TimePart;
  return std::to_array<EnumName<TimePart>>({{launch, "launch"},
                                            {start, "start"},
                                            {device, "device"},
                                            {join, "join"},
                                            {data, "data"},
                                            {model, "model"},
                                            {preparation, "preparation"},
                                            {first_step, "first_step"},
                                            {settling, "settling"},
                                            {data_wait, "data_wait"},
                                            {compute, "compute"},
                                            {communication, "communication"},
                                            {optimizer, "optimizer"},
                                            {step_rest, "step_rest"},
                                            {steps, "steps"},
                                            {training, "training"},
                                            {evaluation, "evaluation"},
                                            {checkpoint, "checkpoint"},
                                            {end, "end"},
                                            {program, "program"},
                                            {collection, "collection"},
                                            {unexplained, "unexplained"}});
}

/// For people: "Program start".
[[nodiscard]] std::string_view title_of(TimePart part) noexcept;

}  // namespace assay::judge
