#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "train/base/torch.h"
#include "train/parallel/communicator.h"

namespace assay::train {

/// When the parts of a few steps began and ended, on the device: shows whether gradients are summed
/// while backward still runs. Written as a Chrome trace (Perfetto, chrome://tracing), in which
/// `otherData.overlap` is the share of the all-reduces' time that lies within backward. One thread
/// calls; all-reduces may end in others.
class StepTrace {
 public:
  static constexpr std::int64_t kSteps = 3;

  /// Traces kSteps steps from `first_step` on into `path`. The device is waited for when a traced
  /// step begins.
  StepTrace(std::string path, int rank, torch::Device device, std::int64_t first_step);
  StepTrace(const StepTrace&) = delete;
  StepTrace& operator=(const StepTrace&) = delete;
  ~StepTrace();

  /// Writes the file when the last traced step is over. Throws Error of kind environment when it
  /// cannot be written.
  void begin_step(std::int64_t step);
  /// Writes what there is, if it was not written yet.
  void finish();

  void begin_backward();
  void end_backward();
  /// Before an all-reduce of so many bytes is started; for end_all_reduce().
  [[nodiscard]] std::size_t begin_all_reduce(std::int64_t bytes);
  /// It ends when the device, or Gloo's thread, is done with it.
  void end_all_reduce(std::size_t span, const Pending& pending, Collectives collectives);

 private:
  struct Spans;
  void write();

  std::string path_;
  int rank_;
  torch::Device device_;
  std::int64_t first_step_;
  bool active_ = false;
  std::shared_ptr<Spans> spans_;  // with the all-reduces that have not ended
};

}  // namespace assay::train
