#pragma once

#include <filesystem>
#include <string>

#include "entry/rank_place.h"

namespace assay::entry {

/// The configuration of an sshd that serves one connection beside a rank, with the rank's
/// environment and in its folder. `folder` holds its keys, and the script of begin_script() as
/// `begin`; `sftp_server` is that program, empty where there is none: then the script is not used,
/// and only sftp begins in the rank's folder. Pure.
[[nodiscard]] std::string sshd_config(const std::filesystem::path& folder, const RankPlace& place,
                                      const std::string& sftp_server);

/// What sshd starts for a command, a shell or sftp: the same, in the rank's folder. Where that is
/// gone, it is at home, as sshd has it. Pure.
[[nodiscard]] std::string begin_script(const RankPlace& place);

}  // namespace assay::entry
