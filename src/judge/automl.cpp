#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "core/units.h"
#include "judge/round_context.h"

namespace assay::judge {

namespace {

double precision_bits(const std::string& precision) {
  if (precision == "fp16" || precision == "bf16") return 16;
  if (precision == "tf32") return 19;  // the precision of its products
  return precision == "fp32" ? 32 : 0;
}

void add_experiment_series(RoundContext& round, const automl::ExperimentRecord& record) {
  Series score = make_series("automl_score", "regulated score");
  Series ops = make_series("automl_ops", "operations per second");
  Series error = make_series("automl_error", "error");
  const std::size_t stride = record.points.size() / kSeriesPoints + 1;
  for (std::size_t i = 0; i < record.points.size(); i += stride) {
    const automl::ScorePoint& point = record.points[i];
    score.points.push_back({point.t_s, point.score});
    ops.points.push_back({point.t_s, point.ops});
    error.points.push_back({point.t_s, point.error});
  }
  for (Series* series : {&score, &ops, &error})
    if (!series->points.empty()) round.result.series.push_back(std::move(*series));
}

// Compares the workers' reports with their logs. Returns false if a worker left no log.
bool compare_with_logs(const RoundContext& round, automl::JournalCheck::Problems& wrong) {
  bool all = true;
  const int devices = round.plan.automl ? round.plan.automl->devices_per_trial : 1;
  for (const auto& [who, reported] : round.evidence.automl_check->reported) {
    const auto& [worker, trial] = who;
    double samples = 0;
    std::vector<double> accuracy;
    std::string path;
    bool logged_by_all = true;
    for (int rank = worker * devices; rank < (worker + 1) * devices; ++rank) {
      const auto at = std::ranges::find(round.evidence.ranks, rank, &RankEvidence::rank);
      if (at == round.evidence.ranks.end() || at->log.events == 0 || at->dropped_bytes > 0 ||
          at->earlier_missing) {
        logged_by_all = false;
        break;
      }
      if (path.empty()) path = at->log_path;
      for (const TrialLog& logged : at->log.trials) {
        if (logged.trial != trial) continue;
        samples += logged.samples;
        accuracy.insert(accuracy.end(), logged.accuracy.begin(), logged.accuracy.end());
      }
    }
    if (!logged_by_all) {
      all = false;
      continue;
    }
    if (reported.trained > samples + 0.5)
      wrong.add(fmt::format("trial {}: worker {} reported {} samples and logged {} in {}", trial,
                            worker, format_number(reported.trained), format_number(samples), path));
    for (const double value : reported.accuracy)
      if (std::ranges::none_of(accuracy, [&](double a) { return std::abs(a - value) < 1e-6; }))
        wrong.add(fmt::format("trial {}: worker {} reported an accuracy of {} that is not in {}",
                              trial, worker, format_number(value), path));
  }
  return all;
}

// Compares the experiment's clocks with the controller's.
void compare_times(const RoundContext& round, automl::JournalCheck::Problems& wrong) {
  const RoundEvidence& evidence = round.evidence;
  const bool resumed = evidence.automl && evidence.automl->record.resumed > 0;
  if (!evidence.start || !evidence.end || !evidence.automl || resumed) return;
  const double elapsed = evidence.automl->record.elapsed_s;
  const double mono = static_cast<double>(evidence.end->mono_ns - evidence.start->mono_ns) * 1e-9;
  const double wall = static_cast<double>(evidence.end->wall_ns - evidence.start->wall_ns) * 1e-9;
  if (elapsed > mono + 1)
    wrong.add(fmt::format("an experiment of {:.3f} s in a round of {:.3f} s", elapsed, mono));
  const double apart = evidence.automl_check->clocks_apart_s;
  if (apart > 1 + 1e-3 * mono + std::abs(wall - mono))
    wrong.add(fmt::format("at_s and wall_ns of its events go {:.3f} s apart", apart));
}

// Returns the origin of numbers based on the workers' reports.
Origin check_experiment(RoundContext& round) {
  if (!round.evidence.automl_check) return Origin::measured;
  const automl::JournalCheck& check = *round.evidence.automl_check;
  const auto told = [](const automl::JournalCheck::Problems& problems) {
    return problems.first +
           (problems.count > 1 ? fmt::format(", and {} more", problems.count - 1) : "");
  };
  round.fact("automl_journal_missing", static_cast<double>(check.missing.count),
             told(check.missing));
  automl::JournalCheck::Problems wrong = check.wrong;
  const bool resumed = round.evidence.automl && round.evidence.automl->record.resumed > 0;
  const bool logged = compare_with_logs(round, wrong) && !resumed;
  compare_times(round, wrong);
  round.fact("automl_reports_wrong", static_cast<double>(wrong.count), told(wrong));
  return logged && wrong.count == 0 ? Origin::measured : Origin::claimed;
}

// Adds the workers, trials and time lost, and the size of the search.
void add_losses(RoundContext& round, const automl::ExperimentRecord& record) {
  static constexpr std::size_t kNamed = 4;
  const auto names = [](const std::vector<std::string>& all) {
    std::string out;
    for (std::size_t i = 0; i < std::min(all.size(), kNamed); ++i)
      out += (out.empty() ? "" : "; ") + all[i];
    return out + (all.size() > kNamed ? fmt::format("; and {} more", all.size() - kNamed) : "");
  };
  std::vector<std::string> lost;
  for (std::size_t i = 0; i < record.workers.size(); ++i) {
    const automl::WorkerRecord& worker = record.workers[i];
    if (!worker.left_s || worker.reason == automl::kCoordinatorEnded) continue;
    const auto again =
        std::find_if(record.workers.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                     record.workers.end(), [&](const auto& w) { return w.rank == worker.rank; });
    lost.push_back(fmt::format("worker {} on {} after {:.0f} s: {}{}", worker.rank, worker.host,
                               *worker.left_s, worker.reason,
                               again == record.workers.end()
                                   ? std::string()
                                   : fmt::format(", back after {:.0f} s", again->joined_s)));
  }
  round.fact("automl_workers_lost", static_cast<double>(lost.size()), names(lost));
  std::vector<std::string> weights;
  for (const automl::LostWeights& one : record.weights_lost)
    if (!one.displaced) weights.push_back(fmt::format("trial {}: {}", one.trial, one.reason));
  round.fact("automl_weights_lost", static_cast<double>(weights.size()), names(weights));
  if (!record.best || !(record.elapsed_s > 0)) return;
  const double ceiling = automl::data_ceiling(record.settings);
  const double since = record.ceiling_s.value_or(record.elapsed_s);
  round.fact("automl_ceiling_share", (record.elapsed_s - since) / record.elapsed_s,
             fmt::format("{:.4g} after {:.0f} s", ceiling, since));
}

// Adds one curve for each of the best models: joined, they would look like one training.
void add_loss_curves(RoundContext& round, const automl::ExperimentRecord& record) {
  constexpr std::size_t kCurves = 6;
  std::vector<const automl::TrialRecord*> best;
  for (const automl::TrialRecord& trial : record.trials)
    if (trial.accuracy && !trial.losses.empty()) best.push_back(&trial);
  std::ranges::stable_sort(best, [](const auto* a, const auto* b) {
    return a->accuracy.value_or(0) > b->accuracy.value_or(0);
  });
  best.resize(std::min(best.size(), kCurves));
  std::ranges::sort(best, {}, &automl::TrialRecord::id);
  for (const automl::TrialRecord* trial : best) {
    Series series = make_series("loss", fmt::format("trial {}", trial->id));
    for (const auto& [t_s, loss] : trial->losses) series.points.push_back({t_s, loss});
    round.result.series.push_back(std::move(series));
  }
}

// The ranks' logs and times only cover the last part.
void count_earlier_parts(RoundContext& round, const automl::ExperimentRecord& record,
                         Origin origin) {
  round.fact("automl_resumed", record.resumed,
             fmt::format("the last time after {}",
                         format_duration(from_seconds(std::round(record.resumed_s)))));
  const bool returned = std::ranges::any_of(round.evidence.ranks,
                                            [](const RankEvidence& rank) { return rank.part > 1; });
  if (record.resumed == 0 && !returned) return;
  const std::string note =
      record.resumed == 0
          ? "of the whole experiment, also of workers before their node left it and came back"
          : fmt::format("of the whole experiment, which was resumed {}",
                        record.resumed == 1 ? "once" : fmt::format("{} times", record.resumed));
  double samples = 0;
  for (const automl::TrialRecord& trial : record.trials) samples += trial.trained;
  round.metrics.replace("samples", samples, origin, note);
  for (const char* name : {"train_time", "e2e_time"})
    if (const Metric* part = round.metrics.find(name)) {
      const Origin own = part->origin;
      round.metrics.replace(name, part->value + record.resumed_s, own, note);
    }
  if (const auto time = round.metrics.get("train_time"); time && *time > 0)
    round.metrics.replace("p_whole", samples / *time, origin, note);
}

}  // namespace

void compute_automl(RoundContext& round) {
  const Origin origin = check_experiment(round);
  if (!round.evidence.automl) return;
  const automl::ExperimentRecord& record = round.evidence.automl->record;
  const automl::ScorePoint& last = record.final;
  const std::string until =
      record.ended ? "ended: " + std::string(to_text(*record.ended)) : "until its last event";
  round.metrics.add("automl_time", record.elapsed_s, Origin::measured, until);
  round.metrics.add("automl_trials", static_cast<double>(record.count(automl::TrialStatus::ok)));
  round.metrics.add("automl_trials_failed",
                    static_cast<double>(record.count(automl::TrialStatus::failed)));
  // A worker that comes back, or runs again after --resume, is the same worker.
  std::set<int> workers;
  for (const automl::WorkerRecord& worker : record.workers) workers.insert(worker.rank);
  round.metrics.add("automl_workers", static_cast<double>(workers.size()));
  round.metrics.add("automl_idle", record.idle_share);
  round.metrics.add("automl_wait", record.wait_share);
  if (record.best) {
    const automl::TrialRecord& best = record.trials[static_cast<std::size_t>(*record.best)];
    round.metrics.add("automl_accuracy", best.accuracy, origin, fmt::format("trial {}", best.id));
    round.metrics.add("automl_error", last.error, origin);
    round.metrics.add("automl_score", last.score, origin, "AIPerf's count of operations");
    round.metrics.add("automl_score_exact", last.score_exact, origin,
                      "operations that were executed");
  }
  if (last.operations > 0) {
    round.metrics.add("automl_ops", last.ops, origin, "AIPerf's count of operations");
    round.metrics.add("automl_ops_exact", last.ops_exact, origin);
  }
  if (const auto asked = record.settings.find("min_duration_ns");
      asked != record.settings.end() && asked->is_number()) {
    const double asked_s = asked->get<double>() * 1e-9;
    round.fact("automl_missing_s", std::max(0.0, asked_s - record.elapsed_s),
               fmt::format("{} of {}", format_duration(from_seconds(record.elapsed_s)),
                           format_duration(from_seconds(asked_s))));
  }
  add_losses(round, record);
  add_loss_curves(round, record);
  count_earlier_parts(round, record, origin);
  const std::string precision = record.settings.value("precision", "");
  round.fact("automl_precision_bits", precision_bits(precision), precision);
  round.fact("automl_measured", record.best ? 1 : 0);
  add_experiment_series(round, record);
  round.result.experiment = round.evidence.automl;
}

}  // namespace assay::judge
