#pragma once

#include <functional>
#include <memory>

#include "train/data/image_set.h"
#include "train/loop/task.h"
#include "train/loop/task_kinds.h"

namespace assay::train {

/// Image classification: resnet20 … resnet152.
[[nodiscard]] TaskKind image_kind();

/// The data options of image_kind().
[[nodiscard]] data::ImageSetOptions read_image_set(workload::Options& options);

/// A network that classifies images.
struct ImageModel {
  std::shared_ptr<torch::nn::Module> module;
  /// Maps normalized images, float [N, C, H, W], to logits [N, classes].
  std::function<torch::Tensor(const torch::Tensor&)> forward;
  double flops = 0;  ///< for training on one image
};

/// Trains the model, which is moved to the device, on the set.
[[nodiscard]] std::unique_ptr<Task> make_image_task(const Settings& settings,
                                                    const workload::Place& place,
                                                    torch::Device device, data::ImageSet set,
                                                    ImageModel model);

}  // namespace assay::train
