#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "core/text.h"
#include "report/mllog.h"
#include "report/mllog_settings.h"

namespace assay::report {

namespace {

// Benchmarks of MLPerf Training in all rulesets since 1.0.
constexpr std::array<std::string_view, 22> kBenchmarks{"bert",
                                                       "dlrm",
                                                       "dlrm_dcnv2",
                                                       "flux1",
                                                       "gnn",
                                                       "gpt3",
                                                       "llama2_70b_lora",
                                                       "llama31_405b",
                                                       "llama31_8b",
                                                       "maskrcnn",
                                                       "minigo",
                                                       "resnet",
                                                       "retinanet",
                                                       "rgat",
                                                       "rnnt",
                                                       "ssd",
                                                       "stable_diffusion",
                                                       "unet3d",
                                                       "cosmoflow",
                                                       "deepcam",
                                                       "oc20",
                                                       "openfold"};

/// The closed division's requirements for a benchmark that Assay can train.
struct Closed {
  std::string_view benchmark;
  double quality;  ///< to be reached by one evaluation
  std::vector<std::string> settings;
};

const std::vector<Closed>& closed_division() {
  static const std::vector<Closed> kAll{
      {"bert",
       0.72,
       {"global_batch_size", "gradient_accumulation_steps", "opt_base_learning_rate",
        "opt_lamb_epsilon", "opt_learning_rate_training_steps", "opt_learning_rate_warmup_steps",
        "num_warmup_steps", "start_warmup_step", "opt_lamb_beta_1", "opt_lamb_beta_2",
        "opt_lamb_weight_decay_rate"}},
      {"resnet",
       0.759,
       {"global_batch_size", "gradient_accumulation_steps", "opt_name", "model_bn_span"}}};
  return kAll;
}

/// For ResNet with SGD: EXACTLY_ONE requires these even if the schedule does not use them.
constexpr std::array<const char*, 6> kResnetSgd{
    "sgd_opt_base_learning_rate",        "sgd_opt_end_learning_rate",
    "sgd_opt_learning_rate_decay_steps", "sgd_opt_learning_rate_decay_poly_power",
    "opt_learning_rate_warmup_epochs",   "opt_learning_rate_decay_boundary_epochs"};

std::string missing_settings(const judge::CaseResult& result, const MllogContext& context,
                             std::vector<std::string> wanted) {
  for (const MllogSetting& setting : mllog_settings(result, context))
    std::erase(wanted, setting.key);
  return join(wanted, ", ");
}

std::optional<double> best_quality(const judge::RoundResult& round, const MllogContext& context) {
  std::optional<double> best;
  for (const judge::EvaluationResult& evaluation : round.evaluations)
    if (const auto quality = mllog_quality(evaluation, context))
      best = std::max(best.value_or(quality->second), quality->second);
  return best;
}

}  // namespace

std::vector<std::string> mllog_obstacles(const judge::CaseResult& result,
                                         const judge::RoundResult& round,
                                         const MllogContext& context) {
  std::vector<std::string> out;
  const std::string benchmark = mllog_benchmark(result, context);
  if (std::ranges::find(kBenchmarks, benchmark) == kBenchmarks.end())
    out.push_back(fmt::format(
        "MLPerf has no benchmark '{}'{}: no ruleset accepts the log; where the case is one of its "
        "benchmarks, name it with submission.benchmark",
        benchmark,
        did_you_mean(benchmark, std::vector<std::string>(kBenchmarks.begin(), kBenchmarks.end()))));
  if (!mllog_train_samples(round, context))
    out.emplace_back(
        "the samples of an epoch are not known, hence no epoch_num: say train_samples in the "
        "case's config or declared");
  if (find_config(context.config, {"eval_samples", "num_eval_samples", "eval_size"}) == nullptr)
    out.emplace_back("eval_samples is not known (null): say it in the case's config or declared");
  const bool measured = std::ranges::any_of(round.evaluations, [&](const auto& evaluation) {
    return mllog_quality(evaluation, context).has_value();
  });
  if (!measured && !round.evaluations.empty())
    out.emplace_back("no evaluation reports an accuracy or the target's metric");
  if (context.division != "closed") return out;
  const auto closed = std::ranges::find(closed_division(), benchmark, &Closed::benchmark);
  if (closed == closed_division().end()) {
    if (out.empty())
      out.push_back(fmt::format(
          "what the closed division asks of '{}' is not known here: run MLPerf's checker",
          benchmark));
    return out;
  }
  std::vector<std::string> wanted = closed->settings;
  const Json* optimizer = find_config(context.config, {"opt_name", "optimizer"});
  if (benchmark == "resnet" && optimizer != nullptr && *optimizer == "sgd")
    wanted.insert(wanted.end(), kResnetSgd.begin(), kResnetSgd.end());
  if (const std::string missing = missing_settings(result, context, std::move(wanted));
      !missing.empty())
    out.push_back("the closed division asks for " + missing +
                  ": say them in the case's config or declared");
  if (const auto best = best_quality(round, context); !best || *best < closed->quality)
    out.push_back(fmt::format("the closed division asks for a quality of {}; the best is {}",
                              closed->quality, best ? fmt::format("{:.4g}", *best) : "not known"));
  return out;
}

}  // namespace assay::report
