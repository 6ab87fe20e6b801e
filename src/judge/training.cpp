#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/text.h"
#include "judge/evaluations.h"
#include "judge/round_context.h"
#include "stats/descriptive.h"

namespace assay::judge {

namespace {

struct Amount {
  double value = 0;
  std::string note;
};

// A window that begins at the end of the first step excludes that step's work.
double in_window(const RoundContext& round, const Total& total) {
  return round.train_from_first_step ? total.sum - total.first : total.sum;
}

std::optional<Amount> amount(const RoundContext& round, Total RankLog::*own, Total RankLog::*global,
                             std::string_view name) {
  std::optional<Amount> result;
  for (const RankEvidence& rank : round.evidence.ranks) {
    const Total& total = rank.log.*own;
    if (!total.known) continue;
    if (!result) result = Amount{};
    result->value += in_window(round, total);
  }
  if (result) return result;
  for (const RankEvidence& rank : round.evidence.ranks) {
    const Total& total = rank.log.*global;
    if (!total.known) continue;
    const double value = in_window(round, total);
    if (!result || value > result->value)
      result = Amount{value, fmt::format("from global_{} of rank {}", name, rank.rank)};
  }
  return result;
}

// num_trained_samples counts over all ranks since the training began, or since a checkpoint.
std::optional<Amount> trained_samples(const RoundContext& round) {
  std::optional<Amount> result;
  for (const RankEvidence& rank : round.evidence.ranks) {
    const RankLog& log = rank.log;
    if (!log.trained_first || !log.trained_last) continue;
    const bool resumed = log.trained_stride > 0 && *log.trained_first > 1.5 * log.trained_stride;
    const double base = resumed || round.train_from_first_step ? *log.trained_first : 0;
    const double value = *log.trained_last - base;
    if (value <= 0 || (result && value <= result->value)) continue;
    result = Amount{value, fmt::format("from num_trained_samples of rank {}{}", rank.rank,
                                       resumed ? ", without the first interval: it went on from a "
                                                 "checkpoint"
                                               : "")};
  }
  return result;
}

const perflog::FinishedSummary* finished_of(const RoundContext& round) {
  for (const RankEvidence& rank : round.evidence.ranks)
    if (rank.log.finished) return &*rank.log.finished;
  return nullptr;
}

// A number from the first FINISHED.
std::optional<double> finished_number(const RoundContext& round, std::string_view name) {
  for (const RankEvidence& rank : round.evidence.ranks) {
    if (!rank.log.finished) continue;
    for (const auto& [key, value] : rank.log.finished_values)
      if (key == name) return value;
    break;
  }
  return std::nullopt;
}

// The ranks' evaluation time; nothing if an evaluation's duration is unknown.
std::optional<double> compute_eval_time(RoundContext& round) {
  std::optional<double> slowest;
  bool untimed = false;
  for (const RankEvidence& rank : round.evidence.ranks) {
    if (rank.log.evaluations.empty()) continue;
    const EvaluationWindows windows = evaluation_windows(round.timeline, rank, *round.train);
    untimed = untimed || !windows.untimed.empty();
    // Processes that share a log evaluate at the same time, so their times overlap.
    const bool shared = round.plan.launch != plan::LaunchMode::per_rank;
    const double seconds = shared ? windows.covered : windows.sum;
    slowest = std::max(slowest.value_or(0), seconds);
  }
  if (untimed) return std::nullopt;
  round.metrics.add("eval_time", slowest, round.clock_origin);
  return slowest.value_or(0);
}

void compute_checkpoint_time(RoundContext& round) {
  std::optional<double> slowest;
  for (const RankEvidence& rank : round.evidence.ranks) {
    double seconds = 0;
    for (const Window& window : checkpoint_windows(round.timeline, rank, *round.train))
      seconds += window.length();
    if (seconds > 0) slowest = std::max(slowest.value_or(0), seconds);
  }
  round.metrics.add("checkpoint_time", slowest, round.clock_origin);
}

std::optional<double> compute_data_time(RoundContext& round) {
  std::vector<double> waits;
  for (const RankEvidence& rank : round.evidence.ranks) {
    if (!rank.log.data_s.known) continue;
    const auto processes = static_cast<double>(std::max<std::size_t>(1, rank.log.tracks.size()));
    waits.push_back(in_window(round, rank.log.data_s) / processes);
  }
  const auto mean = stats::mean(waits);
  round.metrics.add("data_time", mean);
  return mean;
}

// For a restarted training, the time of all attempts counts.
void add_instead_of_steady(RoundContext& round, const std::string& name, double rate,
                           const std::string& note) {
  if (round.began_again)
    round.metrics.add(name, rate, worst(round.train_origin, Origin::estimated),
                      both("of the whole training: it began again", note));
}

void compute_throughput(RoundContext& round) {
  if (!round.train) return;
  const double train = round.train->length();
  const auto eval = compute_eval_time(round);
  compute_checkpoint_time(round);
  const auto data = compute_data_time(round);
  auto samples = amount(round, &RankLog::samples, &RankLog::global_samples, "samples");
  if (!samples) samples = trained_samples(round);
  if (samples && samples->value > 0) {
    const std::string note = both(samples->note, round.train_note);
    const Origin origin = round.train_origin;
    round.metrics.add("samples", samples->value, Origin::measured, samples->note);
    round.metrics.add("p_whole", samples->value / train, origin, note);
    add_instead_of_steady(round, "steady_throughput", samples->value / train, note);
    if (eval && train - *eval > 0)
      round.metrics.add("p_train", samples->value / (train - *eval), origin, note);
    if (eval && data && train - *eval - *data > 0)
      round.metrics.add("p_core", samples->value / (train - *eval - *data), origin, note);
  }
  const auto tokens = amount(round, &RankLog::tokens, &RankLog::global_tokens, "tokens");
  if (tokens && tokens->value > 0) {
    const std::string note = both(tokens->note, round.train_note);
    round.metrics.add("tokens", tokens->value, Origin::measured, tokens->note);
    round.metrics.add("tokens_per_s", tokens->value / train, round.train_origin, note);
    const double per_device = tokens->value / train / round.plan.world_size();
    round.metrics.add("tokens_per_s_per_device", per_device, round.train_origin, note);
    add_instead_of_steady(round, "steady_tokens_per_s", tokens->value / train, note);
    add_instead_of_steady(round, "steady_tokens_per_s_per_device", per_device, note);
  }
  double flops = 0;
  bool flops_known = false;
  for (const RankEvidence& rank : round.evidence.ranks) {
    flops_known = flops_known || rank.log.flops.known;
    flops += in_window(round, rank.log.flops);
  }
  if (!flops_known || flops <= 0) return;
  add_flops(round, "_whole", flops / train, round.train_origin, round.train_note);
  // Values already added for the steady steps stay.
  add_flops(round, "", flops / train, round.train_origin,
            both("of the whole training: no steady steps are known", round.train_note));
}

// The workload's own figures: they replace what could not be measured and are compared with the
// rest.
void compute_reported(RoundContext& round) {
  const perflog::FinishedSummary* finished = finished_of(round);
  if (finished == nullptr) return;
  const bool tokens = finished->rate_unit == "tokens/s";
  const std::string note =
      finished->rate_unit.empty() ? "by FINISHED" : "by FINISHED, in " + finished->rate_unit;
  const std::string whole = tokens ? "tokens_per_s" : "p_whole";
  std::optional<Amount> mismatch;
  const auto compare = [&](const std::string& name, std::optional<double> reported) {
    const auto measured = round.metrics.get(name);
    if (!measured || !reported || *reported <= 0) return;
    const double off = std::abs(*measured / *reported - 1);
    if (!mismatch || off > mismatch->value)
      mismatch = Amount{off, fmt::format("{} is {:.4g} by the log and {:.4g} by FINISHED", name,
                                         *measured, *reported)};
  };
  compare(whole, finished->p_whole);
  compare("samples", finished_number(round, "num_trained_samples"));
  if (mismatch) round.fact("reported_mismatch", mismatch->value, mismatch->note);
  round.metrics.add(whole, finished->p_whole, Origin::reported, note);
  if (tokens && finished->p_whole)
    round.metrics.add("tokens_per_s_per_device", *finished->p_whole / round.plan.world_size(),
                      Origin::reported, note);
  // Figures that could not be measured (no data_s, untimed evaluations) are shown as reported.
  if (!tokens) {
    round.metrics.add("p_train", finished->p_train, Origin::reported, note);
    round.metrics.add("p_core", finished->p_core, Origin::reported, note);
  }
  // A value longer than the ranks' life is a finding, not a time.
  const auto lived = round.metrics.get("e2e_time");
  const auto only_reported = [&](const char* name) {
    const Metric* metric = round.metrics.find(name);
    return metric != nullptr && metric->origin == Origin::reported;
  };
  if (lived && (only_reported("p_whole") || only_reported("tokens_per_s")))
    round.fact("unmeasured_throughput_s", *lived, "of FINISHED");
  if (finished->train_time_s && *finished->train_time_s > 0 &&
      (!lived || *finished->train_time_s <= *lived * 1.001 + 0.1))
    round.metrics.add("train_time", finished->train_time_s, Origin::reported, "by FINISHED");
  round.metrics.add("init_time", finished->init_time_s, Origin::reported, "by FINISHED");
  round.metrics.add("batch_size", finished_number(round, "batch_size"), Origin::reported,
                    "by FINISHED");
  if (finished->peak_flops && *finished->peak_flops > 0)
    round.metrics.add("peak_flops", finished->peak_flops, Origin::reported, "by FINISHED");
}

void compute_losses(RoundContext& round) {
  for (const RankEvidence& rank : round.evidence.ranks) {
    if (rank.log.tracks.empty()) continue;
    const std::vector<Step>& steps = rank.log.tracks.front().steps;
    const auto known = [](const Step& step) { return std::isfinite(step.loss); };
    const auto first = std::ranges::find_if(steps, known);
    if (first == steps.end()) continue;
    round.metrics.add("loss_first", first->loss);
    const bool broken = rank.log.nonfinite_losses > 0 && !known(steps.back());
    if (!broken) {
      const auto last = std::find_if(steps.rbegin(), steps.rend(), known);
      round.metrics.add("loss_last", last->loss);
    }
    return;
  }
}

}  // namespace

std::string both(const std::string& a, const std::string& b) {
  return a.empty() || b.empty() ? a + b : a + "; " + b;
}

void add_flops(RoundContext& round, const std::string& suffix, double flops_per_s, Origin origin,
               const std::string& note) {
  round.metrics.add("achieved_flops" + suffix, flops_per_s, origin, note);
  const auto& peak = round.plan.peak_flops;
  if (!peak || *peak <= 0) return;
  const std::string whose =
      round.plan.peak_flops_origin.empty() ? "" : " (" + round.plan.peak_flops_origin + ")";
  const std::string denominator =
      fmt::format("denominator: {} of {:.4g} FLOP/s{}", counted(round.plan.world_size(), "device"),
                  *peak, whose);
  round.metrics.add("mfu" + suffix, flops_per_s / (round.plan.world_size() * *peak), origin,
                    both(denominator, note));
}

void compute_training(RoundContext& round) {
  compute_throughput(round);
  compute_reported(round);
  compute_losses(round);
  compute_quality(round);
}

}  // namespace assay::judge
