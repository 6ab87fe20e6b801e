#include "train/loop/token_task.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "train/data/token_set.h"
#include "train/loop/loader_task.h"
#include "train/mesh/share_files.h"
#include "train/mesh/shared_model.h"
#include "train/mesh/stage.h"
#include "train/mesh/zero_model.h"
#include "train/models/llama_files.h"
#include "train/models/llama_ops.h"

namespace assay::train {
namespace {

constexpr std::string_view kEmbedding = "embedding";

// A workload's settings for its model, besides the size.
struct TokenSettings {
  bool cross_documents = true;  // attention does so
  Keep keep = Keep::all;
  std::string attention;
  std::string gradients;  // fp32, bf16 or auto
  bool product_trials = false;
  std::string start_from;  // weights
  std::string export_to;
  weights::TensorType export_type = weights::TensorType::f32;
};

class TokenTask final : public LoaderTask<data::TokenBatch> {
 public:
  TokenTask(const Settings& settings, const TaskSite& site, const data::TokenSet& set,
            const LlamaOptions& options, const TokenSettings& own)
      : LoaderTask(settings, site.place, site.device, set.train, set.eval),
        info_(set.info),
        own_(own),
        groups_(site.groups),
        model_(options, site.device,
               groups_ == nullptr ? LlamaShare{} : share_of(options, *groups_)),
        flops_(options.flops_per_token(info_.sequence) * static_cast<double>(info_.sequence)) {
    if (settings.precision == Precision::bf16 || settings.precision == Precision::fp8)
      type_ = torch::kBFloat16;
    if (settings.precision == Precision::fp16) type_ = torch::kHalf;
    model_->compute_in(type_);
    if (settings.precision == Precision::fp8) model_->multiply_in_fp8();
    choose_attention(own.attention, site.device);
    if (own.product_trials && settings.deterministic)
      throw Error(ErrorKind::config, "what is the fastest differs from run to run",
                  "product_trials", "leave it out, or 'deterministic'");
    time_products(own.product_trials && site.device.is_cuda());
    // Each rank reads its part of the model from the files it sees.
    if (groups_ != nullptr && !groups_->all().alone())
      groups_->all().agree("weights whose checksum is",
                           own.start_from.empty() ? 0 : checksum_of_weights(own.start_from));
    if (!own.start_from.empty()) load_share(*model_, own.start_from, info_.sequence);
    if (groups_ == nullptr) return;
    if (!own.export_to.empty() && groups_->all().rank() == 0) require_export_folder(own.export_to);
    stage_.emplace(*model_, *groups_, settings.micro_batches, own.keep);
    const Mesh& mesh = groups_->mesh();
    // Ranks with different experts have no common buffer to divide for updates (ZeRO 1).
    if (mesh.zero < (mesh.expert > 1 ? 1 : 2) || mesh.data == 1) return;
    zero_.emplace(*model_, *groups_, mesh.zero < 3);
    model_->keep_in(*zero_);
  }

  void finish() override {
    if (own_.export_to.empty()) return;
    const bool writes = groups_->all().rank() == 0;
    if (!shared_) {
      if (writes) save_llama(*model_, own_.export_to, own_.export_type);
      return;
    }
    const torch::Tensor values = shared_->gather(parameters_->values());
    if (writes)
      save_llama(*whole_model(*shared_, model_->options(), values), own_.export_to,
                 own_.export_type);
  }

  ModelShare* share(FlatParameters& parameters) override {
    parameters_ = &parameters;
    if (zero_)
      shared_ = std::make_unique<ZeroModel>(*model_, *zero_, parameters, *groups_);
    else if (groups_ != nullptr && (groups_->mesh().replica() > 1 || groups_->mesh().expert > 1))
      shared_ = std::make_unique<SharedModel>(*model_, parameters, *groups_);
    return shared_.get();
  }

  std::optional<double> waited_for_stages() const override {
    return stage_ ? stage_->waited_for_stages() : std::nullopt;
  }

  torch::nn::Module& model() override {
    if (zero_) return zero_->shards();
    return *model_;
  }

  void bind(FlatParameters& parameters) override {
    // With one backward per step, the previous content of a weight's gradient is not needed.
    // Gradients that are removed after each backward start at 0.
    if (settings().accumulation == 1 && settings().micro_batches == 1 && !zero_)
      for (const auto& [name, weight] : model_->weights()) {
        weight->overwrite = true;
        // The embedding's part is added to the output's.
        if (is_overwritten(name)) parameters.expect_overwritten(name, name == kEmbedding);
      }
    if (rounds_gradients()) parameters.round_gradients(torch::kBFloat16);
    // On a device, weights are also kept rounded; the CPU is slower in 16 bits anyway. Gathered
    // weights are rounded when gathered.
    if (!device().is_cuda() || type_ == torch::kFloat || zero_) return;
    parameters.keep_rounded(type_);
    for (const auto& [name, weight] : model_->weights()) {
      const auto entry =
          std::ranges::find(parameters.entries(), name, &FlatParameters::Entry::name);
      weight->rounded =
          FlatParameters::part(parameters.rounded(), *entry).view(weight->value.sizes());
    }
  }

  std::vector<torch::Tensor*> inputs() override { return {&current_.tokens, &current_.documents}; }

  torch::Tensor loss() override {
    const torch::Tensor logits = model_->logits(read(current_), documents(current_));
    return torch::cross_entropy_loss(logits.flatten(0, 1).to(torch::kFloat),
                                     predicted(current_).flatten());
  }

  torch::Tensor backward(double factor, const std::function<void()>& completes) override {
    return stage_->train_on(read(current_), predicted(current_), documents(current_), factor,
                            completes);
  }

  std::int64_t rows() const override { return current_.tokens.size(0); }

  std::vector<std::string> memory_savers() const override {
    std::vector<std::string> savers;
    if (own_.keep == Keep::all) savers.emplace_back("set recompute to selective or full");
    if (own_.keep == Keep::selective) savers.emplace_back("set recompute to full");
    const OptimizerOptions& optimizer = settings().optimizer;
    if (optimizer.method == "adamw" && !optimizer.small_state)
      savers.emplace_back("keep the optimizer's state in bf16 (optimizer_state)");
    savers.emplace_back("take shorter sequences");
    savers.emplace_back("share the model out over more devices ('assay-train plan' says how)");
    return savers;
  }

  void resize(std::int64_t rows) override {
    const torch::Tensor which =
        torch::arange(rows, current_.tokens.options()).remainder(current_.tokens.size(0));
    current_.tokens = current_.tokens.index_select(0, which);
    if (current_.documents.defined())
      current_.documents = current_.documents.index_select(0, which);
  }

  // Counts {right, all} and sums {loss}.
  Evaluation evaluate() override {
    torch::Tensor right = torch::zeros({}, torch::TensorOptions(torch::kLong).device(device()));
    torch::Tensor loss = torch::zeros({}, torch::TensorOptions(torch::kDouble).device(device()));
    std::int64_t total = 0;
    const auto evaluate_one = [&](const Tokens& tokens, bool counts) {
      const TokenLosses losses = stage_->losses(read(tokens), predicted(tokens), documents(tokens));
      if (!counts || !losses.sum.defined()) return;
      total += tokens.tokens.size(0) * info_.sequence;
      loss += losses.sum;
      right += losses.right;
    };
    // Ranks that share experts or parameters continue as long as any of them has a batch.
    const Mesh& mesh = groups_->mesh();
    const bool together = mesh.expert > 1 || (zero_ && mesh.zero == 3);
    const auto anybody_has_one = [&](bool own) {
      const torch::Tensor any = torch::full({}, own ? 1 : 0, right.options());
      groups_->data().largest(any);
      return any.item<std::int64_t>() != 0;
    };
    Tokens last;
    for_each_evaluated([&](const data::TokenBatch& batch) {
      if (together) static_cast<void>(anybody_has_one(true));
      last = prepare(batch);
      evaluate_one(last, true);
    });
    if (!last.tokens.defined())
      last.tokens = torch::zeros({1, info_.sequence + 1}, right.options());
    while (together && anybody_has_one(false)) evaluate_one(last, false);
    return {{right.item<std::int64_t>(), total}, {loss.item<double>()}};
  }

  Qualities qualities(const Evaluation& total) const override {
    const auto count = static_cast<double>(total.counts[1]);
    return {{"loss", total.sums[0] / count},
            {"token_acc", static_cast<double>(total.counts[0]) / count}};
  }
  bool reached(double quality, double target) const override { return quality <= target; }
  double best_quality() const override { return info_.best_loss.value_or(0); }
  double flops_per_sample() const override { return flops_; }
  std::uint32_t data_checksum() const override { return checksum_of_samples(); }
  std::string begins_with() const override { return own_.start_from; }

 protected:
  void take(const data::TokenBatch& batch) override { current_ = prepare(batch); }

  BatchWork work_of(const data::TokenBatch& batch) const override {
    // A replica's ranks work on the same rows, and each counts its part of them.
    const double ranks = groups_ == nullptr ? 1 : static_cast<double>(groups_->mesh().replica());
    const double rows = static_cast<double>(batch.size) / ranks;
    return {rows, rows * static_cast<double>(batch.shape.sequence), rows * flops_};
  }

 private:
  // A gradient that is a sum would be rounded with each addend.
  [[nodiscard]] bool rounds_gradients() const {
    if (own_.gradients == "fp32") return false;
    const auto why_not = [&]() -> std::string {
      if (!device().is_cuda() || type_ != torch::kBFloat16)
        return "products are not in bf16 or fp8 on a CUDA device";
      if (settings().accumulation > 1 || settings().micro_batches > 1)
        return "a step adds up several";
      if (groups_ != nullptr && !groups_->all().alone()) return "ranks add theirs up";
      if (settings().optimizer.method != "adamw") return "only adamw takes them";
      return {};
    }();
    if (own_.gradients == "bf16" && !why_not.empty())
      throw Error(ErrorKind::config, "gradients cannot be kept in bf16: " + why_not, "gradients",
                  "use fp32, or auto, which is bf16 where it can be");
    return why_not.empty();
  }

  // Whether every backward writes the whole gradient: not for an embedding, to whose rows it adds
  // unless the output has overwritten them, nor for experts, which may get no token.
  [[nodiscard]] bool is_overwritten(const std::string& name) const {
    if (name == kEmbedding)
      return model_->options().tied && model_->share().last(model_->options());
    return name.find(".mixture.") == std::string::npos;
  }

  struct Tokens {
    torch::Tensor tokens;     // int64 [B, S + 1]
    torch::Tensor documents;  // int32 [B, S + 1]; undefined if attention crosses them
  };

  static torch::Tensor read(const Tokens& t) { return t.tokens.narrow(1, 0, t.tokens.size(1) - 1); }
  static torch::Tensor predicted(const Tokens& t) {
    return t.tokens.narrow(1, 1, t.tokens.size(1) - 1);
  }
  static torch::Tensor documents(const Tokens& t) {
    return t.documents.defined() ? t.documents.narrow(1, 0, t.documents.size(1) - 1)
                                 : torch::Tensor();
  }

  Tokens prepare(const data::TokenBatch& batch) const {
    const auto send = [&](std::int32_t* values) {
      return torch::from_blob(values, {batch.size, batch.shape.row()}, torch::kInt)
          .to(device(), /*non_blocking=*/true);
    };
    Tokens out{send(batch.tokens).to(torch::kLong), {}};
    // Copied on the CPU too, because the buffer will be refilled.
    if (!own_.cross_documents) {
      out.documents = send(batch.documents);
      if (device().is_cpu()) out.documents = out.documents.clone();
    }
    return out;
  }

  data::TokenSetInfo info_;
  TokenSettings own_;
  MeshGroups* groups_;
  Llama model_;
  std::optional<LlamaStage> stage_;
  std::optional<ZeroUnits> zero_;       // for ZeRO 2 and 3
  std::unique_ptr<ModelShare> shared_;  // nullptr: each rank has the whole model
  FlatParameters* parameters_ = nullptr;
  double flops_;  // per row
  torch::ScalarType type_ = torch::kFloat;
  Tokens current_;
};

struct TokenWorkload {
  const char* name;
  const char* defaults;
  const char* size;  // of LlamaOptions::named()
};

// A new model of this kind needs only a line here.
const std::vector<TokenWorkload>& token_workloads() {
  constexpr const char* kTiny =
      "{sequence: 128, batch_size: 16, optimizer: adamw, learning_rate: 6e-3, beta2: 0.95, "
      "weight_decay: 0.01, clip_norm: 1, warmup_steps: 20, final_lr_fraction: 0.1}";
  constexpr const char* kLarge =
      "{sequence: 4096, batch_size: 1, optimizer: adamw, learning_rate: 3e-4, beta2: 0.95, "
      "weight_decay: 0.1, clip_norm: 1, warmup_steps: 100, final_lr_fraction: 0.1, "
      "eval_size: 16}";
  static const std::vector<TokenWorkload> all{
      {"llama-tiny", kTiny, "tiny"},   {"llama-125m", kLarge, "125m"}, {"llama-1b", kLarge, "1b"},
      {"llama-3b", kLarge, "3b"},      {"llama-8b", kLarge, "8b"},     {"llama-70b", kLarge, "70b"},
      {"moe-tiny", kTiny, "moe-tiny"}, {"moe-4b", kLarge, "moe-4b"}};
  return all;
}

data::TokenSetOptions read_token_set(workload::Options& options) {
  data::TokenSetOptions set;
  read_set(set, data::token_set_names(), options);
  set.vocabulary_size = options.integer(
      "vocabulary_size", 0, 0, 1 << 20,
      "tokens of the one to learn; 0 is as many as a generated language's model has, and else the "
      "set's default");
  set.tokenizer =
      options.text("tokenizer", "",
                   workload::per_rank("a tokenizer.json; without, of text one is learnt, of an "
                                      "indexed set the one beside it is taken"));
  set.sequence = options.integer("sequence", 128, 8, 1 << 20, "tokens of a sample");
  return set;
}

LlamaOptions read_llama(const std::string& size, workload::Options& options) {
  options.section("Model");
  LlamaOptions model = LlamaOptions::named(size);
  const auto or_own = [](std::int64_t value, std::int64_t own) { return value > 0 ? value : own; };
  model.vocabulary = or_own(
      options.integer("min_vocabulary", 0, 0, 1'000'000,
                      "words of the model at least: generated text has 104, BERT 30,522; 0 is "
                      "Llama's own, 128,256 but for tiny (64) and 125m (32,000)"),
      model.vocabulary);
  model.layers =
      or_own(options.integer("layers", 0, 0, 1000, "of Llama; 0 is the model's own"), model.layers);
  const std::string tied =
      options.choice("tied", "auto", {"auto", "yes", "no"},
                     "one matrix for Llama's input and output; auto is as the model has it");
  if (tied != "auto") model.tied = tied == "yes";
  model.qk_norm = options.flag("qk_norm", false, "RMSNorm of each head's queries and keys");
  model.balance = options.number("expert_balance", model.balance, 0, 10,
                                 "of a mixture: weight of the loss by which its experts are used "
                                 "alike");
  return model;
}

// Reads how ranks share the model, besides `zero`.
void read_mesh(Settings& settings, workload::Options& options) {
  options.section("Mesh");
  Mesh& mesh = settings.mesh;
  mesh.tensor = options.integer("tensor_parallel", 1, 1, 1024,
                                "ranks that share each matrix, and between the matrices the tokens "
                                "of each sequence; neighbours");
  mesh.pipeline =
      options.integer("pipeline_parallel", 1, 1, 1024, "stages of blocks, one after another");
  mesh.expert = options.integer("expert_parallel", 1, 1, 1024,
                                "ranks with other data that share the experts of a mixture");
  settings.micro_batches =
      options.integer("micro_batches", 1, 1, 1 << 16,
                      "parts in which a rank's batch goes through the model (1F1B): more of them "
                      "wait less for other stages");
}

// Checks that the batch fits its parts, and the model its mesh.
void require_fit(const Settings& settings, const LlamaOptions& model, std::int64_t sequence,
                 MeshGroups& groups) {
  const Mesh& mesh = groups.mesh();
  if (settings.batch_size == kAutoBatch && (mesh.replica() > 1 || settings.micro_batches > 1))
    throw Error(ErrorKind::config, "a batch that ranks or stages share cannot be found by trials",
                "batch_size", "give a number");
  if (settings.batch_size % settings.micro_batches != 0)
    throw Error(ErrorKind::config,
                fmt::format("a batch of {} cannot be cut into {} parts", settings.batch_size,
                            settings.micro_batches),
                "micro_batches", "use a number that divides batch_size");
  require_mesh(mesh, model, groups.all().world_size());
  if (mesh.zero > 1 && settings.optimizer.method != "adamw" && settings.optimizer.method != "sgd")
    throw Error(ErrorKind::config,
                settings.optimizer.method +
                    " needs the norms of whole tensors, of which ranks "
                    "have parts only",
                "zero", "use 'optimizer: adamw' or 'zero: 0'");
  require_sequence(mesh, sequence);
}

MakeTask read_token(const std::string& workload, Settings& common, workload::Options& options) {
  data::TokenSetOptions tokens = read_token_set(options);
  const auto found = std::ranges::find_if(
      token_workloads(), [&](const TokenWorkload& entry) { return workload == entry.name; });
  const LlamaOptions model = read_llama(found->size, options);
  if (tokens.set == "language" && tokens.vocabulary_size == 0)
    tokens.vocabulary_size = model.vocabulary;
  TokenSettings own;
  own.cross_documents = options.flag(
      "cross_documents", true,
      "attention looks beyond the document that a token belongs to; without, it is slower on CUDA");
  own.keep = *parse_enum<Keep>(options.choice(
      "recompute", "none", enum_texts<Keep>(),
      "what is computed again in backward instead of being kept: selective is norms and SwiGLU, by "
      "kernels of our own on CUDA; full is each block from its input, a third more work"));
  own.attention = options.choice("attention", "auto", attention_kernels(),
                                 "on CUDA: whose kernels; auto is libtorch's choice");
  own.gradients = options.choice(
      "gradients", "auto", {"auto", "fp32", "bf16"},
      "how the gradients of matrices are kept: bf16, which saves 2 bytes a parameter, rounds each "
      "once; auto is bf16 on one CUDA device in bf16 and fp8 with adamw and one batch a step");
  own.product_trials = options.flag(
      "product_trials", false,
      "on CUDA, in bf16 and fp16: time cuBLAS's algorithms for each product at its first use, "
      "about half a minute in all, instead of taking those that it predicts");
  own.start_from =
      options.text("weights", "",
                   workload::per_rank(
                       "a folder or file of safetensors with Hugging Face's names to begin with"));
  own.export_to = options.text(
      "export", "",
      workload::per_rank(
          "a folder: the weights at the end, as safetensors with Hugging Face's names; with "
          "`ema_decay` their average"));
  own.export_type = options.choice("export_type", "fp32", {"fp32", "bf16"}, "of `export`") == "bf16"
                        ? weights::TensorType::bf16
                        : weights::TensorType::f32;
  read_mesh(common, options);
  return [=](const Settings& settings, const TaskSite& site, workload::PhaseLog& phases) {
    const data::TokenSet set = data::open_token_set(tokens);
    phases.end("data");
    LlamaOptions llama = model;
    llama.vocabulary = std::max(set.info.vocabulary, llama.vocabulary);
    if (site.groups != nullptr) require_fit(settings, llama, set.info.sequence, *site.groups);
    return std::make_unique<TokenTask>(settings, site, set, llama, own);
  };
}

}  // namespace

TaskKind token_kind() {
  TaskKind kind{"token", {}, read_token, /*shares_model=*/true, /*fp8=*/true};
  for (const TokenWorkload& entry : token_workloads())
    kind.models.push_back({entry.name, entry.defaults});
  return kind;
}

}  // namespace assay::train
