#pragma once

#include <filesystem>
#include <string>

#include "entry/rank_place.h"

namespace assay::entry {

/// The configuration of an sshd that serves one connection beside a rank, with the rank's
/// environment. `folder` holds its keys. Pure.
[[nodiscard]] std::string sshd_config(const std::filesystem::path& folder, const RankPlace& place);

}  // namespace assay::entry
