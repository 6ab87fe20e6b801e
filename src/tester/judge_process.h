#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

namespace assay::tester {

struct JudgeOptions {
  /// The argv of `assay judge-evidence`, to which the folder and the limits are appended.
  std::vector<std::string> command;
  std::chrono::seconds time{120};                 ///< wall clock and CPU time
  std::uint64_t memory = std::uint64_t{4} << 30;  ///< address space
};

enum class JudgeEnd {
  judged,    ///< result.json and report.html are in the folder
  unfit,     ///< the evidence cannot be judged, for the reason in `message`
  exceeded,  ///< it ran out of time or memory, or crashed
  stopped,   ///< by the stop token
  no_room,   ///< the disk is full
  broken,    ///< the judge could not start, or the disk failed; not the evidence's fault
};

struct JudgeOutcome {
  JudgeEnd end = JudgeEnd::broken;
  std::string message;
};

/// The exit status of a judge that ran out of memory, which distinguishes evidence that needs more
/// than allowed from a faulty machine.
inline constexpr int kOutOfMemoryExit = 12;
/// The exit status of a judge that found the disk full.
inline constexpr int kDiskFullExit = 13;

/// Judges hostile evidence in a separate process with an empty environment, limited in time, memory
/// and output, which dies with this one. Its output goes to `log`.
[[nodiscard]] JudgeOutcome run_judge(const JudgeOptions& options,
                                     const std::filesystem::path& folder,
                                     const std::filesystem::path& log, const std::stop_token& stop);

/// The child's part: applies the limits to this process, then judges the run in `folder` and writes
/// its reports there. Ends with its `parent`, a process id (0: none). Throws Error of kind config
/// if the evidence is not a run or names files outside its folder. Exits at once with
/// kOutOfMemoryExit if out of memory, and with kDiskFullExit if the disk is full.
void judge_evidence(const std::filesystem::path& folder, std::chrono::seconds time,
                    std::uint64_t memory, std::int64_t parent);

}  // namespace assay::tester
