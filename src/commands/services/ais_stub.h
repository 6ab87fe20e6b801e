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
  std::string vendor;              ///< empty: the one whose tool is on this machine, else cpu
  std::string out;                 ///< empty: the package's result/
  std::string time = "7d";         ///< as limits.time
  std::string stall = "off";       ///< as limits.stall
  std::string interval = "1s";     ///< as telemetry.interval
  std::vector<std::string> set{};  ///< as --set of 'assay run', over the package's own
};

/// The run of a package: benchmark.sh as one round on this machine or, when its RUNTYPE is
/// modelarts, the job that its configuration describes. Throws Error of kind config.
[[nodiscard]] plan::Plan plan_package(const aisbench::Package& package,
                                      const aisbench::TestInfo& info, const AisOptions& options);

/// What the closed program of ais-bench does in local mode: log/, result/ and tmp/, the run, its
/// lines in log/stub.log and on stdout, benchmark.sh's output in log/. Gives the exit code of the
/// run.
class AisStub {
 public:
  AisStub(aisbench::Package package, aisbench::TestInfo info, AisOptions options);
  int run();
  /// Writes a line to log/stub.log and to stdout.
  void log(std::string_view level, std::string_view text) const;
  /// The run that was made; empty before.
  [[nodiscard]] const std::filesystem::path& run_dir() const noexcept { return run_dir_; }

 private:
  /// What the package declares about the machine; null: nothing that can be used.
  [[nodiscard]] Json declared_system() const;
  void log_outcome(const store::RunDir& run) const;

  aisbench::Package package_;
  aisbench::TestInfo info_;
  AisOptions options_;
  std::filesystem::path run_dir_;
};

}  // namespace assay::commands
