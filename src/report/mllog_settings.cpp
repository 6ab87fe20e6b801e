#include "report/mllog_settings.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

#include "judge/evaluations.h"

namespace assay::report {

namespace {

// Settings with different names in a configuration and in the log.
constexpr std::array<std::pair<const char*, const char*>, 9> kRenamed{{
    {"max_sequence_length", "max_seq_length"},
    {"opt_name", "optimizer"},
    {"opt_base_learning_rate", "learning_rate"},
    {"opt_base_learning_rate", "lr"},
    {"opt_end_learning_rate", "end_learning_rate"},
    {"opt_learning_rate_warmup_steps", "warmup_steps"},
    {"opt_weight_decay", "weight_decay"},
    {"opt_gradient_clip_norm", "max_grad_norm"},
    {"gradient_accumulation_steps", "accumulation"},
}};

// Settings that keep their names: these, and any that begin with one of them.
constexpr std::array<std::string_view, 10> kKept{"gradient_accumulation_steps",
                                                 "max_steps",
                                                 "max_sequence_length",
                                                 "num_warmup_steps",
                                                 "start_warmup_step",
                                                 "model_bn_span",
                                                 "lr_decay_start_steps",
                                                 "init_checkpoint_step",
                                                 "lars_epsilon",
                                                 "max_samples"};
constexpr std::array<std::string_view, 5> kKeptBeginnings{"opt_", "sgd_opt_", "lars_opt_", "lora_",
                                                          "opt_lamb_"};

bool is_kept(std::string_view key) {
  return std::ranges::find(kKept, key) != kKept.end() ||
         std::ranges::any_of(kKeptBeginnings,
                             [&](std::string_view begin) { return key.starts_with(begin); });
}

class Settings {
 public:
  explicit Settings(const Json& config) : config_(config) {}

  void add(const std::string& key, const Json& value, std::string note = {}) {
    if (std::ranges::find(out_, key, &MllogSetting::key) == out_.end())
      out_.push_back({key, value, std::move(note)});
  }
  void add_from(const std::string& key, const char* name) {
    if (const Json* value = find_config(config_, {name})) add(key, *value);
  }
  /// Skips 0, which stands for something that is computed later.
  void add_positive(const std::string& key, const char* name) {
    const Json* value = find_config(config_, {name});
    if (value != nullptr && value->is_number() && value->get<double>() > 0) add(key, *value);
  }

  std::vector<MllogSetting> take() { return std::move(out_); }

 private:
  const Json& config_;
  std::vector<MllogSetting> out_;
};

// The epochs at which the rate falls; only a step schedule has them. Empty if none.
Json boundary_epochs(const Json& config) {
  Json out = Json::array();
  const Json* schedule = find_config(config, {"schedule"});
  const Json* epochs = find_config(config, {"epochs"});
  const auto milestones = config.find("milestones");
  if (schedule == nullptr || *schedule != "step" || epochs == nullptr || !epochs->is_number() ||
      milestones == config.end() || !milestones->is_array())
    return out;
  for (const Json& share : *milestones)
    if (share.is_number()) out.push_back(whole_number(share.get<double>() * epochs->get<double>()));
  return out;
}

// Knowledge about Assay's own training program: the formulas of train/optim.
void add_own(Settings& settings, const Json& config) {
  const Json* optimizer = find_config(config, {"optimizer"});
  const std::string name =
      optimizer != nullptr && optimizer->is_string() ? optimizer->get<std::string>() : "";
  if (name.empty()) return;
  settings.add("gradient_accumulation_steps", 1);
  if (name == "lamb" || name == "adamw") {
    const std::string prefix = "opt_" + name + "_";
    settings.add_from(prefix + "beta_1", "beta1");
    settings.add_from(prefix + "beta_2", "beta2");
    settings.add_from(prefix + "epsilon", "epsilon");
    settings.add_from(prefix + (name == "lamb" ? "weight_decay_rate" : "weight_decay"),
                      "weight_decay");
    settings.add_positive("opt_learning_rate_training_steps", "max_steps");
    settings.add_from("num_warmup_steps", "warmup_steps");
    settings.add("start_warmup_step", 0);
    return;
  }
  const std::string prefix = name + "_opt_";
  settings.add_from(prefix + "base_learning_rate", "learning_rate");
  const Json* fraction = find_config(config, {"final_lr_fraction"});
  const Json* rate = find_config(config, {"learning_rate"});
  if (fraction != nullptr && rate != nullptr && fraction->is_number() && rate->is_number())
    settings.add(prefix + "end_learning_rate", fraction->get<double>() * rate->get<double>());
  settings.add_from(prefix + "learning_rate_decay_poly_power", "power");
  settings.add_positive(prefix + "learning_rate_decay_steps", "max_steps");
  if (const Json boundaries = boundary_epochs(config); name == "sgd" && !boundaries.empty())
    settings.add("opt_learning_rate_decay_boundary_epochs", boundaries);
  settings.add_from(prefix + "momentum", "momentum");
  settings.add_from(prefix + "weight_decay", "weight_decay");
  const std::string warmup = name == "lars" ? "lars_opt_" : "opt_";
  settings.add_from(warmup + "learning_rate_warmup_epochs", "warmup_epochs");
  // Every rank uses the statistics of its own batch.
  settings.add_from("model_bn_span", "batch_size");
}

// If the batch size was left to the program, the one that all rounds used, if it was the same.
Json with_used_batch(Json config, const judge::CaseResult& result) {
  if (!config.is_object() || config.value("batch_size", Json()) != "auto") return config;
  std::set<double> used;
  for (const judge::RoundResult& round : result.rounds)
    for (const judge::Metric& metric : round.metrics)
      if (metric.info.name == "batch_size") used.insert(metric.value);
  if (used.size() == 1)
    config["batch_size"] = whole_number(*used.begin());
  else
    config.erase("batch_size");
  return config;
}

}  // namespace

const Json* find_config(const Json& config, std::initializer_list<const char*> names) {
  if (!config.is_object()) return nullptr;
  for (const char* name : names) {
    const auto found = config.find(name);
    if (found != config.end() && found->is_primitive() && !found->is_null()) return &*found;
  }
  return nullptr;
}

Json whole_number(double value) {
  if (value == std::floor(value) && std::abs(value) < 9e15) return static_cast<std::int64_t>(value);
  return value;
}

std::vector<MllogSetting> mllog_settings(const judge::CaseResult& result,
                                         const MllogContext& context) {
  const Json config = with_used_batch(context.config, result);
  Settings settings(config);
  if (const Json* batch = find_config(config, {"global_batch_size"})) {
    settings.add("global_batch_size", *batch);
  } else if (const Json* local = find_config(
                 config, {"train_batch_size", "per_gpu_train_batch_size", "batch_size"});
             local != nullptr && local->is_number()) {
    const Json* backwards = find_config(config, {"accumulation"});
    const double times =
        backwards != nullptr && backwards->is_number() ? backwards->get<double>() : 1;
    settings.add("global_batch_size",
                 whole_number(local->get<double>() * times * result.nodes * result.procs),
                 times == 1 ? "batch size of a rank times ranks"
                            : "batch size of a rank times ranks and accumulation");
  }
  for (const auto& [key, name] : kRenamed) {
    settings.add_from(key, key);
    settings.add_from(key, name);
  }
  if (config.is_object())
    for (const auto& item : config.items())
      if (is_kept(item.key()) && !item.value().is_null() && !item.value().is_object())
        settings.add(item.key(), item.value());
  if (context.own_program) add_own(settings, config);
  return settings.take();
}

std::optional<double> mllog_train_samples(const judge::RoundResult& round,
                                          const MllogContext& context) {
  const Json* said =
      find_config(context.config, {"train_samples", "num_train_samples", "train_size"});
  if (said != nullptr && said->is_number() && said->get<double>() > 0) return said->get<double>();
  return round.train_samples;
}

std::string mllog_benchmark(const judge::CaseResult& result, const MllogContext& context) {
  if (!context.benchmark.empty()) return context.benchmark;
  if (result.model == "resnet50") return "resnet";
  if (result.model == "bert-large") return "bert";
  return result.model.empty() ? result.name : result.model;
}

std::optional<std::pair<std::string, double>> mllog_quality(
    const judge::EvaluationResult& evaluation, const MllogContext& context) {
  const auto find = [&](auto fits) {
    return std::ranges::find_if(evaluation.values, [&](const auto& v) { return fits(v.first); });
  };
  auto found = evaluation.values.end();
  if (context.target_metric)
    found = find([&](const std::string& name) {
      return judge::is_target_metric(name, *context.target_metric);
    });
  for (const char* name : {"accuracy", "mlm_accuracy", "mlm_acc", "acc1", "top1", "loss"})
    if (found == evaluation.values.end())
      found = find([&](const std::string& key) { return judge::is_target_metric(key, name); });
  if (found == evaluation.values.end() || !std::isfinite(found->second)) return std::nullopt;
  return *found;
}

}  // namespace assay::report
