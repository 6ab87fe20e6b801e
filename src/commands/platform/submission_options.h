#pragma once

#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "core/error.h"
#include "core/json.h"
#include "jobs/submission.h"

namespace assay::commands {

/// The parts of a submission given on the command line.
struct SubmissionOptions {
  std::string suite;  ///< a file, or the name of a suite shipped with Assay
  std::optional<std::string> command;
  std::optional<std::string> name;
  std::optional<std::string> launch;
  std::optional<int> nodes;
  std::optional<int> procs;
  std::optional<int> devices;
  std::optional<std::string> device_type;
  bool whole_nodes = false;
  std::optional<std::string> image;
  std::optional<std::string> queue;
  std::optional<int> priority;
  bool preemptible = false;
  std::optional<std::string> keep;
  std::optional<std::string> time;
  std::optional<int> retries;
  std::vector<std::string> env;
  std::vector<std::string> secrets;
  std::vector<std::string> mounts;
  std::vector<std::string> endpoints;
  std::vector<jobs::JobId> after;
  std::optional<std::string> array;
};

/// The options must outlive the command.
void add_submission_options(CLI::App& command, SubmissionOptions& options);

struct WrittenSubmission {
  Json json = Json::object();  ///< as sent
  std::string suite_file{};    ///< the suite's origin; empty: no suite
};

/// The given options applied to `base` (a template). If nodes and processes are not given, a
/// suite's are those of its largest case. Throws Error of kind usage or config.
[[nodiscard]] WrittenSubmission write_submission(const SubmissionOptions& options, Json base);

/// An Error for a submission's problems, with the option of each, and file:line:column for a suite.
[[nodiscard]] Error submission_error(const std::vector<jobs::Problem>& problems,
                                     const std::string& suite_file);

}  // namespace assay::commands
