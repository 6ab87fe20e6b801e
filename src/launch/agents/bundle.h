#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace assay::launch {

/// Programs for the nodes as one tar file: the agent and what the plan starts from {bindir}, with
/// the shared libraries that a node without them lacks in lib/. Equal content has an equal hash.
struct Bundle {
  std::filesystem::path file;
  std::string sha256;
  std::uint64_t size = 0;
};

/// Names of the programs that the plan's commands take from {bindir}; "assay-agent" is first.
[[nodiscard]] std::vector<std::string> programs_of(const plan::Plan& plan);

/// Makes the bundle in the user's cache, or finds it there when the programs have not changed.
/// Throws Error of kind environment that names what is missing.
[[nodiscard]] Bundle make_bundle(const std::filesystem::path& bindir,
                                 const std::vector<std::string>& programs);

/// The paths that ldd's output names, without the C library's own: those belong to the node. Pure.
[[nodiscard]] std::vector<std::string> libraries_to_ship(const std::string& ldd_output);

}  // namespace assay::launch
