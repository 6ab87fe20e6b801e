#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "aisbench/package.h"
#include "plan/plan.h"
#include "store/run_dir.h"

namespace assay::commands {

/// The command-line options of `assay ais test`.
struct AisOptions {
  std::string directory = ".";
  std::string vendor;              ///< empty: the one with a tool on this machine, else cpu
  std::string out;                 ///< empty: the package's result/
  std::string time = "7d";         ///< as limits.time
  std::string stall = "off";       ///< as limits.stall
  std::string interval = "1s";     ///< as telemetry.interval
  std::vector<std::string> set{};  ///< as --set of 'assay run', after the package's own
};

/// The run of a package: benchmark.sh as one round on this machine or, if its RUNTYPE is modelarts,
/// the job described by its configuration. Throws Error of kind config.
[[nodiscard]] plan::Plan plan_package(const aisbench::Package& package,
                                      const aisbench::TestInfo& info, const AisOptions& options);

/// Does what ais-bench's closed program does in local mode: log/, result/ and tmp/, the run, its
/// lines in log/stub.log and on stdout, benchmark.sh's output in log/. Returns the run's exit code.
class AisStub {
 public:
  AisStub(aisbench::Package package, aisbench::TestInfo info, AisOptions options);
  int run();
  /// Writes a line to log/stub.log and to stdout.
  void log(std::string_view level, std::string_view text) const;
  /// The run created; empty before.
  [[nodiscard]] const std::filesystem::path& run_dir() const noexcept { return run_dir_; }

 private:
  /// The package's declarations about the machine; null if none is usable.
  [[nodiscard]] Json declared_system() const;
  void log_outcome(const store::RunDir& run) const;

  aisbench::Package package_;
  aisbench::TestInfo info_;
  AisOptions options_;
  std::filesystem::path run_dir_;
};

}  // namespace assay::commands
