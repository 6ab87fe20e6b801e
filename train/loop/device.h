#pragma once

#include <memory>

#include "train/base/torch.h"
#include "train/data/allocator.h"
#include "train/loop/settings.h"
#include "workload/place.h"

namespace assay::train {

/// This rank's device: `name` is auto, cpu or cuda. auto takes CUDA device LOCAL_RANK if it exists.
/// Ranks that reduce with Gloo share the devices if there are more ranks. Throws Error of kind
/// environment if there is no such device.
[[nodiscard]] torch::Device choose_device(const std::string& name, const workload::Place& place,
                                          Collectives collectives = Collectives::automatic);

/// The most threads for a process with this many processors: more would only wait for each other,
/// with 512 on two for seconds per step.
[[nodiscard]] std::int64_t most_threads(int processors) noexcept;

/// Configures the process: precision of matrix products, threads (0: this rank's share of the CPUs
/// available to the process). Returns the number of threads. Throws Error of kind config for
/// anything the device cannot do, and for more than most_threads().
int prepare_device(torch::Device device, Precision precision, std::int64_t threads,
                   const workload::Place& place);

/// Observes this process's use of the device's memory. The CPU's is unknown.
class DeviceMemory {
 public:
  explicit DeviceMemory(torch::Device device);
  /// The peak since construction, as a share of the device's memory; 0: unknown.
  [[nodiscard]] double peak_share() const;
  /// Releases the memory that libtorch caches.
  void give_back() const;

 private:
  torch::Device device_;
};

/// From now on, the first computation of a shape times cuDNN's algorithms and keeps the fastest.
void try_cudnn_algorithms();

/// From now on, the same computation gives the same bits on the same machine: only algorithms that
/// add in a fixed order, none chosen by speed. Must precede the device's first computation.
void be_deterministic();

/// The kernels that attention may use on CUDA: "auto" (libtorch's choice), "flash", "cudnn".
[[nodiscard]] const std::vector<std::string>& attention_kernels();
/// Selects them from now on. Does nothing on the CPU. Throws Error of kind config if this libtorch
/// has no choice.
void choose_attention(const std::string& kernels, torch::Device device);

/// Page-locked memory for batches that go to a CUDA device; ordinary memory for the CPU.
[[nodiscard]] std::shared_ptr<data::HostAllocator> batch_allocator(torch::Device device);

/// Makes operators run in a lower precision while it exists; does nothing for fp32 and tf32.
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
