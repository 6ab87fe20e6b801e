#include "catalog/metrics.h"

#include <algorithm>
#include <array>

#include "core/error.h"

namespace assay::catalog {

std::span<const KnownMetric> known_metrics() {
  using enum Better;
  // name, unit, better, title, meaning, card, headline, beside, by the workload
  static constexpr auto kMetrics = std::to_array<KnownMetric>({
      {"automl_score", "OPS", higher, "Regulated score", "-ln(automl_error) * automl_ops",
       kNamedCard, 1},
      {"automl_score_exact", "OPS", higher, "Regulated score, exact count",
       "-ln(automl_error) * automl_ops_exact", kNamedCard},
      {"automl_ops", "OPS", higher, "Operations per second",
       "operations of all trials by AIPerf's count / automl_time", kNamedCard},
      {"automl_ops_exact", "OPS", higher, "Operations per second, exact count",
       "operations that all trials executed / automl_time", kNamedCard},
      {"automl_error", "ratio", lower, "Error", "1 - the best accuracy, at least half a sample's",
       kNamedCard},
      {"automl_accuracy", "ratio", higher, "Best accuracy",
       "the best accuracy of any trial on held-out data", kNamedCard},
      {"automl_time", "s", neither, "Time of the experiment",
       "from the start of the experiment to its end, without pauses", kNamedCard},
      {"automl_trials", "trials", neither, "Trials", "trials that ended well", kNamedCard},
      {"automl_trials_failed", "trials", lower, "Failed trials", "trials that failed", kNamedCard},
      {"automl_workers", "workers", neither, "Workers", "workers that joined", kNamedCard},
      {"automl_idle", "ratio", lower, "Idle workers",
       "share of the planned workers' time without a trial", kNamedCard},
      {"automl_wait", "ratio", lower, "Wait between trials",
       "workers' waits between trials / time of their trials", kNamedCard},
      {"steady_throughput", "samples/s", higher, "Throughput",
       "samples of the steady steps / their time, sum over ranks", 1, 8},
      {"steady_tokens_per_s", "tokens/s", higher, "Tokens per second",
       "tokens of the steady steps / their time, sum over ranks", 1, 9},
      {"steady_tokens_per_s_per_device", "tokens/s/device", higher, "Tokens per second and device",
       "steady_tokens_per_s / devices"},
      {"steady_step_time", "s", lower, "Step time", "mean time of a steady step", 2},
      {"steady_share", "ratio", neither, "Steady steps", "share of the steps that are steady"},
      {"stall_time", "s", lower, "Stalls",
       "time of the stalls between the steady steps, mean over ranks"},
      {"p_whole", "samples/s", higher, "Throughput, whole run", "samples / train_time", 3, 10},
      {"p_train", "samples/s", higher, "Throughput, training",
       "samples / (train_time - eval_time)"},
      {"p_core", "samples/s", higher, "Throughput, core steps",
       "samples / (train_time - eval_time - data_time)"},
      {"tokens_per_s", "tokens/s", higher, "Tokens per second, whole run", "tokens / train_time", 4,
       11},
      {"tokens_per_s_per_device", "tokens/s/device", higher,
       "Tokens per second and device, whole run", "tokens_per_s / devices"},
      {"e2e_time", "s", lower, "End-to-end time",
       "from the first rank's exec to the last rank's exit", 6, 13},
      {"launch_time", "s", lower, "Launch", "from the start of the round to the last rank's exec"},
      {"init_time", "s", lower, "Initialisation", "from INIT_START to INIT_END"},
      {"train_time", "s", lower, "Training time",
       "from the earliest TRAIN_START to the latest TRAIN_END"},
      {"eval_time", "s", lower, "Evaluation time",
       "time of all evaluations inside the training, slowest rank"},
      {"checkpoint_time", "s", lower, "Checkpoints",
       "time of all checkpoints inside the training, slowest rank"},
      {"data_time", "s", lower, "Waiting for data", "waiting for input data, mean over ranks"},
      {"time_to_target", "s", lower, "Time to target",
       "from TRAIN_START to the evaluation that first met the target", 7, 7},
      {"converged", "1", higher, "Target met (1 = yes)", "1 when the target was met, else 0"},
      {"samples", "samples", neither, "Samples", "samples trained by all ranks"},
      {"tokens", "tokens", neither, "Tokens", "tokens trained by all ranks"},
      {"steps", "steps", neither, "Steps", "training steps"},
      {"batch_size", "samples", neither, "Batch size",
       "samples of one rank and one backward, as FINISHED gives it"},
      {"step_time_mean", "s", lower, "Step time, mean",
       "mean time of a step, without warm-up and evaluations"},
      {"step_time_p50", "s", lower, "Step time, median", "median step time", 9},
      {"step_time_p90", "s", lower, "Step time, p90", "90th percentile of the step time"},
      {"step_time_p99", "s", lower, "Step time, p99", "99th percentile of the step time", 10},
      {"step_time_min", "s", lower, "Step time, shortest", "shortest step"},
      {"step_time_max", "s", lower, "Step time, longest", "longest step"},
      {"exposed_comm_share", "ratio", lower, "Exposed communication",
       "share of the steady steps' time in which ranks wait for others, without bubble_share"},
      {"bubble_share", "ratio", lower, "Pipeline bubble",
       "share of the steady steps' time in which ranks wait for other stages of a pipeline"},
      {"straggler_ratio", "1", lower, "Slowest to median rank",
       "own step time of the slowest rank / that of the median rank"},
      {"node_imbalance", "1", lower, "Slowest to median node",
       "mean own step time on the slowest node / that on the median node", 11},
      {"scaling_efficiency", "ratio", higher, "Scaling efficiency",
       "throughput per rank / that of the smallest case of the same workload", 5},
      {"loss_first", "1", neither, "First loss", "loss of the first logged step"},
      {"loss_last", "1", lower, "Last loss", "loss of the last logged step", 18},
      {"mfu", "ratio", higher, "Model FLOPs utilisation",
       "achieved_flops / (devices * peak FLOP/s of a device)", 12},
      {"mfu_whole", "ratio", higher, "Model FLOPs utilisation, whole run",
       "achieved_flops_whole / (devices * peak FLOP/s of a device)"},
      {"achieved_flops", "FLOP/s", higher, "Achieved FLOP/s",
       "floating-point operations of the steady steps / their time, sum over ranks", 0, 6,
       "peak_flops"},
      {"achieved_flops_whole", "FLOP/s", higher, "Achieved FLOP/s, whole run",
       "floating-point operations of all ranks / train_time"},
      {"best_flops", "FLOP/s", higher, "FLOP/s of the best step",
       "floating-point operations of the fastest step / its compute time, sum over ranks"},
      {"peak_flops", "FLOP/s", higher, "Peak FLOP/s of a device",
       "peak of one device, as the workload measured it"},
      {"energy_j", "J", lower, "Energy", "energy of all nodes from TRAIN_START to TRAIN_END", 13},
      {"energy_counter_j", "J", lower, "Energy of devices, counted",
       "energy of the devices during training by their own counters"},
      {"energy_integral_j", "J", lower, "Energy of devices, integrated",
       "energy of the same devices by integrating their power"},
      {"energy_above_idle_j", "J", lower, "Energy above idle",
       "energy_j - least power before TRAIN_START * train_time"},
      {"energy_per_sample_j", "J/sample", lower, "Energy per sample",
       "steady_power_w / steady_throughput"},
      {"energy_per_token_j", "J/token", lower, "Energy per token",
       "steady_power_w / steady_tokens_per_s"},
      {"energy_per_step_j", "J/step", lower, "Energy per step",
       "steady_power_w * steady_step_time"},
      {"energy_to_target_j", "J", lower, "Energy to target",
       "energy of all nodes from TRAIN_START to the evaluation that first met the target"},
      {"energy_idle_baseline_w", "W", neither, "Power before training",
       "mean power of all nodes before TRAIN_START"},
      {"mean_power_w", "W", neither, "Mean power", "energy_j / train_time", 15},
      {"steady_power_w", "W", neither, "Power, steady",
       "mean power of all nodes in the steady steps"},
      {"max_power_w", "W", neither, "Peak power",
       "largest sum of the power of all nodes during training"},
      {"samples_per_joule", "samples/J", higher, "Samples per joule", "samples / energy_j", 14},
      {"device_util", "ratio", higher, "Device utilisation",
       "mean utilisation of the devices during training", 16},
      {"power_limit_share", "ratio", neither, "Time at the power limit",
       "share of the steady steps' time in which the power limit held the devices back"},
      {"clock_ratio", "ratio", higher, "Clock to highest clock",
       "mean clock of the devices in the steady steps / their highest"},
      {"power_limit_loss", "ratio", lower, "Clock lost to the power limit",
       "part of the highest clock that is missing while at the power limit, in the steady steps"},
      {"device_mem_peak_bytes", "bytes", lower, "Peak device memory",
       "largest memory use of a device"},
      {"cpu_util", "ratio", neither, "CPU utilisation",
       "mean CPU utilisation of the nodes during training", 17},
      {"mem_peak_bytes", "bytes", lower, "Peak memory of a node", "largest memory use of a node"},
      {"job_mem_peak_bytes", "bytes", lower, "Peak memory of the job",
       "largest memory use of the case's own processes on a node"},
      {"harness_overhead", "ratio", lower, "Harness overhead",
       "CPU time of an agent / e2e_time, in cores"},
      {"throughput_ratio", "samples/s", higher, "Throughput, as reported",
       "as the workload reported", kNamedCard, 2, "", true},
      {"accuracy", "", higher, "Accuracy", "as the workload reported", kNamedCard, 0, "", true},
      {"eval_loss", "", lower, "Evaluation loss", "as the workload reported", kNamedCard, 0, "",
       true},
      {"perplexity", "", lower, "Perplexity", "as the workload reported", kNamedCard, 0, "", true},
      {"final_best_reachable", "1", neither, "Best reachable quality",
       "what no training can exceed on this data, as the workload reported", 0, 0, "", true},
      {"busbw_bytes_per_s", "B/s", higher, "Bus bandwidth, best size", "bandwidth", kNamedCard, 3,
       "", true},
      {"triad_bytes_per_s", "B/s", higher, "Memory bandwidth, triad", "bandwidth", kNamedCard, 4,
       "", true},
      {"copy_bytes_per_s", "B/s", higher, "Memory bandwidth, copy", "bandwidth", kNamedCard, 0, "",
       true},
      {"scale_bytes_per_s", "B/s", higher, "Memory bandwidth, scale", "bandwidth", kNamedCard, 0,
       "", true},
      {"h2d_pinned_bytes_per_s", "B/s", higher, "Host to device, pinned", "bandwidth", kNamedCard,
       5, "", true},
  });
  return kMetrics;
}

const KnownMetric* find_known_metric(std::string_view name) noexcept {
  const auto all = known_metrics();
  const auto found = std::ranges::find(all, name, &KnownMetric::name);
  return found == all.end() ? nullptr : &*found;
}

const KnownMetric& known_metric(std::string_view name) {
  if (const KnownMetric* metric = find_known_metric(name)) return *metric;
  throw Error(ErrorKind::internal, "no metric is named '" + std::string(name) + "'",
              "catalog/metrics.cpp", "describe it there");
}

bool adds_up_over_ranks(std::string_view name) noexcept {
  static constexpr std::array<std::string_view, 8> kTotals{
      "steady_throughput", "steady_tokens_per_s",  "p_whole",      "tokens_per_s",
      "achieved_flops",    "achieved_flops_whole", "automl_score", "automl_ops"};
  return std::ranges::find(kTotals, name) != kTotals.end();
}

bool MetricFamily::holds(std::string_view name) const noexcept {
  return name.size() > prefix.size() + suffix.size() && name.starts_with(prefix) &&
         name.ends_with(suffix);
}

std::span<const MetricFamily> metric_families() {
  using enum Better;
  // prefix, suffix, unit, better, description, title
  static constexpr auto kFamilies = std::to_array<MetricFamily>({
      {"final_", "", "1", neither, "quality reached", "Final {}"},
      {"h2d_", "_bytes_per_s", "B/s", higher, "bandwidth", "Host to device, {}"},
      {"d2h_", "_bytes_per_s", "B/s", higher, "bandwidth", "Device to host, {}"},
      {"", "_bytes_per_s", "B/s", higher, "bandwidth", "Bandwidth, {}"},
      {"algbw_", "", "B/s", higher, "bandwidth", "Algorithm bandwidth, {}"},
      {"busbw_", "", "B/s", higher, "bandwidth", "Bus bandwidth, {}"},
      {"latency_", "", "s", lower, "mean time of one call", "Latency, {}"},
  });
  return kFamilies;
}

const MetricFamily* find_metric_family(std::string_view name) noexcept {
  const auto all = metric_families();
  const auto found =
      std::ranges::find_if(all, [&](const MetricFamily& family) { return family.holds(name); });
  return found == all.end() ? nullptr : &*found;
}

std::span<const KnownSeries> known_series() {
  static constexpr std::array<KnownSeries, 10> kSeries{{
      {"throughput", "Throughput", "samples/s"},
      {"loss", "Loss", "1", true},
      {"cpu_util", "CPU utilisation", "ratio"},
      {"device_util", "Device utilisation", "ratio"},
      {"power", "Power", "W"},
      {"memory", "Memory of the node", "bytes"},
      {"job_memory", "Memory of the job", "bytes"},
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
