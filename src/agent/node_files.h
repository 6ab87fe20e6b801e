#pragma once

#include <filesystem>

namespace assay::agent {

/// Sends what `folder` holds to `output` (transfer/stream.h), except what the other side says on
/// `input` that it has: one JSON object, path → bytes. Throws Error.
void send_node_files(const std::filesystem::path& folder, int input, int output);

/// Removes a run's folder on the node, and its parents as far as they are empty. Refuses what is
/// not below a folder named "runs". Throws Error.
void forget_node_files(const std::filesystem::path& folder);

}  // namespace assay::agent
