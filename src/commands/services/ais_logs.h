#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <thread>

#include "store/run_dir.h"

namespace assay::commands {

/// log/ of an ais-bench package during its run: appends the first round's process output there once
/// a second, and a last time on destruction. Users of ais-bench look there: benchmark.log is
/// benchmark.sh's output; a job on ModelArts has one log per instance, with the service's name for
/// it ("job3be1f0e5-job-aisbench-debug-0.log").
class AisLogs {
 public:
  /// Replaces an earlier run's logs in `folder`.
  AisLogs(const store::RunDir& run, std::filesystem::path folder);
  AisLogs(const AisLogs&) = delete;
  AisLogs& operator=(const AisLogs&) = delete;
  ~AisLogs();

 private:
  void follow();
  /// Extends `to` to the current content of `from`.
  void append(const std::filesystem::path& from, const std::filesystem::path& to);

  std::filesystem::path round_;
  std::filesystem::path folder_;
  std::map<std::filesystem::path, std::uint64_t> copied_;  // bytes, by target
  std::jthread thread_;
};

}  // namespace assay::commands
