#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace assay::aisbench {

/// Which results a job should leave behind.
struct Expected {
  bool single_server = false;  ///< every server trained alone
  int servers = 1;
  int devices = 1;  ///< ranks per server
};

/// The results of one job, summed and averaged as ais-bench does it.
struct Results {
  /// One value per rank; if servers trained alone, one sum per server.
  std::vector<double> throughputs;
  /// One value; if servers trained alone, one per server.
  std::vector<double> accuracies;
  double throughput = 0;  ///< sum over ranks, or mean over servers; valid only if complete
  double accuracy = 0;
  /// Files that are missing, cut off or not a finite number, by name. Empty: complete.
  std::vector<std::string> problems;

  [[nodiscard]] bool complete() const noexcept { return problems.empty(); }
};

/// Reads what the ranks wrote into `folder`:
///   all servers together: ranksize.json, throughput_<rank>.json, accuracy.json;
///   single_server: <server>/throughput_<0 … devices-1>.json, accuracy_<server>.json.
/// A file that cannot be used is a problem, never a zero. So are a rank size other than the job's
/// and the file of a rank beyond it, because these belong to another run.
[[nodiscard]] Results read_results(const std::filesystem::path& folder, const Expected& expected);

/// The two lines that ais-bench reports if servers trained alone.
[[nodiscard]] std::string report_lines(const Results& results);

/// Writes a number as ais-bench does: the shortest text that reads back as the same double, always
/// with a point or an exponent ("450.58182754928634", "90.0").
[[nodiscard]] std::string number_text(double value);

}  // namespace assay::aisbench
