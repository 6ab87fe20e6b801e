#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/crc32c.h"
#include "core/error.h"
#include "train/loop/device.h"
#include "train/loop/settings.h"
#include "train/loop/task.h"

namespace assay::train {

/// The loader options for one pass of this rank.
[[nodiscard]] data::LoaderOptions loader_options(const Settings& settings,
                                                 const workload::Place& place, torch::Device device,
                                                 data::Pass pass);

/// Reads the options common to all data sets into the set's own; for the kinds of tasks.
template <class SetOptions>
void read_set(SetOptions& set, const std::vector<std::string>& names, workload::Options& options) {
  options.section("Data");
  set.set = options.choice("data", set.set, names, "the data set, as docs/data.md describes it");
  set.path = options.text("path", "", workload::per_rank("folder of the set's files"));
  // A path means that the user wants its files.
  if (!set.path.empty() && (set.set == "glyphs" || set.set == "grammar" || set.set == "language"))
    options.fail("path", "the data set " + set.set + " is generated and reads no files",
                 "leave 'path' out, or say what the files are with 'data'");
  constexpr std::int64_t kMax = 1'000'000'000;
  set.train_size =
      options.integer("train_size", 0, 0, kMax, "samples of a generated set; 0 is its default");
  set.eval_size = options.integer("eval_size", 0, 0, kMax, "as `train_size`, for evaluations");
  set.seed = static_cast<std::uint64_t>(
      options.integer("data_seed", 1, 0, kMax, "of a generated set: another one is another set"));
}

/// Common parts of tasks with batches from a data::Loader: the loader, the position in its stream,
/// and the batches from which a device may still be copying.
template <class Batch>
class LoaderTask : public Task {
 public:
  using Source = std::shared_ptr<const data::Source<Batch>>;

  LoaderTask(const Settings& settings, const workload::Place& place, torch::Device device,
             Source training, Source evaluation)
      : settings_(settings),
        place_(place),
        device_(device),
        training_(std::move(training)),
        evaluation_(std::move(evaluation)),
        loans_(static_cast<std::size_t>((kStepsInFlight + 1) * settings.accumulation)) {}

  void start(const data::Position& start, std::int64_t epochs) override {
    data::LoaderOptions options = loader_options(settings_, place_, device_, data::Pass::train);
    options.start = start;
    options.epochs = epochs;
    loader_ = std::make_unique<data::Loader<Batch>>(training_, options);
    position_ = start;
  }
  std::int64_t batches_per_epoch() const override { return loader_->batches_per_epoch(); }
  data::Position position() const override { return position_; }

  BatchWork next() override {
    data::Loan<Batch> loan = loader_->next();
    if (!loan) throw Error(ErrorKind::internal, "the training data have ended");
    position_ = loan.position();
    if (++position_.batch == loader_->batches_per_epoch()) position_ = {position_.epoch + 1, 0};
    take(*loan);
    const BatchWork work = work_of(*loan);
    // The CPU has already converted it; a device may still be copying.
    if (!device_.is_cpu()) loans_.keep(std::move(loan));
    return work;
  }

  bool skip(BatchWork& work) override {
    const data::Loan<Batch> loan = loader_->next();
    if (!loan) return false;
    work = work_of(*loan);
    work.flops = 0;
    return true;
  }

  void set_batch_size(std::int64_t rows) override { settings_.batch_size = rows; }
  std::int64_t max_batch_size() const override { return training_->size() / place_.world_size; }

  std::int64_t train_samples() const override { return training_->size(); }
  std::int64_t damaged() const override { return training_->damaged() + evaluation_->damaged(); }

 protected:
  /// data_checksum() of samples spread evenly over both splits.
  [[nodiscard]] std::uint32_t checksum_of_samples() const {
    const std::array<std::uint32_t, 2> both{checksum_of_samples(*training_, 64),
                                            checksum_of_samples(*evaluation_, 16)};
    return crc32c({reinterpret_cast<const std::uint8_t*>(both.data()), sizeof both});
  }
  /// Sends the batch to the device for loss(). The copy may still be in progress on return.
  virtual void take(const Batch& batch) = 0;
  [[nodiscard]] virtual BatchWork work_of(const Batch& batch) const = 0;

  /// Calls `use` with every evaluation batch, without gradients and with the model in evaluation
  /// mode. `use` sends the batch to the device.
  template <class Use>
  void for_each_evaluated(const Use& use) {
    torch::NoGradGuard no_grad;
    model().eval();
    data::Loader<Batch> loader(evaluation_,
                               loader_options(settings_, place_, device_, data::Pass::eval));
    Ring loans(kStepsInFlight + 1);
    for (std::int64_t batches = 1; data::Loan<Batch> loan = loader.next(); ++batches) {
      if (device_.is_cuda() && batches > kStepsInFlight) torch::cuda::synchronize(device_.index());
      use(*loan);
      if (device_.is_cuda()) loans.keep(std::move(loan));
    }
    model().train();
  }

  [[nodiscard]] const Settings& settings() const noexcept { return settings_; }
  [[nodiscard]] torch::Device device() const noexcept { return device_; }

 private:
  static std::uint32_t checksum_of_samples(const data::Source<Batch>& source, std::int64_t most) {
    const std::int64_t count = std::min(most, source.size());
    if (count == 0) return 0;
    Batch batch(source.shape(), count, data::heap_allocator());
    const auto reader = source.make_reader();
    for (std::int64_t row = 0; row < count; ++row)
      reader->read({row * source.size() / count, 0, 0}, batch, row);
    return crc32c(
        {reinterpret_cast<const std::uint8_t*>(batch.storage.data()), batch.storage.bytes()});
  }

  // Holds the batches from which a device may still be copying.
  class Ring {
   public:
    explicit Ring(std::size_t size) : loans_(size) {}
    void keep(data::Loan<Batch> loan) {
      loans_[next_] = std::move(loan);
      next_ = (next_ + 1) % loans_.size();
    }

   private:
    std::vector<data::Loan<Batch>> loans_;
    std::size_t next_ = 0;
  };

  Settings settings_;
  workload::Place place_;
  torch::Device device_;
  Source training_;
  Source evaluation_;
  std::unique_ptr<data::Loader<Batch>> loader_;
  data::Position position_;
  Ring loans_;
};

}  // namespace assay::train
