#include "train/loop/image_task.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "train/loop/loader_task.h"
#include "train/models/flops.h"
#include "train/models/resnet.h"

namespace assay::train {
namespace {

// A batch of images on the device.
struct Images {
  torch::Tensor x;       // normalized float [N, C, H, W]
  torch::Tensor labels;  // int64 [N]
};

class ImageTask final : public LoaderTask<data::ImageBatch> {
 public:
  ImageTask(const Settings& settings, const workload::Place& place, torch::Device device,
            const data::ImageSet& set, ImageModel model)
      : LoaderTask(settings, place, device, set.train, set.eval),
        info_(set.info),
        model_(std::move(model)) {
    const auto per_channel = [&](const std::array<float, 3>& values) {
      return torch::tensor(std::vector<float>(values.begin(), values.begin() + info_.channels))
          .view({1, info_.channels, 1, 1});
    };
    mean_ = (per_channel(info_.mean) * 255).to(device);
    scale_ = (1 / (per_channel(info_.std) * 255)).to(device);
    model_.module->to(device);
  }

  torch::nn::Module& model() override { return *model_.module; }

  std::vector<torch::Tensor*> inputs() override { return {&current_.x, &current_.labels}; }

  torch::Tensor loss() override {
    return torch::cross_entropy_loss(logits(current_), current_.labels, {}, torch::Reduction::Mean,
                                     -100, settings().label_smoothing);
  }

  std::int64_t rows() const override { return current_.labels.size(0); }

  void resize(std::int64_t rows) override {
    // A selection from a channels-last tensor is channels-last too.
    const torch::Tensor picked =
        torch::arange(rows, current_.labels.options()).remainder(current_.labels.size(0));
    current_ = {current_.x.index_select(0, picked), current_.labels.index_select(0, picked)};
    if (settings().channels_last)
      current_.x = current_.x.contiguous(torch::MemoryFormat::ChannelsLast);
  }

  // Counts {right, all} and sums {loss}.
  Evaluation evaluate() override {
    torch::Tensor right = torch::zeros({}, torch::TensorOptions(torch::kLong).device(device()));
    torch::Tensor loss = torch::zeros({}, torch::TensorOptions(torch::kDouble).device(device()));
    std::int64_t total = 0;
    for_each_evaluated([&](const data::ImageBatch& batch) {
      const Images images = prepare(batch);
      total += batch.size;
      const torch::Tensor values = logits(images);
      right += (values.argmax(1) == images.labels).sum();
      loss += torch::cross_entropy_loss(values, images.labels, {}, torch::Reduction::Sum);
    });
    return {{right.item<std::int64_t>(), total}, {loss.item<double>()}};
  }

  Qualities qualities(const Evaluation& total) const override {
    const auto count = static_cast<double>(total.counts[1]);
    return {{"acc1", static_cast<double>(total.counts[0]) / count},
            {"loss", total.sums[0] / count}};
  }
  double best_quality() const override {
    return info_.best_accuracy ? info_.best_accuracy->value : 0;
  }
  double flops_per_sample() const override { return model_.flops; }

 protected:
  void take(const data::ImageBatch& batch) override { current_ = prepare(batch); }

  BatchWork work_of(const data::ImageBatch& batch) const override {
    const auto rows = static_cast<double>(batch.size);
    return {rows, 0, rows * model_.flops};
  }

 private:
  [[nodiscard]] torch::Tensor logits(const Images& images) const {
    torch::Tensor values;
    {
      const AutocastScope autocast(device(), settings().precision);
      values = model_.forward(images.x);
    }
    return values.to(torch::kFloat);
  }

  [[nodiscard]] Images prepare(const data::ImageBatch& batch) const {
    const auto& shape = batch.shape;
    torch::Tensor pixels = torch::from_blob(
        batch.pixels, {batch.size, shape.height, shape.width, shape.channels}, torch::kByte);
    torch::Tensor labels = torch::from_blob(batch.labels, {batch.size}, torch::kLong);
    if (device().is_cpu()) {
      labels = labels.clone();
    } else {
      pixels = pixels.to(device(), /*non_blocking=*/true);
      labels = labels.to(device(), /*non_blocking=*/true);
    }
    // NHWC bytes become channels-last floats: the conversion keeps the memory order.
    torch::Tensor x = pixels.permute({0, 3, 1, 2}).to(torch::kFloat);
    x.sub_(mean_).mul_(scale_);
    if (!settings().channels_last) x = x.contiguous();
    return {x, labels};
  }

  data::ImageSetInfo info_;
  ImageModel model_;
  torch::Tensor mean_;
  torch::Tensor scale_;
  Images current_;
};

// Settings that a model may take from the configuration.
struct ImageModelSettings {
  bool zero_init_residual = false;
};
using MakeImageModel =
    std::function<ImageModel(const ImageModelSettings&, const data::ImageSetInfo&)>;

MakeImageModel resnet(ResNetOptions (*network)(int, std::int64_t), int depth) {
  return [=](const ImageModelSettings& settings, const data::ImageSetInfo& info) {
    ResNetOptions options = network(depth, info.classes);
    options.channels = info.channels;
    options.zero_init_residual = settings.zero_init_residual;
    const auto model = std::make_shared<ResNetImpl>(options);
    return ImageModel{model, [model](const torch::Tensor& x) { return model->forward(x); },
                      resnet_flops(options, info.height, info.width).training()};
  };
}

struct ImageWorkload {
  const char* name;
  const char* defaults;
  MakeImageModel model;
};

// A new model of this kind needs only a line here.
const std::vector<ImageWorkload>& image_workloads() {
  constexpr const char* kSmall =
      "{data: glyphs, epochs: 2, learning_rate: 0.05, weight_decay: 5e-4, nesterov: true, "
      "warmup_epochs: 0.2}";
  constexpr const char* kImageNet =
      "{data: folder, epochs: 90, learning_rate: 0.1, weight_decay: 5e-5, warmup_epochs: 5, "
      "label_smoothing: 0.1, zero_init_residual: true}";
  static const std::vector<ImageWorkload> all{
      {"resnet20", kSmall, resnet(ResNetOptions::cifar, 20)},
      {"resnet32", kSmall, resnet(ResNetOptions::cifar, 32)},
      {"resnet18", kImageNet, resnet(ResNetOptions::imagenet, 18)},
      {"resnet34", kImageNet, resnet(ResNetOptions::imagenet, 34)},
      {"resnet50", kImageNet, resnet(ResNetOptions::imagenet, 50)},
      {"resnet101", kImageNet, resnet(ResNetOptions::imagenet, 101)},
      {"resnet152", kImageNet, resnet(ResNetOptions::imagenet, 152)}};
  return all;
}

MakeTask read_image(const std::string& workload, Settings& common, workload::Options& options) {
  const data::ImageSetOptions images = read_image_set(options);
  options.section("Model");
  ImageModelSettings own;
  own.zero_init_residual =
      options.flag("zero_init_residual", false,
                   "start every residual branch at zero, which helps large batches");
  read_label_smoothing(common, options);
  const auto found = std::ranges::find_if(
      image_workloads(), [&](const ImageWorkload& entry) { return workload == entry.name; });
  return [=, model = found->model](const Settings& settings, const TaskSite& site,
                                   workload::PhaseLog& phases) {
    data::ImageSet set = data::open_image_set(images);
    phases.end("data");
    ImageModel network = model(own, set.info);
    return make_image_task(settings, site.place, site.device, std::move(set), std::move(network));
  };
}

}  // namespace

data::ImageSetOptions read_image_set(workload::Options& options) {
  data::ImageSetOptions images;
  read_set(images, data::image_set_names(), options);
  images.classes = options.integer("classes", 0, 0, 1'000'000, "0 is what the data have");
  images.label_base =
      options.integer("label_base", 1, 0, 1'000'000, "of tfrecord: the label of the first class");
  images.image_size =
      options.integer("image_size", 224, 16, 4096, "of folder and tfrecord: height and width");
  images.augment = options.flag("augment", true, "random crop and flip in training");
  images.glyph_size =
      options.integer("glyph_size", 32, 32, 4096,
                      "of glyphs: height and width, a multiple of 32. With `classes: 1000` and 224 "
                      "they stand in for ImageNet");
  images.label_noise =
      options.number("label_noise", 0.05, 0, 0.5, "of glyphs: share of labels that are wrong");
  images.max_damaged =
      options.number("max_damaged", 0.01, 0, 1,
                     "share of damaged JPEGs; when there are more, reading is an error");
  return images;
}

TaskKind image_kind() {
  TaskKind kind{"image", {}, read_image};
  for (const ImageWorkload& entry : image_workloads())
    kind.models.push_back({entry.name, entry.defaults});
  return kind;
}

std::unique_ptr<Task> make_image_task(const Settings& settings, const workload::Place& place,
                                      torch::Device device, data::ImageSet set, ImageModel model) {
  return std::make_unique<ImageTask>(settings, place, device, std::move(set), std::move(model));
}

}  // namespace assay::train
