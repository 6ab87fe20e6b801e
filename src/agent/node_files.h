#pragma once

#include <cstdint>
#include <filesystem>

#include "core/time.h"

namespace assay::agent {

/// Sends what `folder` holds to `output` (transfer/stream.h), except what the other side lists on
/// `input` as received: one JSON object, path → bytes. Of what is no evidence, `most` bytes. Throws
/// Error.
void send_node_files(const std::filesystem::path& folder, std::uint64_t most, int input,
                     int output);

/// Removes a run's folder on the node, and its parents as far as they are empty. Refuses what is
/// not below a folder named "runs". Throws Error.
void forget_node_files(const std::filesystem::path& folder);

/// Marks the folder `programs` (…/bin-<hash>) as used now and removes its siblings bin-* that were
/// not used for `unused_for` and from which no process runs. Does nothing where `programs` is not
/// such a folder; what cannot be removed stays. Gives the number that were removed.
int prune_programs(const std::filesystem::path& programs, Nanoseconds unused_for);

/// Removes what runs left in the folder `runs` beside `programs` that nothing was written to for
/// `unused_for`: their agents were lost, and nobody has fetched it since. Does nothing where
/// `programs` is not such a folder. Gives the number that were removed.
int prune_runs(const std::filesystem::path& programs, Nanoseconds unused_for);

}  // namespace assay::agent
