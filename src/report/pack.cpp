#include "report/pack.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "automl/experiment_events.h"
#include "automl/experiment_journal.h"
#include "automl/lineage.h"
#include "core/error.h"
#include "core/files.h"
#include "core/run_layout.h"
#include "core/subprocess.h"
#include "core/text.h"
#include "report/experiment_report.h"

namespace assay::report {

namespace {

namespace fs = std::filesystem;

constexpr auto kTarLimit = std::chrono::minutes(10);

Json trial_json(const automl::TrialRecord& trial) {
  Json out{{"trial", trial.id},
           {"parent", trial.parent},
           {"operations", trial.operations},
           {"hyper", trial.hyper},
           {"parameters", trial.parameters},
           {"layers", trial.layers},
           {"per_sample", fields_to_json(trial.per_sample)},
           {"status", to_text(trial.status)},
           {"reason", trial.reason},
           {"attempts", trial.attempts},
           {"worker", trial.worker},
           {"host", trial.host},
           {"accuracy", nullptr},
           {"epochs", Json::array()}};
  if (trial.accuracy) out["accuracy"] = *trial.accuracy;
  if (trial.started_s) out["started_s"] = *trial.started_s;
  if (trial.ended_s) out["ended_s"] = *trial.ended_s;
  return out;
}

void write_trials(const ExperimentView& view, const std::vector<Json>& events,
                  const fs::path& folder) {
  std::map<std::int64_t, Json> epochs;
  for (const Json& event : events)
    if (automl::journal::event_of(event) == automl::journal::Event::epoch)
      epochs[automl::journal::read<automl::journal::Epoch>(event).trial].push_back(event);
  make_directories(folder / "graphs");
  make_directories(folder / "trials");
  for (const automl::TrialRecord& trial : view.record.trials) {
    const std::string name = fmt::format("{}.json", trial.id);
    Json out = trial_json(trial);
    if (const auto found = epochs.find(trial.id); found != epochs.end())
      out["epochs"] = found->second;
    try {
      const Json graph = automl::to_json(automl::architecture_of(view.record, trial.id));
      write_file_atomic(folder / "graphs" / name, dump_line(graph) + "\n", false);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::config) throw;
      out["graph_missing"] = error.message();  // a damaged journal; the rest is still useful
    }
    write_file_atomic(folder / "trials" / name, dump_pretty(out), false);
  }
}

// All weights may be many gigabytes; the best model's are the ones that readers need.
void copy_best_weights(const ExperimentView& view, const fs::path& round, const fs::path& folder) {
  if (!view.record.best) return;
  const std::string name = fmt::format("{}.pt", *view.record.best);
  const fs::path from = round / layout::kWeights / name;
  std::error_code ec;
  if (!fs::exists(from, ec)) return;
  make_directories(folder / "weights");
  fs::copy_file(from, folder / "weights" / name, ec);
  if (ec)
    throw Error(ErrorKind::environment, "the weights cannot be copied: " + ec.message(),
                (folder / "weights" / name).string(), "check the free space there");
}

// Names each file, because the folder itself changes while the archive grows in it.
std::vector<std::string> members_of(const fs::path& run_dir) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(run_dir)) {
    const std::string name = entry.path().filename().string();
    if (name == layout::kLock || name == layout::kLive || name + "/" == layout::kLiveLogs ||
        name.find("-logs.tar.gz") != std::string::npos)
      continue;
    names.push_back("./" + name);
  }
  std::ranges::sort(names);
  return names;
}

void pack(const fs::path& run_dir, const std::string& name, const fs::path& archive) {
  CommandOptions options;
  options.timeout = kTarLimit;
  std::vector<std::string> argv{"tar",
                                "-C",
                                run_dir.string(),
                                "--sort=name",
                                "--owner=0",
                                "--group=0",
                                "--numeric-owner",
                                "--transform=s,^\\.," + name + ",",
                                "--exclude=*/automl/weights",
                                "-czf",
                                archive.string()};
  const std::vector<std::string> members = members_of(run_dir);
  argv.insert(argv.end(), members.begin(), members.end());
  const CommandResult packed = run_command(argv, options);
  if (packed.status.ok()) return;
  std::error_code ec;
  fs::remove(archive, ec);
  if (packed.not_found)
    throw Error(ErrorKind::environment, "tar is not installed", {}, "install the package 'tar'");
  if (packed.timed_out)
    throw Error(ErrorKind::environment, "tar did not end within ten minutes", run_dir.string(),
                "pack the folder by hand");
  throw Error(ErrorKind::environment, "the logs cannot be packed: " + printable(trim(packed.err)),
              archive.string(), "check the free space there");
}

}  // namespace

fs::path pack_logs(const judge::RunResult& result, const fs::path& run_dir) {
  const fs::path logs = run_dir / layout::kLogs;
  std::error_code ec;
  fs::remove_all(logs, ec);
  for (const ExperimentView& view : experiments_of(result)) {
    const fs::path round = run_dir / view.result->name / layout::round_folder(view.round->round);
    const fs::path folder = logs / fmt::format("{}_round{}", view.result->name, view.round->round);
    write_trials(view, automl::ExperimentJournal::read(round / layout::kExperimentJournal), folder);
    copy_best_weights(view, round, folder);
  }
  fs::path archive = run_dir / (result.run_id + "-logs.tar.gz");
  // The archive gets its name once complete, so that no reader sees half of it.
  const fs::path unfinished = archive.string() + ".part";
  pack(run_dir, result.run_id, unfinished);
  fs::rename(unfinished, archive, ec);
  if (ec)
    throw Error(ErrorKind::environment, "the archive cannot be renamed: " + ec.message(),
                archive.string());
  return archive;
}

}  // namespace assay::report
