#include "train/loop/device.h"
#include "train/loop/images.h"
#include "train/loop/task.h"
#include "train/models/flops.h"
#include "train/models/resnet.h"

namespace assay::train {
namespace {

class ImageTask final : public Task {
 public:
  ImageTask(const Settings& settings, const Place& place, torch::Device device)
      : settings_(settings),
        place_(place),
        device_(device),
        set_(data::open_image_set(settings.images)),
        feed_(set_.info, device, settings.channels_last),
        loans_(static_cast<std::size_t>((kStepsInFlight + 1) * settings.accumulation)) {
    ResNetOptions options = model_options();
    options.channels = set_.info.channels;
    options.zero_init_residual = settings.zero_init_residual;
    flops_ = resnet_flops(options, set_.info.height, set_.info.width).training();
    model_ = ResNet(options);
    model_->to(device_);
  }

  torch::nn::Module& model() override { return *model_; }

  void start(const data::Position& start) override {
    data::LoaderOptions options = loader_options(settings_, place_, device_, data::Pass::train);
    options.start = start;
    loader_ = std::make_unique<data::ImageLoader>(set_.train, options);
    position_ = start;
  }
  std::int64_t batches_per_epoch() const override { return loader_->batches_per_epoch(); }
  data::Position position() const override { return position_; }

  BatchWork next() override {
    data::ImageLoan loan = take();
    current_ = feed_.prepare(*loan);
    const auto rows = static_cast<double>(loan->size);
    // The CPU has converted already; a device may still be copying.
    if (!device_.is_cpu()) loans_.keep(std::move(loan));
    return {rows, 0, rows * flops_};
  }

  std::vector<torch::Tensor*> inputs() override { return {&current_.x, &current_.labels}; }

  torch::Tensor loss() override {
    torch::Tensor logits;
    {
      const AutocastScope autocast(device_, settings_.precision);
      logits = model_->forward(current_.x);
    }
    return torch::cross_entropy_loss(logits.to(torch::kFloat), current_.labels, {},
                                     torch::Reduction::Mean, -100, settings_.label_smoothing);
  }

  std::int64_t halve() override {
    const std::int64_t rows = current_.x.size(0) / 2;
    if (rows == 0) return 0;
    current_ = {current_.x.slice(0, 0, rows), current_.labels.slice(0, 0, rows)};
    return rows;
  }

  Evaluation evaluate() override {
    model_->eval();
    Evaluation evaluation = evaluate_images(
        feed_, set_.eval, loader_options(settings_, place_, device_, data::Pass::eval),
        settings_.precision, [this](const torch::Tensor& x) { return model_->forward(x); });
    model_->train();
    return evaluation;
  }

  Qualities qualities(const Evaluation& total) const override {
    const auto count = static_cast<double>(total.counts[1]);
    return {{"acc1", static_cast<double>(total.counts[0]) / count},
            {"loss", total.sums[0] / count}};
  }
  double best_quality() const override {
    return set_.info.best_accuracy ? set_.info.best_accuracy->value : 0;
  }
  std::int64_t damaged() const override { return set_.train->damaged() + set_.eval->damaged(); }
  double flops_per_sample() const override { return flops_; }

  bool skip(BatchWork& work) override {
    const data::ImageLoan loan = loader_->next();
    if (!loan) return false;
    work = {static_cast<double>(loan->size), 0, 0};
    return true;
  }

 private:
  ResNetOptions model_options() const {
    return settings_.depth == 20 || settings_.depth == 32
               ? ResNetOptions::cifar(settings_.depth, set_.info.classes)
               : ResNetOptions::imagenet(settings_.depth, set_.info.classes);
  }

  data::ImageLoan take() {
    data::ImageLoan loan = loader_->next();
    if (!loan) throw Error(ErrorKind::internal, "the training data have ended");
    position_ = loan.position();
    if (++position_.batch == loader_->batches_per_epoch()) position_ = {position_.epoch + 1, 0};
    return loan;
  }

  Settings settings_;
  Place place_;
  torch::Device device_;
  data::ImageSet set_;
  ImageFeed feed_;
  ResNet model_{nullptr};
  double flops_ = 0;
  std::unique_ptr<data::ImageLoader> loader_;
  data::Position position_;
  Images current_;
  LoanRing<data::ImageLoan> loans_;
};

}  // namespace

std::unique_ptr<Task> make_image_task(const Settings& settings, const Place& place,
                                      torch::Device device) {
  return std::make_unique<ImageTask>(settings, place, device);
}

std::unique_ptr<Task> make_task(const Settings& settings, const Place& place,
                                torch::Device device) {
  return settings.is_text ? make_text_task(settings, place, device)
                          : make_image_task(settings, place, device);
}

data::LoaderOptions loader_options(const Settings& settings, const Place& place,
                                   torch::Device device, data::Pass pass) {
  data::LoaderOptions options;
  options.pass = pass;
  const bool train = pass == data::Pass::train;
  options.batch_size = train ? settings.batch_size : settings.eval_batch_size;
  options.rank = place.rank;
  options.world = place.world_size;
  options.threads = settings.loader_threads;
  // Batches that a device still copies from are not available for new ones.
  const std::int64_t held =
      device.is_cpu() ? 1 : (kStepsInFlight + 1) * (train ? settings.accumulation : 1);
  options.buffers = std::max(settings.loader_buffers, held + 3);
  options.seed = settings.seed;
  options.epochs = train ? 0 : 1;
  options.allocator = batch_allocator(device);
  return options;
}

}  // namespace assay::train
