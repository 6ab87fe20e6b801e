#include <algorithm>
#include <cmath>
#include <iterator>

#include "judge/judge.h"
#include "judge/metric_set.h"

namespace assay::judge {

const std::vector<MetricInfo>& metric_catalogue() {
  using enum Better;
  static const std::vector<MetricInfo> kMetrics{
      {"automl_score", "OPS", higher, "-ln(automl_error) * automl_ops"},
      {"automl_score_exact", "OPS", higher, "-ln(automl_error) * automl_ops_exact"},
      {"automl_ops", "OPS", higher, "operations of all trials by AIPerf's count / automl_time"},
      {"automl_ops_exact", "OPS", higher, "operations that all trials executed / automl_time"},
      {"automl_error", "ratio", lower, "1 - the best accuracy, at least half a sample's"},
      {"automl_accuracy", "ratio", higher, "the best accuracy of any trial on held-out data"},
      {"automl_time", "s", neither, "from the start of the experiment to its end, without pauses"},
      {"automl_trials", "trials", neither, "trials that ended well"},
      {"automl_trials_failed", "trials", lower, "trials that failed"},
      {"automl_workers", "workers", neither, "workers that joined"},
      {"automl_idle", "ratio", lower, "share of the workers' presence without a trial"},
      {"automl_wait", "ratio", lower, "workers' waits between trials / time of their trials"},
      {"p_whole", "samples/s", higher, "samples / train_time"},
      {"p_train", "samples/s", higher, "samples / (train_time - eval_time)"},
      {"p_core", "samples/s", higher, "samples / (train_time - eval_time - data_time)"},
      {"tokens_per_s", "tokens/s", higher, "tokens / train_time"},
      {"tokens_per_s_per_device", "tokens/s/device", higher, "tokens_per_s / devices"},
      {"e2e_time", "s", lower, "from the first rank's exec to the last rank's exit"},
      {"launch_time", "s", lower, "from the start of the round to the last rank's exec"},
      {"init_time", "s", lower, "from INIT_START to INIT_END"},
      {"train_time", "s", lower, "from the earliest TRAIN_START to the latest TRAIN_END"},
      {"eval_time", "s", lower, "time of all evaluations inside the training, slowest rank"},
      {"data_time", "s", lower, "waiting for input data, mean over ranks"},
      {"time_to_target", "s", lower,
       "from TRAIN_START to the evaluation that first met the target"},
      {"converged", "1", higher, "1 when the target was met, else 0"},
      {"samples", "samples", neither, "samples trained by all ranks"},
      {"tokens", "tokens", neither, "tokens trained by all ranks"},
      {"steps", "steps", neither, "training steps"},
      {"step_time_mean", "s", lower, "mean time of a step, without warm-up and evaluations"},
      {"step_time_p50", "s", lower, "median step time"},
      {"step_time_p90", "s", lower, "90th percentile of the step time"},
      {"step_time_p99", "s", lower, "99th percentile of the step time"},
      {"step_time_min", "s", lower, "shortest step"},
      {"step_time_max", "s", lower, "longest step"},
      {"straggler_ratio", "1", lower,
       "own step time of the slowest rank / that of the median rank"},
      {"node_imbalance", "1", lower,
       "mean own step time on the slowest node / that on the median node"},
      {"scaling_efficiency", "ratio", higher,
       "throughput per rank / that of the smallest case of the same workload"},
      {"loss_first", "1", neither, "loss of the first logged step"},
      {"loss_last", "1", lower, "loss of the last logged step"},
      {"mfu", "ratio", higher, "achieved_flops / (devices * peak FLOP/s of a device)"},
      {"achieved_flops", "FLOP/s", higher, "floating-point operations of all ranks / train_time"},
      {"peak_flops", "FLOP/s", higher, "peak of one device, as the workload measured it"},
      {"energy_j", "J", lower, "energy of all nodes from TRAIN_START to TRAIN_END"},
      {"energy_idle_baseline_w", "W", neither, "mean power of all nodes before TRAIN_START"},
      {"mean_power_w", "W", neither, "energy_j / train_time"},
      {"max_power_w", "W", neither, "largest sum of the power of all nodes during training"},
      {"samples_per_joule", "samples/J", higher, "samples / energy_j"},
      {"device_util", "ratio", higher, "mean utilisation of the devices during training"},
      {"device_mem_peak_bytes", "bytes", lower, "largest memory use of a device"},
      {"cpu_util", "ratio", neither, "mean CPU utilisation of the nodes during training"},
      {"mem_peak_bytes", "bytes", lower, "largest memory use of a node"},
      {"harness_overhead", "ratio", lower, "CPU time of an agent / e2e_time, in cores"},
  };
  return kMetrics;
}

namespace {

std::size_t place_of(const std::string& name) {
  const auto& all = metric_catalogue();
  const auto at = std::ranges::find(all, name, &MetricInfo::name);
  return static_cast<std::size_t>(std::distance(all.begin(), at));
}

}  // namespace

void MetricSet::add(const std::string& name, std::optional<double> value, std::string origin,
                    std::string note) {
  const std::size_t place = place_of(name);
  if (place == metric_catalogue().size()) return;
  add(metric_catalogue()[place], value, std::move(origin), std::move(note));
}

void MetricSet::add(MetricInfo info, std::optional<double> value, std::string origin,
                    std::string note) {
  if (!value || !std::isfinite(*value) || find(info.name) != nullptr) return;
  metrics_.push_back({std::move(info), *value, std::move(origin), std::move(note)});
}

std::optional<double> MetricSet::get(const std::string& name) const {
  const Metric* metric = find(name);
  return metric == nullptr ? std::nullopt : std::optional(metric->value);
}

const Metric* MetricSet::find(const std::string& name) const {
  const auto at = std::ranges::find(
      metrics_, name, [](const Metric& m) -> const std::string& { return m.info.name; });
  return at == metrics_.end() ? nullptr : &*at;
}

std::vector<Metric> MetricSet::take() {
  std::ranges::stable_sort(metrics_, {}, [](const Metric& m) { return place_of(m.info.name); });
  return std::move(metrics_);
}

}  // namespace assay::judge
