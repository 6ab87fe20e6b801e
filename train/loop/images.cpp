#include "train/loop/images.h"

#include <array>
#include <utility>
#include <vector>

#include "train/loop/device.h"

namespace assay::train {

ImageFeed::ImageFeed(const data::ImageSetInfo& info, torch::Device device, bool channels_last)
    : device_(device), channels_last_(channels_last) {
  const auto to_tensor = [&](const std::array<float, 3>& values) {
    return torch::tensor(std::vector<float>(values.begin(), values.begin() + info.channels))
        .view({1, info.channels, 1, 1});
  };
  mean_ = (to_tensor(info.mean) * 255).to(device_);
  scale_ = (1 / (to_tensor(info.std) * 255)).to(device_);
}

Images ImageFeed::prepare(const data::ImageBatch& batch) const {
  const auto& shape = batch.shape;
  torch::Tensor pixels = torch::from_blob(
      batch.pixels, {batch.size, shape.height, shape.width, shape.channels}, torch::kByte);
  torch::Tensor labels = torch::from_blob(batch.labels, {batch.size}, torch::kLong);
  if (device_.is_cpu()) {
    labels = labels.clone();
  } else {
    pixels = pixels.to(device_, /*non_blocking=*/true);
    labels = labels.to(device_, /*non_blocking=*/true);
  }
  // NHWC bytes are channels-last floats: the conversion keeps the order in memory.
  torch::Tensor x = pixels.permute({0, 3, 1, 2}).to(torch::kFloat);
  x.sub_(mean_).mul_(scale_);
  if (!channels_last_) x = x.contiguous();
  return {x, labels};
}

Evaluation evaluate_images(const ImageFeed& feed,
                           const std::shared_ptr<const data::ImageSource>& source,
                           const data::LoaderOptions& options, Precision precision,
                           const Forward& forward) {
  torch::NoGradGuard no_grad;
  const torch::Device device = feed.device();
  data::ImageLoader loader(source, options);
  LoanRing<data::ImageLoan> loans(kStepsInFlight + 1);
  torch::Tensor correct = torch::zeros({}, torch::TensorOptions(torch::kLong).device(device));
  torch::Tensor loss = torch::zeros({}, torch::TensorOptions(torch::kDouble).device(device));
  std::int64_t total = 0;
  while (data::ImageLoan loan = loader.next()) {
    const Images images = feed.prepare(*loan);
    total += loan->size;
    if (!device.is_cpu()) {
      if (total > loan->size * kStepsInFlight) torch::cuda::synchronize(device.index());
      loans.keep(std::move(loan));
    }
    torch::Tensor logits;
    {
      const AutocastScope autocast(device, precision);
      logits = forward(images.x);
    }
    correct += (logits.argmax(1) == images.labels).sum();
    loss += torch::cross_entropy_loss(logits.to(torch::kFloat), images.labels, {},
                                      torch::Reduction::Sum);
  }
  return {{correct.item<std::int64_t>(), total}, {loss.item<double>()}};
}

}  // namespace assay::train
