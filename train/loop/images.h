#pragma once

#include <functional>
#include <memory>

#include "train/data/image_set.h"
#include "train/data/loader.h"
#include "train/loop/settings.h"
#include "train/loop/task.h"
#include "train/torch.h"

namespace assay::train {

/// A batch of images on the device.
struct Images {
  torch::Tensor x;       ///< normalised float [N, C, H, W]
  torch::Tensor labels;  ///< int64 [N]
};

/// Brings batches of one image set to the device and normalises them there.
class ImageFeed {
 public:
  ImageFeed(const data::ImageSetInfo& info, torch::Device device, bool channels_last);

  /// On CUDA the copy may be under way when this returns: `batch` must stay for kStepsInFlight
  /// steps.
  [[nodiscard]] Images prepare(const data::ImageBatch& batch) const;
  [[nodiscard]] torch::Device device() const noexcept { return device_; }

 private:
  torch::Device device_;
  bool channels_last_;
  torch::Tensor mean_;
  torch::Tensor scale_;
};

/// Runs `forward` (to logits, [N, classes]) over a pass of the loader, each sample once, without
/// gradients. Gives counts {correct, total} and sums {loss}.
using Forward = std::function<torch::Tensor(const torch::Tensor&)>;
[[nodiscard]] Evaluation evaluate_images(const ImageFeed& feed,
                                         const std::shared_ptr<const data::ImageSource>& source,
                                         const data::LoaderOptions& options, Precision precision,
                                         const Forward& forward);

}  // namespace assay::train
