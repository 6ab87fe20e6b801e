#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "train/base/torch.h"
#include "train/parallel/communicator.h"

namespace assay::train {

/// Records when the parts of a few steps began and ended on the device, to show whether gradients
/// are summed while backward is running. Written as a Chrome trace (Perfetto, chrome://tracing), in
/// which `otherData.overlap` is the fraction of the all-reduces' time that lies within backward.
/// Called from one thread; all-reduces may end in others.
class StepTrace {
 public:
  static constexpr std::int64_t kSteps = 3;

  /// Traces kSteps steps, starting at `first_step`, to `path`. Waits for the device when a traced
  /// step begins.
  StepTrace(std::string path, int rank, torch::Device device, std::int64_t first_step);
  StepTrace(const StepTrace&) = delete;
  StepTrace& operator=(const StepTrace&) = delete;
  ~StepTrace();

  /// Writes the file once the last traced step is over. Throws Error of kind environment if it
  /// cannot be written.
  void begin_step(std::int64_t step);
  /// Writes what has been recorded, unless already written.
  void finish();

  void begin_backward();
  void end_backward();
  /// Call before starting an all-reduce of this many bytes; the result is for end_all_reduce().
  [[nodiscard]] std::size_t begin_all_reduce(std::int64_t bytes);
  /// Ends when the device, or Gloo's thread, has completed it.
  void end_all_reduce(std::size_t span, const Pending& pending, Collectives collectives);

 private:
  struct Spans;
  void write();

  std::string path_;
  int rank_;
  torch::Device device_;
  std::int64_t first_step_;
  bool active_ = false;
  std::shared_ptr<Spans> spans_;  // with all-reduces still in progress
};

}  // namespace assay::train
