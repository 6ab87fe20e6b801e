#pragma once

#include <filesystem>
#include <set>
#include <string>

namespace assay::jobs {

/// The uploads (Job::code) that jobs of a JobStore's file name, ended ones too: they can be run
/// again. Reads beside whoever has the file open. Errors are of kind environment.
[[nodiscard]] std::set<std::string> uploads_in(const std::filesystem::path& file);

}  // namespace assay::jobs
