#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

namespace assay::tester {

struct JudgeOptions {
  /// `assay judge-evidence`, as argv; the folder and the limits are appended.
  std::vector<std::string> command;
  std::chrono::seconds time{120};                 ///< wall clock, and CPU
  std::uint64_t memory = std::uint64_t{4} << 30;  ///< address space
};

enum class JudgeEnd {
  judged,    ///< result.json and report.html are in the folder
  unfit,     ///< the evidence cannot be judged; `message` tells why
  exceeded,  ///< it ran out of time or memory, or crashed
  stopped,   ///< by the stop token
  no_room,   ///< the disk is full
  broken,    ///< the judge could not be started, or the disk failed: not the evidence's fault
};

struct JudgeOutcome {
  JudgeEnd end = JudgeEnd::broken;
  std::string message;
};

/// The exit status of a judge that ran out of memory: evidence that needs more than it may have is
/// told apart from a machine that has a fault.
inline constexpr int kOutOfMemoryExit = 12;
/// Of one that found the disk full.
inline constexpr int kDiskFullExit = 13;

/// Judges hostile evidence in a process of its own, with an empty environment, bounded in time,
/// memory and output, that dies with this one. Its output is in `log`.
[[nodiscard]] JudgeOutcome run_judge(const JudgeOptions& options,
                                     const std::filesystem::path& folder,
                                     const std::filesystem::path& log, const std::stop_token& stop);

/// The other side: applies the limits to this process, then judges the run in `folder` and writes
/// its reports there. Ends with its `parent`, a process id (0: none). Throws Error of kind
/// config for evidence that is not a run, or that names files outside of its folder. Without
/// memory the process ends at once, with kOutOfMemoryExit, and where the disk is full with
/// kDiskFullExit.
void judge_evidence(const std::filesystem::path& folder, std::chrono::seconds time,
                    std::uint64_t memory, std::int64_t parent);

}  // namespace assay::tester
