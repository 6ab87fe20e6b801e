#pragma once

#include "entry/round_ssh.h"

namespace assay::entry {

/// Set by a server whose jobs run as users of this machine (`assay serve --job-user`): "NAME", the
/// only one, or kEveryOwner. `ssh -l USER HOST COMMAND` then runs the command as that user.
inline constexpr const char* kAsUserVariable = "ASSAY_AS_USER";
inline constexpr const char* kEveryOwner = "{owner}";

/// Becomes the command as the call's user: in that user's shell and home, with nothing of this
/// process's environment. Returns the exit code 255 if that is impossible.
[[nodiscard]] int run_as_user(const SshCall& call, const std::string& allowed);

}  // namespace assay::entry
