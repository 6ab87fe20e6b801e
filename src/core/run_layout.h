#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "core/enum_names.h"

/// The files of a run directory; each name is defined once. They are in core because every stage
/// needs them: the planner (no case may take one), the run directory, the judge, the reports, the
/// tester and its client. docs/run-directory.md has the same table; a test compares them.
namespace assay::layout {

enum class FileRole {
  evidence,  ///< what happened: written once, never changed
  derived,   ///< computed from the evidence by the judge and the reports; can be deleted
  control,   ///< lets a command resume, or shows the state of a run in progress
  note,      ///< a person's remark: it exists nowhere else and proves nothing
};

constexpr auto enum_names(FileRole /*role*/) {
  using enum FileRole;
  return std::to_array<EnumName<FileRole>>(
      {{evidence, "evidence"}, {derived, "derived"}, {control, "control"}, {note, "note"}});
}

enum class FilePlace {
  run,    ///< in the run directory itself
  round,  ///< in <case>/round<N>
  node,   ///< in <case>/round<N>/<host>_noderank<i>
};

constexpr auto enum_names(FilePlace /*place*/) {
  using enum FilePlace;
  return std::to_array<EnumName<FilePlace>>({{run, "run"}, {round, "round"}, {node, "node"}});
}

struct RunFile {
  std::string_view name;  ///< "<…>" matches any text; a final "/" is a folder and all in it
  FilePlace place = FilePlace::run;
  FileRole role = FileRole::evidence;
  bool judged = false;  ///< the judge reads it, so it is sent to a tester; evidence only
};

inline constexpr std::string_view kPlan = "plan.json";
inline constexpr std::string_view kJournal = "journal.jsonl";
inline constexpr std::string_view kSystem = "system.json";
inline constexpr std::string_view kSeal = "seal.json";
inline constexpr std::string_view kLive = "live.json";
/// <case>/round<N>/<host>_noderank<i>/…: the parts of a round's files that agents sent during it.
inline constexpr std::string_view kLiveLogs = "live-logs/";
inline constexpr std::string_view kLock = "lock";
inline constexpr std::string_view kJob = "job.json";  ///< a detached run, or a round in a cloud
inline constexpr std::string_view kControllerLog = "controller.log";
inline constexpr std::string_view kPush = "push.json";
inline constexpr std::string_view kLabels = "labels.json";  ///< a person's tags and notes
inline constexpr std::string_view kResult = "result.json";
inline constexpr std::string_view kReportHtml = "report.html";
inline constexpr std::string_view kReportText = "report.txt";
inline constexpr std::string_view kResultsCsv = "results.csv";
inline constexpr std::string_view kRanksCsv = "ranks.csv";
inline constexpr std::string_view kJunit = "junit.xml";
inline constexpr std::string_view kMllog = "mllog/";
inline constexpr std::string_view kSucceeded = "Report_Succeed.html";  ///< AAH's names
inline constexpr std::string_view kFailed = "Report_Failed.html";
inline constexpr std::string_view kLogs = "logs/";
inline constexpr std::string_view kLogsArchive = "<run id>-logs.tar.gz";
inline constexpr std::string_view kJobResults = "results/";
inline constexpr std::string_view kExperiment = "automl";  ///< an experiment's folder
inline constexpr std::string_view kExperimentJournal = "automl/journal.jsonl";
inline constexpr std::string_view kWeights = "automl/weights/";
inline constexpr std::string_view kTrainResult = "train_result_info.json";
inline constexpr std::string_view kAisResult = "ais_result.json";
inline constexpr std::string_view kTelemetry = "telemetry.csv";
inline constexpr std::string_view kHookLog = "hook.log";  ///< a hook on the controller
inline constexpr std::string_view kEvidence = "evidence.jsonl";

[[nodiscard]] std::span<const RunFile> run_files();

/// Describes a file by its path relative to the run directory; nullptr if it is not one of Assay's.
[[nodiscard]] const RunFile* find_run_file(std::string_view path) noexcept;

/// The same for a name within a place, such as "rank0.out.log" in a node's folder.
[[nodiscard]] const RunFile* find_run_file(FilePlace place, std::string_view name) noexcept;

/// Whether the run directory itself uses `name`, so that no case may have it.
[[nodiscard]] bool is_taken(std::string_view name) noexcept;

[[nodiscard]] std::string round_folder(int round);                         ///< "round1"
[[nodiscard]] std::string node_folder(const std::string& host, int node);  ///< "vm_noderank0"
[[nodiscard]] std::string rank_log(int rank);                              ///< "rank0.out.log"

}  // namespace assay::layout
