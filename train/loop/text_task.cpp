#include "train/loop/device.h"
#include "train/loop/task.h"
#include "train/models/bert.h"
#include "train/models/flops.h"

namespace assay::train {
namespace {

// Large enough to silence a position, small enough for every float format.
constexpr double kMasked = -1e9;

struct Sentences {
  BertInput input;
  torch::Tensor words;  // int64 [M], data::TextBatch::ignored where there is nothing to predict
  torch::Tensor next;   // int64 [B]
};

class TextTask final : public Task {
 public:
  TextTask(const Settings& settings, const Place& place, torch::Device device)
      : settings_(settings),
        place_(place),
        device_(device),
        set_(data::open_text_set(settings.text)),
        loans_(static_cast<std::size_t>((kStepsInFlight + 1) * settings.accumulation)) {
    BertOptions options = BertOptions::named(settings.bert_size);
    options.vocabulary = set_.info.vocabulary;
    options.positions = std::max(options.positions, set_.info.sequence);
    options.dropout = settings.dropout;
    const std::int64_t length = set_.info.sequence;
    flops_ = bert_flops(options, length, 0).training();
    prediction_flops_ = bert_flops(options, length, 1).training() - flops_;
    model_ = Bert(options);
    model_->to(device_);
  }

  torch::nn::Module& model() override { return *model_; }

  void start(const data::Position& start) override {
    data::LoaderOptions options = loader_options(settings_, place_, device_, data::Pass::train);
    options.start = start;
    loader_ = std::make_unique<data::TextLoader>(set_.train, options);
    position_ = start;
  }
  std::int64_t batches_per_epoch() const override { return loader_->batches_per_epoch(); }
  data::Position position() const override { return position_; }

  BatchWork next() override {
    data::TextLoan loan = loader_->next();
    if (!loan) throw Error(ErrorKind::internal, "the training data have ended");
    position_ = loan.position();
    if (++position_.batch == loader_->batches_per_epoch()) position_ = {position_.epoch + 1, 0};
    current_ = prepare(*loan);
    const BatchWork work = work_of(*loan);
    if (!device_.is_cpu()) loans_.keep(std::move(loan));
    return work;
  }

  std::vector<torch::Tensor*> inputs() override {
    BertInput& input = current_.input;
    return {&input.tokens, &input.segments, &input.mask,
            &input.picked, &current_.words, &current_.next};
  }

  torch::Tensor loss() override {
    BertOutput output;
    {
      const AutocastScope autocast(device_, settings_.precision);
      output = model_->forward(current_.input);
    }
    return word_loss(output, current_.words, data::TextBatch::ignored, settings_.label_smoothing) +
           torch::cross_entropy_loss(output.next.to(torch::kFloat), current_.next);
  }

  std::int64_t halve() override {
    const std::int64_t rows = current_.input.tokens.size(0) / 2;
    if (rows == 0) return 0;
    Sentences half;
    half.input.tokens = current_.input.tokens.slice(0, 0, rows);
    half.input.segments = current_.input.segments.slice(0, 0, rows);
    if (current_.input.mask.defined()) half.input.mask = current_.input.mask.slice(0, 0, rows);
    const torch::Tensor in_half = current_.input.picked < rows * current_.input.tokens.size(1);
    half.input.picked = current_.input.picked.masked_select(in_half);
    half.words = current_.words.masked_select(in_half);
    half.next = current_.next.slice(0, 0, rows);
    current_ = half;
    return rows;
  }

  Evaluation evaluate() override {
    torch::NoGradGuard no_grad;
    model_->eval();
    const data::LoaderOptions options =
        loader_options(settings_, place_, device_, data::Pass::eval);
    data::TextLoader loader(set_.eval, options);
    LoanRing<data::TextLoan> loans(kStepsInFlight + 1);
    const auto count = torch::TensorOptions(torch::kLong).device(device_);
    torch::Tensor words_right = torch::zeros({}, count);
    torch::Tensor next_right = torch::zeros({}, count);
    torch::Tensor loss = torch::zeros({}, torch::TensorOptions(torch::kDouble).device(device_));
    std::int64_t words = 0;
    std::int64_t rows = 0;
    while (data::TextLoan loan = loader.next()) {
      const Sentences sentences = prepare(*loan);
      rows += loan->size;
      for (std::int64_t row = 0; row < loan->size; ++row) words += loan->masked_counts[row];
      if (!device_.is_cpu()) {
        if (rows > loan->size * kStepsInFlight) torch::cuda::synchronize(device_.index());
        loans.keep(std::move(loan));
      }
      BertOutput output;
      {
        const AutocastScope autocast(device_, settings_.precision);
        output = model_->forward(sentences.input);
      }
      words_right += (output.words.argmax(1) == sentences.words).sum();
      next_right += (output.next.argmax(1) == sentences.next).sum();
      loss += torch::cross_entropy_loss(output.words.to(torch::kFloat), sentences.words, {},
                                        torch::Reduction::Sum, data::TextBatch::ignored);
    }
    model_->train();
    return {{words_right.item<std::int64_t>(), words, next_right.item<std::int64_t>(), rows},
            {loss.item<double>()}};
  }

  Qualities qualities(const Evaluation& total) const override {
    const auto words = static_cast<double>(total.counts[1]);
    return {
        {"mlm_acc", static_cast<double>(total.counts[0]) / words},
        {"nsp_acc", static_cast<double>(total.counts[2]) / static_cast<double>(total.counts[3])},
        {"loss", total.sums[0] / words}};
  }
  double best_quality() const override {
    return set_.info.best_mlm_accuracy ? set_.info.best_mlm_accuracy->value : 0;
  }
  double flops_per_sample() const override {
    return flops_ + prediction_flops_ * static_cast<double>(set_.info.masked);
  }

  bool skip(BatchWork& work) override {
    const data::TextLoan loan = loader_->next();
    if (!loan) return false;
    work = work_of(*loan);
    work.flops = 0;
    return true;
  }

 private:
  BatchWork work_of(const data::TextBatch& batch) const {
    BatchWork work;
    work.samples = static_cast<double>(batch.size);
    double predictions = 0;
    for (std::int64_t row = 0; row < batch.size; ++row) {
      work.tokens += batch.lengths[row];
      predictions += batch.masked_counts[row];
    }
    work.flops = work.samples * flops_ + predictions * prediction_flops_;
    return work;
  }

  torch::Tensor send(std::int32_t* values, std::vector<std::int64_t> shape) const {
    const torch::Tensor host = torch::from_blob(values, shape, torch::kInt);
    return host.to(device_, /*non_blocking=*/true).to(torch::kLong);
  }

  Sentences prepare(const data::TextBatch& batch) const {
    const std::int64_t rows = batch.size;
    const std::int64_t length = batch.shape.sequence;
    const std::int64_t most = batch.shape.masked;
    Sentences out;
    out.input.tokens = send(batch.tokens, {rows, length});
    out.input.segments = send(batch.segments, {rows, length});
    out.next = send(batch.nsp_labels, {rows});
    if (std::any_of(batch.lengths, batch.lengths + rows, [&](int n) { return n < length; })) {
      const torch::Tensor lengths = send(batch.lengths, {rows}).unsqueeze(1);
      const torch::Tensor places =
          torch::arange(length, torch::TensorOptions(torch::kLong).device(device_)).unsqueeze(0);
      out.input.mask =
          (places >= lengths).to(torch::kFloat).mul_(kMasked).view({rows, 1, 1, length});
    }
    if (device_.is_cpu()) {
      // Only the slots in use; a device rather has the same shapes in every step.
      std::vector<std::int64_t> picked;
      std::vector<std::int64_t> words;
      for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t i = 0; i < batch.masked_counts[row]; ++i) {
          picked.push_back(row * length + batch.masked_positions[row * most + i]);
          words.push_back(batch.masked_labels[row * most + i]);
        }
      out.input.picked = torch::tensor(picked, torch::kLong);
      out.words = torch::tensor(words, torch::kLong);
      return out;
    }
    const torch::Tensor first =
        torch::arange(rows, torch::TensorOptions(torch::kLong).device(device_)).unsqueeze(1) *
        length;
    out.input.picked = (send(batch.masked_positions, {rows, most}) + first).flatten();
    out.words = send(batch.masked_labels, {rows, most}).flatten();
    return out;
  }

  Settings settings_;
  Place place_;
  torch::Device device_;
  data::TextSet set_;
  Bert model_{nullptr};
  double flops_ = 0;             // of a sequence without predictions
  double prediction_flops_ = 0;  // of each prediction
  std::unique_ptr<data::TextLoader> loader_;
  data::Position position_;
  Sentences current_;
  LoanRing<data::TextLoan> loans_;
};

}  // namespace

std::unique_ptr<Task> make_text_task(const Settings& settings, const Place& place,
                                     torch::Device device) {
  return std::make_unique<TextTask>(settings, place, device);
}

}  // namespace assay::train
