#include <algorithm>

#include <fmt/format.h>

#include "core/units.h"
#include "judge/round_context.h"

namespace assay::judge {

namespace {

double precision_bits(const std::string& precision) {
  if (precision == "fp16" || precision == "bf16") return 16;
  if (precision == "tf32") return 19;  // what its products are made with
  return precision == "fp32" ? 32 : 0;
}

void add_series(RoundContext& round, const automl::ExperimentRecord& record) {
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

}  // namespace

void compute_automl(RoundContext& round) {
  if (!round.evidence.automl) return;
  const automl::ExperimentRecord& record = round.evidence.automl->record;
  const automl::ScorePoint& last = record.final;
  int ok = 0;
  int failed = 0;
  for (const automl::TrialRecord& trial : record.trials) {
    ok += trial.status == "ok" ? 1 : 0;
    failed += trial.status == "failed" ? 1 : 0;
  }
  const std::string until =
      record.ended.empty() ? "until its last event" : "ended: " + record.ended;
  round.metrics.add("automl_time", record.elapsed_s, "measured", until);
  round.metrics.add("automl_trials", ok);
  round.metrics.add("automl_trials_failed", failed);
  round.metrics.add("automl_workers", static_cast<double>(record.workers.size()));
  round.metrics.add("automl_idle", record.idle_share);
  round.metrics.add("automl_wait", record.wait_share);
  if (record.best) {
    const automl::TrialRecord& best = record.trials[static_cast<std::size_t>(*record.best)];
    round.metrics.add("automl_accuracy", best.accuracy, "measured",
                      fmt::format("trial {}", best.id));
    round.metrics.add("automl_error", last.error);
    round.metrics.add("automl_score", last.score, "measured", "AIPerf's count of operations");
    round.metrics.add("automl_score_exact", last.score_exact, "measured",
                      "operations that were executed");
  }
  if (last.operations > 0) {
    round.metrics.add("automl_ops", last.ops, "measured", "AIPerf's count of operations");
    round.metrics.add("automl_ops_exact", last.ops_exact);
  }
  if (const auto asked = record.settings.find("min_duration_ns");
      asked != record.settings.end() && asked->is_number()) {
    const double asked_s = asked->get<double>() * 1e-9;
    round.fact("automl_missing_s", std::max(0.0, asked_s - record.elapsed_s),
               fmt::format("{} of {}", format_duration(from_seconds(record.elapsed_s)),
                           format_duration(from_seconds(asked_s))));
  }
  const std::string precision = record.settings.value("precision", "");
  round.fact("automl_precision_bits", precision_bits(precision), precision);
  round.fact("automl_measured", record.best ? 1 : 0);
  add_series(round, record);
  round.result.experiment = round.evidence.automl;
}

}  // namespace assay::judge
