// How long `assay compare` takes for two runs with many cases. Makes one real run of a short case,
// writes two sealed runs with many copies of it, and times the whole command from start to end. If
// something else uses the machine, the run is INVALID, which does not matter here.
//
// usage: bench_compare [CASES [ROUNDS]]

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "core/files.h"
#include "core/json.h"
#include "core/run_layout.h"
#include "core/scratch_folder.h"
#include "core/subprocess.h"
#include "core/time.h"
#include "evidence/seal.h"
#include "plan/plan.h"
#include "store/journal.h"
#include "store/run_dir.h"

namespace {

namespace fs = std::filesystem;
using assay::Json;

assay::CommandResult run(const std::vector<std::string>& command) {
  assay::CommandOptions options;
  options.timeout = std::chrono::minutes(10);
  options.max_output = std::size_t{64} << 20U;
  return assay::run_command(command, options);
}

// A run with `cases` copies of the only case of `original`. Keeps the rounds' ids, so that the
// chains of hashes fit.
fs::path multiply(const assay::store::RunDir& original, const fs::path& parent, int cases) {
  assay::plan::Plan plan = original.plan();
  const assay::plan::CasePlan one = plan.cases.front();
  plan.run_id = parent.filename().string();
  plan.cases.clear();
  for (int i = 0; i < cases; ++i) {
    plan.cases.push_back(one);
    plan.cases.back().name = fmt::format("case{:04}", i);
  }
  const fs::path path = assay::store::RunDir::create(parent, plan).path();
  std::string journal;
  const std::vector<Json> events = assay::store::Journal::read(original.journal_file());
  const auto add = [&](const Json& event) { journal += assay::dump_line(event) + "\n"; };
  add(events.front());
  for (const assay::plan::CasePlan& copy : plan.cases) {
    for (Json event : events)
      if (event.contains("case")) {
        event["case"] = copy.name;
        add(event);
      }
    fs::copy(original.path() / one.name, path / copy.name, fs::copy_options::recursive);
  }
  for (std::size_t i = 1; i < events.size(); ++i)
    if (!events[i].contains("case")) add(events[i]);
  std::ofstream(path / assay::layout::kJournal) << journal;
  fs::copy_file(original.system_file(), path / assay::layout::kSystem);
  std::vector<assay::evidence::FileRecord> files;
  for (const std::string_view name :
       {assay::layout::kPlan, assay::layout::kJournal, assay::layout::kSystem})
    files.push_back(*assay::evidence::measure_file(path / name, std::string(name)));
  const assay::evidence::SigningKey key = assay::evidence::SigningKey::generate();
  assay::write_file_atomic(path / assay::layout::kSeal,
                           assay::evidence::make_seal(plan.run_id, std::move(files), 0, &key));
  return path;
}

double cpu_of_children() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

int main(int argc, char** argv) {
  const int cases = argc > 1 ? std::atoi(argv[1]) : 2000;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 1;
  const assay::ScratchFolder folder("assay-bench");
  const std::string assay = (fs::canonical("/proc/self/exe").parent_path() / "assay").string();
  std::ofstream(folder.path() / "suite.yaml") << fmt::format(
      "name: many\ndefaults: {{rules: {{repeat-spread: {{max: 1}}, interval-width: {{max: 1}}}}}}\n"
      "cases:\n  - {{case: null:native:cpu:1:1:{}, config: {{steps: 50, step_ms: 5}}}}\n",
      rounds);
  const assay::CommandResult made = run({assay, "run", (folder.path() / "suite.yaml").string(),
                                         "--out", (folder.path() / "results").string()});
  if (!fs::exists(folder.path() / "results/latest/result.json")) {
    fmt::print(stderr, "{}{}", made.out, made.err);
    return 1;
  }
  const auto original = assay::store::RunDir::open(folder.path() / "results/latest");
  const std::string base = multiply(original, folder.path() / "base", cases).string();
  const std::string other = multiply(original, folder.path() / "new", cases).string();
  std::vector<double> seconds;
  std::vector<double> cpu;
  for (int i = 0; i < 5; ++i) {
    const double before = cpu_of_children();
    const std::int64_t start = assay::mono_now_ns();
    const assay::CommandResult result =
        run({assay, "compare", base, other, "--invalid-too", "--format", "json"});
    seconds.push_back(static_cast<double>(assay::mono_now_ns() - start) * 1e-9);
    cpu.push_back(cpu_of_children() - before);
    const Json found = Json::parse(result.out);
    std::size_t compared = 0;
    for (const Json& one : found["new"][0]["cases"]) compared += one["metrics"].size();
    if (result.status.code != 0 || compared != static_cast<std::size_t>(cases)) {
      fmt::print(stderr, "only {} of {} cases were compared\n{}\n", compared, cases, result.err);
      return 1;
    }
  }
  std::ranges::sort(seconds);
  std::ranges::sort(cpu);
  fmt::print(
      "compare of two runs of {} cases with {} round(s): {:.2f} s median, {:.2f} to {:.2f} s; CPU "
      "{:.2f} s\n",
      cases, rounds, seconds[2], seconds.front(), seconds.back(), cpu[2]);
}
