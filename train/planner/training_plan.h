#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/enum_names.h"
#include "train/models/keep.h"
#include "train/models/llama_options.h"
#include "train/models/mesh.h"

namespace assay::train::planner {

/// The storage of numbers.
enum class Numbers : std::uint8_t {
  mixed,  ///< bf16, with the optimizer's weights and gradients in fp32
  bf16,   ///< everything in bf16
  fp32,   ///< everything in fp32
};
constexpr auto enum_names(Numbers) {
  using enum Numbers;
  return std::to_array<EnumName<Numbers>>({{mixed, "mixed"}, {bf16, "bf16"}, {fp32, "fp32"}});
}

/// Bytes per parameter for weight, gradient and optimizer (two moments, and the fp32 weight if the
/// other is rounded), and bytes per activation.
struct NumberBytes {
  std::int64_t weight;
  std::int64_t gradient;
  std::int64_t moments;
  std::int64_t master;  ///< the fp32 weight, if products use another
  std::int64_t activation;
};
[[nodiscard]] NumberBytes bytes_of(Numbers numbers) noexcept;

/// The training to plan.
struct TrainingWork {
  LlamaOptions model;
  std::int64_t sequence = 4096;   ///< in tokens
  std::int64_t micro_batch = 1;   ///< sequences per device at a time
  std::int64_t global_batch = 0;  ///< sequences per step; 0: one micro-batch per device and stage
  Numbers numbers = Numbers::mixed;

  /// The number per step on this mesh: global_batch / (data · micro_batch).
  [[nodiscard]] std::int64_t micro_batches(const Mesh& mesh) const noexcept;
  /// Sequences per step on this mesh.
  [[nodiscard]] std::int64_t sequences(const Mesh& mesh) const noexcept;
};

/// Throws Error of kind config unless the batch is a multiple of data × micro_batch.
void require_batch(const TrainingWork& work, const Mesh& mesh);

/// The devices and their connections.
struct Cluster {
  double memory = 80.0 * (1LL << 30);  ///< bytes per device
  double flops = 989.4e12;             ///< per device, dense, in the numbers' precision
  double efficiency = 0.6;             ///< the fraction of it that products reach
  std::int64_t per_node = 8;           ///< devices
  double node_bandwidth = 400e9;       ///< bytes/s per device within a node, one way
  double network_bandwidth = 45e9;     ///< bytes/s per device between nodes, one way
};

/// Bytes on the device that needs most.
struct MemoryPlan {
  double weights = 0;
  double gradients = 0;
  double optimizer = 0;
  double activations = 0;
  double logits = 0;   ///< for the tokens in the loss at a time
  double buffers = 0;  ///< weights gathered by ZeRO 3, gradients in transit
  double runtime = 0;  ///< the driver, libraries and memory unusable by the allocator

  [[nodiscard]] double total() const noexcept {
    return weights + gradients + optimizer + activations + logits + buffers + runtime;
  }
};

/// Parameters on the device with most of them, before ZeRO: its stage's blocks, the embedding in
/// the first stage, the output in the last, matrices divided by tensor.
[[nodiscard]] std::int64_t local_parameters(const LlamaOptions& model, const Mesh& mesh) noexcept;
/// Bytes that a block keeps per token on a device.
[[nodiscard]] double kept_per_token(const LlamaOptions& model, const Mesh& mesh, Keep keep,
                                    Numbers numbers) noexcept;
[[nodiscard]] MemoryPlan memory_of(const TrainingWork& work, const Mesh& mesh, Keep keep) noexcept;

/// A device's step: bytes sent, and seconds.
struct StepPlan {
  double tokens = 0;          ///< in the whole step, on all devices
  double flops = 0;           ///< on the device, without recomputation
  double compute_s = 0;       ///< including recomputation
  double bubble_s = 0;        ///< waiting for other stages, 1F1B
  double data_bytes = 0;      ///< gradients and weights among `data` devices
  double tensor_bytes = 0;    ///< activations among `tensor` devices
  double expert_bytes = 0;    ///< tokens' rows to their experts and back
  double pipeline_bytes = 0;  ///< activations between stages
  double data_s = 0;          ///< overlaps with compute
  double tensor_s = 0;        ///< does not
  double expert_s = 0;        ///< does not
  double pipeline_s = 0;      ///< overlaps
  [[nodiscard]] double step_s() const noexcept;
  [[nodiscard]] bool network_bound() const noexcept;
  /// A device's model FLOP/s relative to its peak.
  [[nodiscard]] double mfu(const Cluster& cluster) const noexcept;
};

[[nodiscard]] StepPlan step_of(const TrainingWork& work, const Mesh& mesh, Keep keep,
                               const Cluster& cluster) noexcept;

/// One possible arrangement.
struct Plan {
  Mesh mesh;
  Keep keep = Keep::all;
  MemoryPlan memory;
  StepPlan step;
  bool fits = false;
};

[[nodiscard]] Plan plan_of(const TrainingWork& work, const Mesh& mesh, Keep keep,
                           const Cluster& cluster) noexcept;

/// All arrangements on this many devices: fitting ones first, then by speed; among equally fast
/// ones, the simplest first (least tensor, pipeline, ZeRO). Tensor parallelism stays within a node.
[[nodiscard]] std::vector<Plan> all_plans(const TrainingWork& work, std::int64_t devices,
                                          const Cluster& cluster);

/// The smallest number of devices, from `devices` to 65,536, on which something fits, with `keep`
/// if given; 0 if nothing does.
[[nodiscard]] std::int64_t devices_that_fit(const TrainingWork& work, std::int64_t devices,
                                            const Cluster& cluster,
                                            std::optional<Keep> keep = std::nullopt);

}  // namespace assay::train::planner
