#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "client/rest_client.h"

namespace assay::commands {

/// Reports on jobs until all have ended, with the output of a single one, and returns the exit code
/// of the worst outcome. If `stop` is requested, the jobs continue, and it returns 130. Waits for a
/// server that is temporarily away; five minutes of absence are an Error.
int follow_jobs(const client::Client& client, const std::vector<jobs::JobId>& ids,
                const std::stop_token& stop);

struct LogOptionsOfJob {
  std::string rank = "all";
  std::optional<int> attempt{};
  bool follow = false;
  bool json = false;  ///< prints the server's JSON for every line
};
/// Prints a job's output; with `follow`, until the job has ended.
int print_job_log(const client::Client& client, jobs::JobId id, const LogOptionsOfJob& options,
                  const std::stop_token& stop);

}  // namespace assay::commands
