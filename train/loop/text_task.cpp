#include "train/loop/text_task.h"

#include <algorithm>
#include <vector>

#include "train/data/text_set.h"
#include "train/loop/loader_task.h"
#include "train/models/bert.h"
#include "train/models/flops.h"

namespace assay::train {
namespace {

// Large enough to silence a position, small enough for every float format.
constexpr double kMasked = -1e9;

struct Sentences {
  BertInput input;
  torch::Tensor words;  // int64 [M], data::TextBatch::ignored for unused slots
  torch::Tensor next;   // int64 [B]
};

class TextTask final : public LoaderTask<data::TextBatch> {
 public:
  TextTask(const Settings& settings, const workload::Place& place, torch::Device device,
           const data::TextSet& set, const BertOptions& options)
      : LoaderTask(settings, place, device, set.train, set.eval), info_(set.info), model_(options) {
    flops_ = bert_flops(options, info_.sequence, 0).training();
    prediction_flops_ = bert_flops(options, info_.sequence, 1).training() - flops_;
    model_->to(device);
  }

  torch::nn::Module& model() override { return *model_; }

  std::vector<torch::Tensor*> inputs() override {
    BertInput& input = current_.input;
    return {&input.tokens, &input.segments, &input.mask,
            &input.picked, &current_.words, &current_.next};
  }

  torch::Tensor loss() override {
    const BertOutput output = forward(current_);
    return word_loss(output, current_.words, data::TextBatch::ignored, settings().label_smoothing) +
           torch::cross_entropy_loss(output.next.to(torch::kFloat), current_.next);
  }

  std::int64_t rows() const override { return current_.next.size(0); }

  void resize(std::int64_t rows) override {
    const std::int64_t had = current_.next.size(0);
    const std::int64_t length = current_.input.tokens.size(1);
    const torch::Tensor which = torch::arange(rows, current_.next.options()).remainder(had);
    const auto pick = [&](const torch::Tensor& tensor) {
      return tensor.defined() ? tensor.index_select(0, which) : tensor;
    };
    // Masked positions count across rows: each copy of the batch follows the previous one.
    const std::int64_t copies = (rows + had - 1) / had;
    const torch::Tensor offset =
        torch::arange(copies, current_.next.options()).unsqueeze(1) * (had * length);
    const torch::Tensor picked = (current_.input.picked.unsqueeze(0) + offset).flatten();
    const torch::Tensor kept = picked < rows * length;
    Sentences resized;
    resized.input.tokens = pick(current_.input.tokens);
    resized.input.segments = pick(current_.input.segments);
    resized.input.mask = pick(current_.input.mask);
    resized.input.picked = picked.masked_select(kept);
    resized.words = current_.words.repeat({copies}).masked_select(kept);
    resized.next = pick(current_.next);
    current_ = resized;
  }

  // Counts {words right, all words, next sentences right, all of them} and sums {loss of words}.
  Evaluation evaluate() override {
    const auto count = torch::TensorOptions(torch::kLong).device(device());
    torch::Tensor words_right = torch::zeros({}, count);
    torch::Tensor next_right = torch::zeros({}, count);
    torch::Tensor loss = torch::zeros({}, torch::TensorOptions(torch::kDouble).device(device()));
    std::int64_t words = 0;
    std::int64_t rows = 0;
    for_each_evaluated([&](const data::TextBatch& batch) {
      const Sentences sentences = prepare(batch);
      rows += batch.size;
      for (std::int64_t row = 0; row < batch.size; ++row) words += batch.masked_counts[row];
      const BertOutput output = forward(sentences);
      words_right += (output.words.argmax(1) == sentences.words).sum();
      next_right += (output.next.argmax(1) == sentences.next).sum();
      loss += torch::cross_entropy_loss(output.words.to(torch::kFloat), sentences.words, {},
                                        torch::Reduction::Sum, data::TextBatch::ignored);
    });
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
    return info_.best_mlm_accuracy ? info_.best_mlm_accuracy->value : 0;
  }
  double flops_per_sample() const override {
    return flops_ + prediction_flops_ * static_cast<double>(info_.masked);
  }

 protected:
  void take(const data::TextBatch& batch) override { current_ = prepare(batch); }

  BatchWork work_of(const data::TextBatch& batch) const override {
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

 private:
  BertOutput forward(const Sentences& sentences) {
    const AutocastScope autocast(device(), settings().precision);
    return model_->forward(sentences.input);
  }

  torch::Tensor send(std::int32_t* values, std::vector<std::int64_t> shape) const {
    const torch::Tensor host = torch::from_blob(values, shape, torch::kInt);
    return host.to(device(), /*non_blocking=*/true).to(torch::kLong);
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
          torch::arange(length, torch::TensorOptions(torch::kLong).device(device())).unsqueeze(0);
      out.input.mask =
          (places >= lengths).to(torch::kFloat).mul_(kMasked).view({rows, 1, 1, length});
    }
    if (device().is_cpu()) {
      // Uses only the filled slots; a device prefers constant shapes.
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
        torch::arange(rows, torch::TensorOptions(torch::kLong).device(device())).unsqueeze(1) *
        length;
    out.input.picked = (send(batch.masked_positions, {rows, most}) + first).flatten();
    out.words = send(batch.masked_labels, {rows, most}).flatten();
    return out;
  }

  data::TextSetInfo info_;
  Bert model_;
  double flops_ = 0;             // of a sequence without predictions
  double prediction_flops_ = 0;  // of each prediction
  Sentences current_;
};

struct TextWorkload {
  const char* name;
  const char* defaults;
  const char* size;  // of BertOptions::named()
};

// A new model of this kind needs only a line here.
const std::vector<TextWorkload>& text_workloads() {
  constexpr const char* kTiny =
      "{data: grammar, sequence: 64, batch_size: 32, dropout: 0, optimizer: adamw, "
      "learning_rate: 2e-3, weight_decay: 0.01, epsilon: 1e-6, clip_norm: 1, warmup_steps: 20}";
  constexpr const char* kLarge =
      "{data: text, sequence: 128, batch_size: 8, dropout: 0.1, optimizer: lamb, "
      "learning_rate: 4e-4, weight_decay: 0.01, epsilon: 1e-6, clip_norm: 1, schedule: poly, "
      "warmup_steps: 100}";
  static const std::vector<TextWorkload> all{
      {"bert-tiny", kTiny, "tiny"}, {"bert-base", kLarge, "base"}, {"bert-large", kLarge, "large"}};
  return all;
}

data::TextSetOptions read_text_set(workload::Options& options) {
  data::TextSetOptions text;
  read_set(text, data::text_set_names(), options);
  text.vocabulary = options.text("vocabulary", "",
                                 workload::per_rank("a vocab.txt; empty learns one from the text"));
  text.vocabulary_size =
      options.integer("vocabulary_size", 8192, 100, 1'000'000, "tokens of the one to learn");
  text.lower_case = options.flag("lower_case", true, "as uncased BERT models do");
  text.sequence = options.integer("sequence", 64, 16, 8192, "tokens of a sample");
  text.mask_probability =
      options.number("mask_probability", 0.15, 0.01, 0.5, "share of the tokens that are masked");
  text.masked = options.integer("max_predictions", 0, 0, 8192,
                                "masked tokens of a sample; 0 is what `mask_probability` gives");
  return text;
}

MakeTask read_text(const std::string& workload, Settings& common, workload::Options& options) {
  const data::TextSetOptions text = read_text_set(options);
  options.section("Model");
  const double dropout = options.number("dropout", 0, 0, 0.9, "of BERT's layers");
  const std::int64_t least =
      options.integer("min_vocabulary", 0, 0, 1'000'000,
                      "words of the model at least: generated text has 104, BERT 30,522");
  read_label_smoothing(common, options);
  const auto found = std::ranges::find_if(
      text_workloads(), [&](const TextWorkload& entry) { return workload == entry.name; });
  return [=, size = std::string(found->size)](const Settings& settings, const TaskSite& site,
                                              workload::PhaseLog& phases) {
    const data::TextSet set = data::open_text_set(text);
    phases.end("data");
    BertOptions bert = BertOptions::named(size);
    bert.vocabulary = std::max(set.info.vocabulary, least);
    bert.positions = std::max(bert.positions, set.info.sequence);
    bert.dropout = dropout;
    return std::make_unique<TextTask>(settings, site.place, site.device, set, bert);
  };
}

}  // namespace

TaskKind text_kind() {
  TaskKind kind{"text", {}, read_text};
  for (const TextWorkload& entry : text_workloads())
    kind.models.push_back({entry.name, entry.defaults});
  return kind;
}

}  // namespace assay::train
