#pragma once

#include "entry/round_ssh.h"

namespace assay::entry {

/// Of a server whose jobs run as users of this machine (`assay serve --job-user`): "NAME", the only
/// one, or kEveryOwner. With it `ssh -l USER HOST COMMAND` runs the command here, as that user.
inline constexpr const char* kAsUserVariable = "ASSAY_AS_USER";
inline constexpr const char* kEveryOwner = "{owner}";

/// Becomes the command as the user of the call: a shell of theirs, in their home, with nothing of
/// this process's environment. Gives the exit code where that is not possible: 255.
[[nodiscard]] int run_as_user(const SshCall& call, const std::string& allowed);

}  // namespace assay::entry
