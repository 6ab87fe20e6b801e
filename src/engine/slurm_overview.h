#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/time.h"
#include "slurm/job.h"
#include "slurm/slurm_node.h"

namespace assay::engine {

/// What Slurm says of its nodes and of everybody's jobs, asked now and then by a thread of its own:
/// nobody else waits for slurmctld. Thread-safe.
class SlurmOverview {
 public:
  /// Asks once, and waits for the answer.
  SlurmOverview();
  SlurmOverview(const SlurmOverview&) = delete;
  SlurmOverview& operator=(const SlurmOverview&) = delete;
  ~SlurmOverview();

  /// As Slurm said last.
  [[nodiscard]] std::vector<slurm::Node> nodes();
  [[nodiscard]] std::vector<slurm::Job> jobs();
  /// Why what is shown may be out of date: "Slurm does not answer since …"; empty: it answers.
  [[nodiscard]] std::string trouble();

  /// Asks now, and waits for the answer.
  void refresh();
  /// Others hear of slurmctld, too.
  void heard();
  void not_heard(const std::string& words);

 private:
  void run(const std::stop_token& stop);

  std::mutex mutex_;
  std::vector<slurm::Node> nodes_;
  std::vector<slurm::Job> jobs_;
  std::string trouble_;
  std::int64_t silent_since_ns_ = 0;  // of the trouble, wall time
  std::condition_variable_any changed_;
  std::jthread thread_;  // last: it ends before what it uses
};

}  // namespace assay::engine
