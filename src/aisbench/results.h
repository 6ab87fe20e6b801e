#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace assay::aisbench {

/// What a job was to leave behind.
struct Expected {
  bool single_server = false;  ///< every server trained alone
  int servers = 1;
  int devices = 1;  ///< of one server: ranks of a server
};

/// The results of one job. Sums and means are those of ais-bench.
struct Results {
  /// One value per rank, or per server (their sum) when servers trained alone.
  std::vector<double> throughputs;
  /// One; when servers trained alone, one of every server.
  std::vector<double> accuracies;
  double throughput = 0;  ///< sum of ranks, or mean of servers; of use only when complete
  double accuracy = 0;
  /// What is missing, cut, or no finite number; each names the file. Empty: complete.
  std::vector<std::string> problems;

  [[nodiscard]] bool complete() const noexcept { return problems.empty(); }
};

/// Reads what the ranks wrote into `folder`:
///   all servers together: ranksize.json, throughput_<rank>.json, accuracy.json;
///   single_server: <server>/throughput_<0 … devices-1>.json, accuracy_<server>.json.
/// A file that cannot be used is a problem, never a zero. So is a rank size that the job does not
/// have, and a file of a rank beyond it: results of another run are mixed in.
[[nodiscard]] Results read_results(const std::filesystem::path& folder, const Expected& expected);

/// The two lines that ais-bench reports when servers trained alone.
[[nodiscard]] std::string report_lines(const Results& results);

/// A number as ais-bench writes it: the shortest text that gives the same double again, always with
/// a point or exponent ("450.58182754928634", "90.0").
[[nodiscard]] std::string number_text(double value);

}  // namespace assay::aisbench
