#pragma once

#include <string_view>

namespace assay {

/// The environment variable that identifies a round's processes, even after they leave their
/// session or enter a container.
inline constexpr std::string_view kRoundVariable = "ASSAY_ROUND_ID";

/// Of the round's programs: the folder in which `ssh` to its other nodes, the agent's socket and
/// the list of hosts lie (entry/round_ssh.h).
inline constexpr const char* kSshFolderVariable = "ASSAY_SSH_FOLDER";

}  // namespace assay
