#include "made_runs.h"

#include <algorithm>
#include <random>

#include <fmt/format.h>

#include "core/files.h"
#include "core/time.h"
#include "report/json_report.h"

namespace assay::history {

judge::RunResult result_of(const MadeRun& made) {
  judge::RunResult run;
  run.run_id = made.id;
  run.suite = "nightly";
  run.validity = made.validity;
  run.system = {{"assay", {{"version", "0.1.0"}}},
                {"nodes", {{{"host", made.host}, {"kernel", "6.1"}, {"driver", made.driver}}}}};
  run.provenance = {{"run_id", made.id}, {"assay_version", "0.1.0"}};
  judge::CaseResult result;
  result.name = made.case_name;
  result.validity = made.validity;
  result.headline = "steady_throughput";
  result.configuration.push_back({"config.batch_size", made.batch_size, "suite.yaml:3", ""});
  judge::Summary summary;
  summary.info = {"steady_throughput", made.unit, Better::higher, ""};
  summary.n = static_cast<int>(made.speeds.size());
  std::vector<double> sorted = made.speeds;
  std::ranges::sort(sorted);
  summary.median = sorted[sorted.size() / 2];
  summary.mean = summary.median;
  summary.min = sorted.front();
  summary.max = sorted.back();
  result.summary.push_back(summary);
  summary.info = {"energy_j", "J", Better::lower, ""};
  summary.median = summary.mean = summary.min = summary.max = 1e6 / summary.median;
  result.summary.push_back(summary);
  judge::RoundResult round;
  round.round = 1;
  round.status = RoundStatus::completed;
  round.validity = made.validity;
  round.started = made.started;
  round.ended = made.started;
  result.rounds.push_back(round);
  run.cases.push_back(result);
  return run;
}

std::filesystem::path write_run(const std::filesystem::path& results, const MadeRun& made,
                                const std::string& folder) {
  const std::filesystem::path run = results / (folder.empty() ? made.id : folder);
  std::filesystem::create_directories(run);
  write_file_atomic(run / "plan.json", "{}", false);
  write_file_atomic(run / "result.json", report::render_json(result_of(made)), false);
  return run;
}

std::vector<MadeRun> daily_runs(std::size_t count, std::size_t slower_from) {
  constexpr std::int64_t kDay = 86'400'000'000'000;
  constexpr std::int64_t kFirst = 1'767'225'600'000'000'000;  // 2026-01-01
  std::mt19937_64 random(7);
  std::normal_distribution<double> noise(0, 1);
  std::vector<MadeRun> out;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t at = kFirst + static_cast<std::int64_t>(i) * kDay;
    const bool slower = i >= slower_from;
    MadeRun run{fmt::format("run{}-{:04x}", compact_utc(at), i), iso_utc(at)};
    run.speeds.clear();
    for (int k = 0; k < 3; ++k) run.speeds.push_back((slower ? 95 : 100) + noise(random));
    if (slower) run.driver = "560.28";
    out.push_back(run);
  }
  return out;
}

}  // namespace assay::history
