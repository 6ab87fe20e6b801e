#pragma once

#include <string>

#include "jobs/submission.h"

namespace assay::client {

// A submission in the forms in which people pass it on. Each gives the same job again.

/// `assay submit --command '…' --nodes 2 …`; for a suite, its text is taken from `suite_file`.
[[nodiscard]] std::string as_command(const jobs::Submission& submission,
                                     const std::string& team = {},
                                     const std::string& suite_file = "suite.yaml");

/// A command for curl; the token stays in a variable of the shell. `code` is an upload.
[[nodiscard]] std::string as_curl(const jobs::Submission& submission, const std::string& server,
                                  const std::string& team = {}, const std::string& code = {});

/// The option that ASSAY_KEEP_OPEN comes from.
inline constexpr const char* kKeepOption = "--keep";

/// The option of `assay submit` that a field of a submission comes from: "mounts[1].target" →
/// "--mount", "retries.count" → "--retries". The field itself where there is none.
[[nodiscard]] std::string option_of(const std::string& field);

}  // namespace assay::client
