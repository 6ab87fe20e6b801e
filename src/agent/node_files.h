#pragma once

#include <cstdint>
#include <filesystem>

#include "core/time.h"

namespace assay::agent {

/// Sends the content of `folder` to `output` (transfer/stream.h), except what `input` lists as
/// received: one JSON object, path → bytes. Files that are not evidence are cut to `most` bytes.
/// Throws Error.
void send_node_files(const std::filesystem::path& folder, std::uint64_t most, int input,
                     int output);

/// Removes a run's folder on the node, and its parents while they are empty. Refuses a folder that
/// is not below one named "runs". Throws Error.
void forget_node_files(const std::filesystem::path& folder);

/// Marks the folder `programs` (…/bin-<hash>) as used now and removes its siblings bin-* that were
/// unused for `unused_for` and from which no process runs. Does nothing if `programs` is not such a
/// folder; what cannot be removed stays. Returns the number removed.
int prune_programs(const std::filesystem::path& programs, Nanoseconds unused_for);

/// Removes runs from the folder `runs` beside `programs` to which nothing was written for
/// `unused_for`: their agents were lost, and nobody fetched them since. Does nothing if `programs`
/// is not such a folder. Returns the number removed.
int prune_runs(const std::filesystem::path& programs, Nanoseconds unused_for);

}  // namespace assay::agent
