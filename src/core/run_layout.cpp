#include "core/run_layout.h"

#include <algorithm>
#include <array>

namespace assay::layout {

namespace {

// A name has at most one "<…>", which does not match "/".
bool name_matches(std::string_view pattern, std::string_view text) noexcept {
  if (pattern.ends_with('/')) return text.starts_with(pattern) && text.size() > pattern.size();
  const auto open = pattern.find('<');
  if (open == std::string_view::npos) return pattern == text;
  const std::string_view before = pattern.substr(0, open);
  const std::string_view after = pattern.substr(pattern.find('>') + 1);
  return text.size() > before.size() + after.size() && text.starts_with(before) &&
         text.ends_with(after) && text.find('/') == std::string_view::npos;
}

bool is_round_folder(std::string_view name) noexcept {
  constexpr std::string_view kRound = "round";
  return name.size() > kRound.size() && name.starts_with(kRound) &&
         name.find_first_not_of("0123456789", kRound.size()) == std::string_view::npos;
}

}  // namespace

std::span<const RunFile> run_files() {
  using enum FilePlace;
  using enum FileRole;
  static constexpr auto kFiles = std::to_array<RunFile>({
      {kPlan, run, evidence, true},
      {kJournal, run, evidence, true},
      {kSystem, run, evidence, true},
      {kSeal, run, evidence, true},
      {kLive, run, control},
      {kLiveLogs, run, control},
      {kLock, run, control},
      {kControllerLog, run, control},
      {kJob, run, control},
      {kPush, run, control},
      {kLabels, run, note},
      {kResult, run, derived},
      {kResultsCsv, run, derived},
      {kRanksCsv, run, derived},
      {kJunit, run, derived},
      {"report.<format>", run, derived},
      {kMllog, run, derived},
      {kSucceeded, run, derived},
      {kFailed, run, derived},
      {kLogs, run, derived},
      {kLogsArchive, run, derived},
      {kJob, round, control},
      {kJobResults, round, evidence, true},
      {kExperimentJournal, round, evidence, true},
      {kWeights, round, control},
      {kHookLog, round, evidence, true},
      {kTrainResult, round, derived},
      {kAisResult, round, derived},
      {kReportText, round, derived},
      {"config.json", node, evidence, true},
      {"hccl.json", node, evidence},
      {"hostfile", node, evidence},
      {"ib_config", node, evidence},
      {"rank<r>.out.log", node, evidence, true},
      {"rank<r>.out.log.head", node, evidence, true},
      {"rank<r>.out.log.1", node, evidence, true},
      {kTelemetry, node, evidence, true},
      {kEvidence, node, evidence, true},
      {"set_result.jsonl", node, evidence, true},
      {"agent.log", node, evidence},
      {"<vendor>_monitor.log", node, evidence},
  });
  return kFiles;
}

const RunFile* find_run_file(std::string_view path) noexcept {
  FilePlace place = FilePlace::run;
  // <case>/round<N>/…: matched by form, so that a case of any name keeps its evidence.
  const auto first = path.find('/');
  const auto second =
      first == std::string_view::npos ? std::string_view::npos : path.find('/', first + 1);
  if (second != std::string_view::npos &&
      is_round_folder(path.substr(first + 1, second - first - 1))) {
    place = FilePlace::round;
    path.remove_prefix(second + 1);
    if (const auto third = path.find('/');
        third != std::string_view::npos &&
        path.substr(0, third).find("_noderank") != std::string_view::npos) {
      place = FilePlace::node;
      path.remove_prefix(third + 1);
    }
  }
  return find_run_file(place, path);
}

const RunFile* find_run_file(FilePlace place, std::string_view name) noexcept {
  const auto files = run_files();
  const auto found = std::ranges::find_if(files, [&](const RunFile& file) {
    return file.place == place && name_matches(file.name, name);
  });
  return found == files.end() ? nullptr : &*found;
}

bool is_taken(std::string_view name) noexcept {
  return std::ranges::any_of(run_files(), [&](const RunFile& file) {
    if (file.place != FilePlace::run) return false;
    return file.name.ends_with('/') ? file.name.substr(0, file.name.size() - 1) == name
                                    : name_matches(file.name, name);
  });
}

std::string round_folder(int round) {
  return "round" + std::to_string(round);
}

std::string node_folder(const std::string& host, int node) {
  return host + "_noderank" + std::to_string(node);
}

std::string rank_log(int rank) {
  return "rank" + std::to_string(rank) + ".out.log";
}

}  // namespace assay::layout
