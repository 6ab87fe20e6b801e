#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>

#include "agent/live_output.h"
#include "agent/messages.h"
#include "agent/output_log.h"
#include "agent/rank_binding.h"
#include "core/process.h"
#include "core/time.h"
#include "perflog/progress.h"

namespace assay::agent {

/// This process's environment with `overrides` ("NAME=value"), without the variables about the
/// agent's own place in a scheduler's job.
[[nodiscard]] std::vector<std::string> environment_of_rank(
    const std::vector<std::string>& overrides);

/// One rank: its process, its output and its known progress. The output is read as it comes, no
/// matter what the disk does, so that the rank never waits for Assay.
class RankProcess {
 public:
  /// Creates the log but starts nothing. Throws Error of kind environment.
  RankProcess(asio::io_context& loop, const RankRequest& request, const RoundRequest& round);

  /// Starts the process in the given control group (SpawnOptions::cgroup); returns "" or the reason
  /// it could not.
  [[nodiscard]] std::string start(const std::vector<std::string>& common_env,
                                  const std::string& workdir, int cgroup = -1,
                                  const std::optional<RankBinding>& binding = {});

  /// Returns true once, when the process has just ended; its output is then read to the end.
  [[nodiscard]] bool reap();
  /// Signals the whole process group; does nothing after the process was reaped.
  void signal(int signal_number) const { child_.signal(signal_number); }
  /// Reads what has come. Returns whether a process still holds the other end of the pipe.
  [[nodiscard]] bool output_held();
  /// Reads what is left and closes the pipe, even if others hold its other end.
  void close_output();

  [[nodiscard]] int rank() const noexcept { return request_.rank; }
  [[nodiscard]] int local_rank() const noexcept { return request_.local_rank; }
  [[nodiscard]] pid_t pid() const noexcept { return child_.pid(); }
  [[nodiscard]] bool running() const noexcept { return child_.running(); }
  [[nodiscard]] Instant started() const noexcept { return started_; }
  [[nodiscard]] Instant ended() const noexcept { return ended_; }
  [[nodiscard]] const std::optional<ExitStatus>& exit() const noexcept { return exit_; }
  [[nodiscard]] const RankLog& log() const noexcept { return log_; }
  [[nodiscard]] const perflog::ProgressScanner& progress() const noexcept { return progress_; }
  /// The output since the last call, for onlookers.
  [[nodiscard]] std::optional<LivePiece> take_live() { return live_.take(); }
  /// Seconds since the last output of any kind, and since the last PerfLog event.
  [[nodiscard]] double idle_s(std::int64_t mono_ns) const noexcept;
  [[nodiscard]] double event_idle_s(std::int64_t mono_ns) const noexcept;

 private:
  void wait_for_output();
  // Returns false at the end of the output.
  bool read_available(std::size_t at_most);

  RankRequest request_;
  RankLog log_;
  LiveOutput live_;
  asio::posix::stream_descriptor output_;
  perflog::ProgressScanner progress_;
  Child child_;
  Instant started_;
  Instant ended_;
  std::int64_t last_output_ns_ = 0;
  std::int64_t last_event_ns_ = 0;
  std::optional<ExitStatus> exit_;
};

}  // namespace assay::agent
