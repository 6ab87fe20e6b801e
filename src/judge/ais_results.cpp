#include "judge/ais_results.h"

#include <algorithm>
#include <fstream>

#include "aisbench/result_writer.h"
#include "aisbench/results.h"
#include "core/regular_file.h"

namespace assay::judge {

namespace {

namespace fs = std::filesystem;

bool bounded(const aisbench::Phase& phase) {
  return phase.start_ns && phase.end_ns && *phase.end_ns > *phase.start_ns;
}

// The log contains the name of each benchmark.sh stage when it begins.
std::vector<aisbench::Stage> stages_in(const fs::path& node_dir, int rank,
                                       const aisbench::SetResultCalls& reported) {
  const auto offset =
      reported.calls.empty() ? std::optional<std::int64_t>() : reported.calls.front().utc_offset_s;
  std::vector<aisbench::Stage> stages;
  for (const fs::path& part : store::rank_logs(node_dir, rank)) {
    if (is_irregular(part)) continue;  // reported where the log itself is read
    std::ifstream file(part, std::ios::binary);
    for (std::string line; std::getline(file, line);)
      if (auto stage = aisbench::parse_stage(line, offset)) stages.push_back(std::move(*stage));
  }
  return stages;
}

aisbench::Phase training_stage(const std::vector<aisbench::Stage>& stages,
                               const aisbench::Phase& total) {
  aisbench::Phase phase;
  for (const aisbench::Stage& stage : stages) {
    if (stage.name == "run_train" && !phase.start_ns) phase.start_ns = stage.wall_ns;
    if (phase.start_ns && stage.name != "run_train" && !phase.end_ns) phase.end_ns = stage.wall_ns;
  }
  if (phase.start_ns && !phase.end_ns) phase.end_ns = total.end_ns;
  return phase;
}

aisbench::Phase logged_training(const RankLog& log) {
  const auto wall = [](const Stamp& stamp) {
    return stamp.wall_ms == kNoTime ? std::optional<std::int64_t>()
                                    : std::optional(stamp.wall_ms * 1'000'000);
  };
  return {wall(log.train_start), wall(log.train_end)};
}

void find_proc(const fs::path& node_dir, const RankEvidence& rank, AisEvidence& ais) {
  std::string note;
  ais.proc = logged_training(rank.log);
  ais.proc_how = "PerfLog: TRAIN_START to TRAIN_END";
  if (bounded(ais.proc)) return;
  for (const char* name : {"proc", "train"}) {
    ais.proc = aisbench::reported_phase(ais.reported, name, note);
    ais.proc_how = std::string("set_result: ") + name + "_start_time to " + name + "_end_time" +
                   (note.empty() ? "" : "; " + note);
    if (bounded(ais.proc)) return;
  }
  ais.proc = training_stage(stages_in(node_dir, rank.rank, ais.reported), ais.total);
  ais.proc_how = "the log: from run_train to the next stage";
  if (bounded(ais.proc)) return;
  ais.proc = ais.total;
  ais.proc_how = "all of benchmark.sh: neither set_result nor the log says when training was" +
                 (note.empty() ? "" : "; " + note);
}

void find_before(AisEvidence& ais) {
  std::string note;
  ais.dataload = aisbench::reported_phase(ais.reported, "dataload", note);
  ais.dataload_how =
      "set_result: dataload_start_time to dataload_end_time" + (note.empty() ? "" : "; " + note);
  note.clear();
  ais.prepare = aisbench::reported_phase(ais.reported, "prepare", note);
  ais.prepare_how =
      "set_result: prepare_start_time to prepare_end_time" + (note.empty() ? "" : "; " + note);
  if (bounded(ais.prepare) || !ais.total.start_ns || !ais.proc.start_ns) return;
  if (*ais.proc.start_ns <= *ais.total.start_ns) return;
  ais.prepare = {ais.total.start_ns, ais.proc.start_ns};
  ais.prepare_how = "from the start of benchmark.sh to the training";
}

}  // namespace

bool uses_set_result(const plan::CasePlan& plan) {
  return plan.env.contains(aisbench::kResultsVariable);
}

void load_set_result_calls(const store::RunDir& run, const plan::CasePlan& plan,
                           RoundEvidence& evidence) {
  if (evidence.nodes.empty() || evidence.ranks.empty()) return;
  const NodeEvidence& node = evidence.nodes.front();
  const fs::path dir = run.node_dir(plan.name, evidence.round, node.host, node.node);
  RankEvidence& rank = evidence.ranks.front();
  AisEvidence ais;
  ais.reported = aisbench::read_set_result_calls(dir / aisbench::kResultsFile);
  if (rank.start) ais.total.start_ns = rank.start->wall_ns;
  if (rank.end) ais.total.end_ns = rank.end->wall_ns;
  find_proc(dir, rank, ais);
  find_before(ais);
  if (bounded(ais.proc) && !(rank.log.train_start.known() && rank.log.train_end.known())) {
    rank.log.train_start = {kNoTime, *ais.proc.start_ns / 1'000'000};
    rank.log.train_end = {kNoTime, *ais.proc.end_ns / 1'000'000};
  }
  evidence.ais = std::move(ais);
}

void load_ais_results(const store::RunDir& run, const plan::CasePlan& plan,
                      RoundEvidence& evidence) {
  const auto files = plan::result_files(run.plan().cluster.options);
  if (!files) evidence.ais_job.reset();
  if (!files || evidence.ranks.empty()) return;
  // A job's result comes from its files, not from its output.
  for (std::size_t i = 0; i < plan.metrics.size(); ++i)
    if (plan.metrics[i].name == "throughput_ratio" || plan.metrics[i].name == "accuracy")
      for (RankEvidence& rank : evidence.ranks) {
        rank.log.outputs.resize(std::max(rank.log.outputs.size(), plan.metrics.size()));
        rank.log.outputs[i] = {};
      }
  if (evidence.status != RoundStatus::completed) return;
  const aisbench::Results results =
      aisbench::read_results(run.round_dir(plan.name, evidence.round) / layout::kJobResults,
                             {files->single_server, plan.nodes, plan.procs});
  for (const std::string& problem : results.problems)
    evidence.problems.push_back("results/" + problem);
  if (!results.complete()) return;
  if (evidence.ais_job) evidence.ais_job->results = results;
  for (std::size_t i = 0; i < plan.metrics.size(); ++i) {
    OutputValues& values = evidence.ranks.front().log.outputs[i];
    if (plan.metrics[i].name == "throughput_ratio") values.add(results.throughput);
    if (plan.metrics[i].name == "accuracy") values.add(results.accuracy);
  }
}

}  // namespace assay::judge
