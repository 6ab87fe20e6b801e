#include <cmath>

#include <fmt/format.h>

#include "aisbench/record.h"
#include "aisbench/reported_results.h"
#include "core/text.h"
#include "judge/round_context.h"

namespace assay::judge {

namespace {

using aisbench::TrainRecord;

struct AisValue {
  std::optional<double> value;
  std::string how;
};

// The value that Assay measured, else the one that the workload reported, else nothing.
AisValue measured_or_reported(const RoundContext& round, const std::string& metric, double scale,
                              const std::string& key) {
  if (const Metric* found = round.metrics.find(metric))
    return {found->value * scale,
            "measured: " + metric + (found->note.empty() ? "" : ", " + found->note)};
  if (const auto reported = aisbench::reported_number(round.evidence.ais->reported, key))
    return {reported, "set_result: " + key};
  return {};
}

AisValue utilization(const RoundContext& round) {
  if (round.metrics.find("device_util") != nullptr)
    return measured_or_reported(round, "device_util", 100, "resource_util_ratio");
  AisValue reported = measured_or_reported(round, "", 1, "resource_util_ratio");
  if (reported.value) return reported;
  return measured_or_reported(round, "cpu_util", 100, "resource_util_ratio");
}

class Details {
 public:
  explicit Details(Json& json) : json_(json) {
    json_["not_measured"] = Json::array();
    json_["origins"] = Json::object();
  }
  void value(const char* key, const AisValue& value, std::optional<double>& into) {
    into = value.value;
    note(key, value.value.has_value(), value.how);
  }
  void phase(const std::string& name, const aisbench::Phase& phase, const std::string& how) {
    note(name + "_start_time", phase.start_ns.has_value(), how);
    note(name + "_end_time", phase.end_ns.has_value(), how);
  }
  [[nodiscard]] std::vector<std::string> missing() const {
    return json_.at("not_measured").get<std::vector<std::string>>();
  }

 private:
  void note(const std::string& key, bool known, const std::string& how) {
    if (known)
      json_["origins"][key] = how;
    else
      json_["not_measured"].push_back(key);
  }
  Json& json_;
};

void add_reported_metrics(RoundContext& round, const aisbench::ReportedResults& results) {
  round.metrics.add("throughput_ratio", results.throughput, Origin::reported, "by set_result");
  round.metrics.add("accuracy", results.accuracy, Origin::reported, "by set_result");
  round.metrics.add("eval_loss", results.loss, Origin::reported, "by set_result");
  round.metrics.add("perplexity", results.perplexity, Origin::reported, "by set_result");
  // Without PerfLog the number of samples is unknown, but their rate is known.
  const auto power = round.metrics.get("mean_power_w");
  if (results.throughput && power && *power > 0)
    round.metrics.add("samples_per_joule", *results.throughput / *power, Origin::reported,
                      "throughput_ratio / mean_power_w");
}

// ais-bench's record of a job in a cloud.
AisRound job_record(const AisJobEvidence& job) {
  AisRound out;
  if (!job.results) return out;
  TrainRecord record;
  record.throughput = job.results->throughput;
  record.accuracy = job.results->accuracy;
  record.prepare = job.prepare;
  record.proc = job.proc;
  record.total = job.total;
  record.resource_util_ratio = job.device_util_percent;
  out.train_result_info = aisbench::train_result_info(record);
  out.report = aisbench::report_lines(*job.results);
  if (job.moved_ns != 0)
    out.details["clocks"] = fmt::format(
        "proc is by the service's clock, moved by {:+.1f} s to the controller's, which the other "
        "phases are by: what they differed by when the job was created",
        static_cast<double>(job.moved_ns) / 1e9);
  return out;
}

}  // namespace

void compute_ais(RoundContext& round) {
  if (round.evidence.ais_job) round.result.ais = job_record(*round.evidence.ais_job);
  if (!round.evidence.ais) return;
  const AisEvidence& ais = *round.evidence.ais;
  const aisbench::ReportedResults results = aisbench::results_of(ais.reported);
  add_reported_metrics(round, results);
  round.fact("ais_results_missing", static_cast<double>(results.problems.size()),
             join(results.problems, "; "));
  round.fact("ais_result_unstated", ais.reported.last("result") == nullptr ? 1 : 0);
  const std::vector<std::string> changed = aisbench::changed_values(ais.reported);
  round.fact("ais_values_changed", static_cast<double>(changed.size()), join(changed, "; "));
  round.fact("ais_unreadable_lines", static_cast<double>(ais.reported.unreadable));

  AisRound out;
  TrainRecord record;
  record.throughput = results.throughput.value_or(0);
  record.accuracy = results.accuracy.value_or(0);
  record.accuracy_text = results.accuracy_text;
  record.prepare = ais.prepare;
  record.dataload = ais.dataload;
  record.proc = ais.proc;
  record.total = ais.total;
  Details details(out.details);
  details.phase("prepare", ais.prepare, ais.prepare_how);
  details.phase("dataload", ais.dataload, ais.dataload_how);
  details.phase("proc", ais.proc, ais.proc_how);
  details.phase("total", ais.total, "the start and end of benchmark.sh");
  details.value("average_power", measured_or_reported(round, "mean_power_w", 1, "average_power"),
                record.average_power);
  details.value("max_power", measured_or_reported(round, "max_power_w", 1, "max_power"),
                record.max_power);
  details.value("energy_consumption",
                measured_or_reported(round, "energy_j", 1, "energy_consumption"),
                record.energy_consumption);
  details.value("efficientcy", measured_or_reported(round, "samples_per_joule", 1, "efficientcy"),
                record.efficiency);
  details.value("resource_util_ratio", utilization(round), record.resource_util_ratio);
  const std::vector<std::string> missing = details.missing();
  round.fact("ais_not_measured", static_cast<double>(missing.size()), join(missing, ", "));

  const bool complete = results.problems.empty() && round.evidence.status == RoundStatus::completed;
  out.details["complete"] = complete;
  out.details["problems"] = results.problems;
  out.details["changed_values"] = changed;
  out.details["calls"] = ais.reported.calls.size();
  if (const auto idle = round.metrics.get("energy_idle_baseline_w"))
    out.details["idle_power_w"] = *idle;
  else
    out.details["idle_power_w"] = nullptr;
  if (complete) out.train_result_info = aisbench::train_result_info(record);
  round.result.ais = std::move(out);
}

}  // namespace assay::judge
