#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <thread>

#include "store/run_dir.h"

namespace assay::commands {

/// log/ of an ais-bench package while its run goes on: what the first round's processes print is
/// appended there once a second, and for the last time when this object goes. Users of ais-bench
/// look there: benchmark.log is what benchmark.sh prints; a job on ModelArts has one log for every
/// instance, named as the service names it ("job3be1f0e5-job-aisbench-debug-0.log").
class AisLogs {
 public:
  /// Logs of an earlier run in `folder` are replaced.
  AisLogs(const store::RunDir& run, std::filesystem::path folder);
  AisLogs(const AisLogs&) = delete;
  AisLogs& operator=(const AisLogs&) = delete;
  ~AisLogs();

 private:
  void follow();
  /// Brings `to` up to what `from` has now.
  void append(const std::filesystem::path& from, const std::filesystem::path& to);

  std::filesystem::path round_;
  std::filesystem::path folder_;
  std::map<std::filesystem::path, std::uint64_t> copied_;  // bytes, by target
  std::jthread thread_;
};

}  // namespace assay::commands
