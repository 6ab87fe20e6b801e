#pragma once

#include <string_view>

namespace assay {

/// The environment variable that identifies a round's processes, even after they leave their
/// session or enter a container.
inline constexpr std::string_view kRoundVariable = "ASSAY_ROUND_ID";

/// Set for a round's programs: the folder that holds `ssh` to the other nodes, the agent's socket
/// and the list of hosts (entry/round_ssh.h).
inline constexpr const char* kSshFolderVariable = "ASSAY_SSH_FOLDER";

}  // namespace assay
