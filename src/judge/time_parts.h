#pragma once

#include <string_view>

#include "core/enum_names.h"

namespace assay::judge {

/// The parts of a round's wall time, in display order.
enum class TimePart {
  launch,       ///< from the start of the round to the last rank's exec
  start,        ///< until its first INIT_START or TRAIN_START
  device,       ///< from PHASE, like the next three
  join,         ///< ranks finding each other
  data,         ///< opening
  model,        ///< building
  preparation,  ///< anything else before the training
  first_step,
  settling,   ///< steps between the first and the steady ones
  data_wait,  ///< in the steps after those, like the next three
  compute,
  communication,
  optimizer,
  step_rest,    ///< the remainder of those steps
  steps,        ///< the same, if the log does not divide them
  training,     ///< without logged steps
  evaluation,   ///< during the training
  checkpoint,   ///< from PHASE
  end,          ///< from TRAIN_END to the last exit
  program,      ///< from exec to exit, if it logs nothing
  collection,   ///< of evidence, from the last exit to the end of the round
  unexplained,  ///< not explained by the evidence
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
