#pragma once

#include <memory>

#include "train/base/torch.h"
#include "train/data/allocator.h"
#include "train/loop/settings.h"
#include "workload/place.h"

namespace assay::train {

/// The device of this rank: `name` is auto, cpu or cuda. auto takes CUDA device LOCAL_RANK when
/// there is one. Ranks that reduce with Gloo share the devices when they are more. Throws Error of
/// kind environment when there is no such device.
[[nodiscard]] torch::Device choose_device(const std::string& name, const workload::Place& place,
                                          Collectives collectives = Collectives::automatic);

/// The most threads of a process that may use so many processors: with more they only wait for each
/// other, 512 on two for seconds a step.
[[nodiscard]] std::int64_t most_threads(int processors) noexcept;

/// Sets the process up for it: precision of matrix products, threads (0: this rank's share of the
/// CPUs that the process may use). Gives the number of threads. Throws Error of kind config for
/// what the device cannot do, and for more than most_threads().
int prepare_device(torch::Device device, Precision precision, std::int64_t threads,
                   const workload::Place& place);

/// Watches what this process has of the device's memory. Of the CPU's nothing is known.
class DeviceMemory {
 public:
  explicit DeviceMemory(torch::Device device);
  /// The most since construction, as a share of what the device has; 0: not known.
  [[nodiscard]] double peak_share() const;
  /// Gives back what libtorch keeps for later.
  void give_back() const;

 private:
  torch::Device device_;
};

/// From now on the first computation of a shape times cuDNN's algorithms and keeps the fastest.
void try_cudnn_algorithms();

/// From now on the same computation gives the same bits on the same machine: only algorithms that
/// add in a fixed order, and none chosen by its speed. Before the first computation on the device.
void be_deterministic();

/// Whose kernels attention may use on CUDA: "auto" (libtorch's choice), "flash", "cudnn".
[[nodiscard]] const std::vector<std::string>& attention_kernels();
/// From now on they do. Does nothing on the CPU. Throws Error of kind config when this libtorch has
/// no choice.
void choose_attention(const std::string& kernels, torch::Device device);

/// Page-locked memory for batches that go to a CUDA device; ordinary memory for the CPU.
[[nodiscard]] std::shared_ptr<data::HostAllocator> batch_allocator(torch::Device device);

/// Lets operators run in a lower precision as long as it exists; does nothing for fp32 and tf32.
class AutocastScope {
 public:
  AutocastScope(torch::Device device, Precision precision);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  torch::DeviceType type_;
  bool active_;
};

}  // namespace assay::train
