#include "launch/round_folder.h"

#include <filesystem>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/run_layout.h"

namespace assay::launch {

namespace fs = std::filesystem;

namespace {

fs::path aside_name(const fs::path& folder, int k) {
  return fmt::format("{}.interrupted-{}", folder.string(), k);
}

void move_folder(const fs::path& from, const fs::path& to, const char* problem) {
  std::error_code ec;
  fs::rename(from, to, ec);
  if (ec) throw system_error(ErrorKind::environment, problem, from.string(), ec.value());
}

}  // namespace

int set_aside(const store::RunDir& run, const plan::CasePlan& plan_case, int round) {
  const fs::path folder = run.round_dir(plan_case.name, round);
  int k = 1;
  while (fs::exists(aside_name(folder, k))) ++k;
  if (!fs::exists(folder)) return k - 1;
  move_folder(folder, aside_name(folder, k), "cannot set the interrupted round aside");
  return k;
}

void take_up_experiment(const store::RunDir& run, const plan::CasePlan& plan_case, int round) {
  const fs::path folder = run.round_dir(plan_case.name, round);
  for (int k = 1; fs::exists(aside_name(folder, k)); ++k) {
    const fs::path experiment = aside_name(folder, k) / layout::kExperiment;
    if (!fs::exists(experiment)) continue;
    make_directories(folder);
    move_folder(experiment, folder / layout::kExperiment, "cannot take up the experiment");
  }
}

}  // namespace assay::launch
