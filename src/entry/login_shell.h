#pragma once

#include <string>

namespace assay::entry {

/// The shell for a visitor of a job: `shell`, the SHELL of the visited environment, or if that is
/// empty this user's in /etc/passwd; /bin/sh if it cannot be run or refuses logins. A static
/// program cannot ask directory services, but their users get SHELL from sshd.
[[nodiscard]] std::string login_shell(std::string shell);

}  // namespace assay::entry
