#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "core/files.h"

namespace assay::launch {

/// A child in a session of its own (a terminal's Ctrl-C reaches only the controller), and this
/// side's ends of its pipes. The caller reaps it.
struct Child {
  pid_t pid = -1;
  UniqueFd input;
  UniqueFd output;
  UniqueFd errors;
};

/// Starts a program found in PATH. Throws Error of kind launch at `label`.
[[nodiscard]] Child spawn_child(const std::vector<std::string>& argv, const std::string& label);

}  // namespace assay::launch
