#include "catalog/metrics.h"

#include <algorithm>
#include <array>

#include "core/error.h"

namespace assay::catalog {

std::span<const KnownMetric> known_metrics() {
  using enum Better;
  static const std::vector<KnownMetric> kMetrics{
      // metric, title, card, headline
      {{"automl_score", "OPS", higher, "-ln(automl_error) * automl_ops"},
       "Regulated score",
       kNamedCard,
       {1}},
      {{"automl_score_exact", "OPS", higher, "-ln(automl_error) * automl_ops_exact"},
       "Regulated score, exact count",
       kNamedCard},
      {{"automl_ops", "OPS", higher, "operations of all trials by AIPerf's count / automl_time"},
       "Operations per second",
       kNamedCard},
      {{"automl_ops_exact", "OPS", higher, "operations that all trials executed / automl_time"},
       "Operations per second, exact count",
       kNamedCard},
      {{"automl_error", "ratio", lower, "1 - the best accuracy, at least half a sample's"},
       "Error",
       kNamedCard},
      {{"automl_accuracy", "ratio", higher, "the best accuracy of any trial on held-out data"},
       "Best accuracy",
       kNamedCard},
      {{"automl_time", "s", neither, "from the start of the experiment to its end, without pauses"},
       "Time of the experiment",
       kNamedCard},
      {{"automl_trials", "trials", neither, "trials that ended well"}, "Trials", kNamedCard},
      {{"automl_trials_failed", "trials", lower, "trials that failed"},
       "Failed trials",
       kNamedCard},
      {{"automl_workers", "workers", neither, "workers that joined"}, "Workers", kNamedCard},
      {{"automl_idle", "ratio", lower, "share of the workers' presence without a trial"},
       "Idle workers",
       kNamedCard},
      {{"automl_wait", "ratio", lower, "workers' waits between trials / time of their trials"},
       "Wait between trials",
       kNamedCard},
      {{"p_whole", "samples/s", higher, "samples / train_time"}, "Throughput, whole run", 1, {7}},
      {{"p_train", "samples/s", higher, "samples / (train_time - eval_time)"},
       "Throughput, training",
       2},
      {{"p_core", "samples/s", higher, "samples / (train_time - eval_time - data_time)"},
       "Throughput, core steps",
       3},
      {{"tokens_per_s", "tokens/s", higher, "tokens / train_time"}, "Tokens per second", 4, {8}},
      {{"tokens_per_s_per_device", "tokens/s/device", higher, "tokens_per_s / devices"},
       "Tokens per second and device"},
      {{"e2e_time", "s", lower, "from the first rank's exec to the last rank's exit"},
       "End-to-end time",
       6,
       {10}},
      {{"launch_time", "s", lower, "from the start of the round to the last rank's exec"},
       "Launch"},
      {{"init_time", "s", lower, "from INIT_START to INIT_END"}, "Initialisation"},
      {{"train_time", "s", lower, "from the earliest TRAIN_START to the latest TRAIN_END"},
       "Training time"},
      {{"eval_time", "s", lower, "time of all evaluations inside the training, slowest rank"},
       "Evaluation time"},
      {{"data_time", "s", lower, "waiting for input data, mean over ranks"}, "Waiting for data"},
      {{"time_to_target", "s", lower,
        "from TRAIN_START to the evaluation that first met the target"},
       "Time to target",
       7},
      {{"converged", "1", higher, "1 when the target was met, else 0"}, "Target met (1 = yes)"},
      {{"samples", "samples", neither, "samples trained by all ranks"}, "Samples"},
      {{"tokens", "tokens", neither, "tokens trained by all ranks"}, "Tokens"},
      {{"steps", "steps", neither, "training steps"}, "Steps"},
      {{"step_time_mean", "s", lower, "mean time of a step, without warm-up and evaluations"},
       "Step time, mean"},
      {{"step_time_p50", "s", lower, "median step time"}, "Step time, median", 9},
      {{"step_time_p90", "s", lower, "90th percentile of the step time"}, "Step time, p90"},
      {{"step_time_p99", "s", lower, "99th percentile of the step time"}, "Step time, p99", 10},
      {{"step_time_min", "s", lower, "shortest step"}, "Step time, shortest"},
      {{"step_time_max", "s", lower, "longest step"}, "Step time, longest"},
      {{"straggler_ratio", "1", lower,
        "own step time of the slowest rank / that of the median rank"},
       "Slowest to median rank"},
      {{"node_imbalance", "1", lower,
        "mean own step time on the slowest node / that on the median node"},
       "Slowest to median node",
       11},
      {{"scaling_efficiency", "ratio", higher,
        "throughput per rank / that of the smallest case of the same workload"},
       "Scaling efficiency",
       5},
      {{"loss_first", "1", neither, "loss of the first logged step"}, "First loss"},
      {{"loss_last", "1", lower, "loss of the last logged step"}, "Last loss", 18},
      {{"mfu", "ratio", higher, "achieved_flops / (devices * peak FLOP/s of a device)"},
       "Model FLOPs utilisation",
       12},
      {{"achieved_flops", "FLOP/s", higher, "floating-point operations of all ranks / train_time"},
       "Achieved FLOP/s",
       0,
       {6, "peak_flops"}},
      {{"peak_flops", "FLOP/s", higher, "peak of one device, as the workload measured it"},
       "Peak FLOP/s of a device"},
      {{"energy_j", "J", lower, "energy of all nodes from TRAIN_START to TRAIN_END"}, "Energy", 13},
      {{"energy_idle_baseline_w", "W", neither, "mean power of all nodes before TRAIN_START"},
       "Idle power"},
      {{"mean_power_w", "W", neither, "energy_j / train_time"}, "Mean power", 15},
      {{"max_power_w", "W", neither, "largest sum of the power of all nodes during training"},
       "Peak power"},
      {{"samples_per_joule", "samples/J", higher, "samples / energy_j"}, "Samples per joule", 14},
      {{"device_util", "ratio", higher, "mean utilisation of the devices during training"},
       "Device utilisation",
       16},
      {{"device_mem_peak_bytes", "bytes", lower, "largest memory use of a device"},
       "Peak device memory"},
      {{"cpu_util", "ratio", neither, "mean CPU utilisation of the nodes during training"},
       "CPU utilisation",
       17},
      {{"mem_peak_bytes", "bytes", lower, "largest memory use of a node"}, "Peak memory of a node"},
      {{"harness_overhead", "ratio", lower, "CPU time of an agent / e2e_time, in cores"},
       "Harness overhead"},
      {{"throughput_ratio", "samples/s", higher, "as the workload told"},
       "",
       kNamedCard,
       {2},
       true},
      {{"accuracy", "", higher, "as the workload told"}, "", kNamedCard, {0}, true},
      {{"eval_loss", "", lower, "as the workload told"}, "", kNamedCard, {0}, true},
      {{"perplexity", "", lower, "as the workload told"}, "", kNamedCard, {0}, true},
      {{"busbw_bytes_per_s", "B/s", higher, "bandwidth"}, "", kNamedCard, {3}, true},
      {{"triad_bytes_per_s", "B/s", higher, "bandwidth"}, "", kNamedCard, {4}, true},
      {{"h2d_pinned_bytes_per_s", "B/s", higher, "bandwidth"}, "", kNamedCard, {5}, true},
  };
  return kMetrics;
}

const KnownMetric* find_known_metric(std::string_view name) noexcept {
  const auto all = known_metrics();
  const auto found = std::ranges::find_if(
      all, [&](const KnownMetric& metric) { return metric.info.name == name; });
  return found == all.end() ? nullptr : &*found;
}

const KnownMetric& known_metric(std::string_view name) {
  if (const KnownMetric* metric = find_known_metric(name)) return *metric;
  throw Error(ErrorKind::internal, "no metric is named '" + std::string(name) + "'",
              "catalog/metrics.cpp", "describe it there");
}

bool MetricFamily::holds(std::string_view name) const noexcept {
  return name.size() > prefix.size() + suffix.size() && name.starts_with(prefix) &&
         name.ends_with(suffix);
}

std::span<const MetricFamily> metric_families() {
  using enum Better;
  static constexpr std::array<MetricFamily, 5> kFamilies{{
      {"final_", "", "1", neither, "quality reached"},
      {"", "_bytes_per_s", "B/s", higher, "bandwidth"},
      {"algbw_", "", "B/s", higher, "bandwidth"},
      {"busbw_", "", "B/s", higher, "bandwidth"},
      {"latency_", "", "s", lower, "mean time of one call"},
  }};
  return kFamilies;
}

const MetricFamily* find_metric_family(std::string_view name) noexcept {
  const auto all = metric_families();
  const auto found =
      std::ranges::find_if(all, [&](const MetricFamily& family) { return family.holds(name); });
  return found == all.end() ? nullptr : &*found;
}

std::span<const KnownSeries> known_series() {
  static constexpr std::array<KnownSeries, 9> kSeries{{
      {"throughput", "Throughput", "samples/s"},
      {"loss", "Loss", "1", true},
      {"cpu_util", "CPU utilisation", "ratio"},
      {"device_util", "Device utilisation", "ratio"},
      {"power", "Power", "W"},
      {"memory", "Memory", "bytes"},
      {"automl_score", "Regulated score", "OPS", true},
      {"automl_ops", "Operations per second", "OPS", true},
      {"automl_error", "Error", "ratio", true},
  }};
  return kSeries;
}

const KnownSeries* find_known_series(std::string_view name) noexcept {
  const auto all = known_series();
  const auto found = std::ranges::find(all, name, &KnownSeries::name);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace assay::catalog
