#pragma once

#include <cstdint>

#include "train/parallel/communicator.h"

namespace assay::train {

/// Whether a training is asked to end. The signals of its ranks come at different moments, or to
/// some of them only. Ranks that stop together learn of them in a sum over all of them, about twice
/// a second (after every step when steps are longer), and so all stop after the same step.
class AgreedStop {
 public:
  /// `together` is the same on all ranks; without it each one looks at its own signals only. `all`
  /// must outlive this.
  AgreedStop(Communicator& all, bool together) : all_(all), together_(together && !all.alone()) {}

  /// Before the first step and after each, by all ranks. From true on stop_signal() is not 0 on any
  /// rank that stops together with others.
  [[nodiscard]] bool wanted_after(std::int64_t step);
  /// After the last step, by all ranks: what wanted_after() said last, or would say now.
  [[nodiscard]] bool wanted_at_end();

 private:
  void ask(std::int64_t step);

  Communicator& all_;
  bool together_;
  bool agreed_ = false;
  std::int64_t asked_at_ = -1;  // step; -1: never
  std::int64_t next_ = 0;       // step
  std::int64_t asked_ns_ = 0;
};

}  // namespace assay::train
