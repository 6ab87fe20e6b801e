#pragma once

#include <filesystem>
#include <string>

#include "entry/rank_place.h"

namespace assay::entry {

/// The configuration of an sshd that serves one connection beside a rank, with the rank's
/// environment and folder. `folder` contains its keys, and begin_script() as `begin`; `sftp_server`
/// is that program, or empty: the script is then not used, and only sftp begins in the rank's
/// folder. Pure.
[[nodiscard]] std::string sshd_config(const std::filesystem::path& folder, const RankPlace& place,
                                      const std::string& sftp_server);

/// The script that sshd starts for a command, a shell or sftp: the same thing, in the rank's
/// folder, or, if that is gone, in sshd's default, the home. Pure.
[[nodiscard]] std::string begin_script(const RankPlace& place);

}  // namespace assay::entry
