#pragma once

#include "train/cuda/types.h"

namespace assay::train::cuda {

/// Rows of logits whose first `classes` columns count; `stride` is the distance of rows in
/// elements, a multiple of lanes(type) and at least `classes`.
struct Logits {
  const void* values = nullptr;
  std::int64_t rows = 0;
  std::int64_t classes = 0;
  std::int64_t stride = 0;
};

/// The expected predictions: a class per row, or `ignored`. The fraction `smoothing` of the
/// probability is spread evenly over all classes.
struct Targets {
  const std::int64_t* labels = nullptr;
  std::int64_t ignored = -100;
  float smoothing = 0;
};

/// losses = -Σ target · log softmax(logits) for each row, 0 for ignored rows, NaN for a label that
/// is not a class; log_sums = log Σ exp(logits). Each has `rows` floats.
void cross_entropy_forward(Stream stream, Type type, const Logits& logits, const Targets& targets,
                           float* losses, float* log_sums);

/// gradients = factor · (softmax(logits) - target), with the logits' stride; 0 in ignored rows and
/// in columns that do not count. `factor` is a float on the device.
void cross_entropy_backward(Stream stream, Type type, const Logits& logits, const Targets& targets,
                            const float* log_sums, const float* factor, void* gradients);

}  // namespace assay::train::cuda
