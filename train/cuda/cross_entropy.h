#pragma once

#include "train/cuda/types.h"

namespace assay::train::cuda {

/// Rows of logits of which the first `classes` columns count; `stride` elements from row to row, a
/// multiple of lanes(type) that is at least `classes`.
struct Logits {
  const void* values = nullptr;
  std::int64_t rows = 0;
  std::int64_t classes = 0;
  std::int64_t stride = 0;
};

/// The expected predictions: a class per row, or `ignored`. The share `smoothing` of the
/// probability is spread evenly over all classes.
struct Targets {
  const std::int64_t* labels = nullptr;
  std::int64_t ignored = -100;
  float smoothing = 0;
};

/// losses = -Σ target · log softmax(logits) of each row, 0 where it is ignored, NaN for a label
/// that is not a class; log_sums = log Σ exp(logits). `rows` floats each.
void cross_entropy_forward(Stream stream, Type type, const Logits& logits, const Targets& targets,
                           float* losses, float* log_sums);

/// gradients = factor · (softmax(logits) - target), with the stride of the logits; 0 in rows that
/// are ignored and in columns that do not count. `factor` is one float on the device.
void cross_entropy_backward(Stream stream, Type type, const Logits& logits, const Targets& targets,
                            const float* log_sums, const float* factor, void* gradients);

}  // namespace assay::train::cuda
