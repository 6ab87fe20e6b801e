#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "client/rest_client.h"

namespace assay::commands {

/// Says what happens to jobs until all have ended, with the output of a single one, and gives the
/// exit code of the worst outcome. When `stop` is asked for, the jobs go on, and it is 130.
/// A server that is away for a while is waited for; away for five minutes, it is an Error.
int follow_jobs(const client::Client& client, const std::vector<jobs::JobId>& ids,
                const std::stop_token& stop);

struct LogOptionsOfJob {
  std::string rank = "all";
  std::optional<int> attempt{};
  bool follow = false;
  bool json = false;  ///< a line of JSON for every line, as the server has it
};
/// Prints a job's output; with `follow`, until the job has ended.
int print_job_log(const client::Client& client, jobs::JobId id, const LogOptionsOfJob& options,
                  const std::stop_token& stop);

}  // namespace assay::commands
