#pragma once

// What a test lacks that is skipped: GTEST_SKIP() << needs::package("prometheus"). Every skip says
// it in these words: scripts/run-tests.sh names what was skipped, and in CI fails for what this
// system could have run.
#include <cstdlib>
#include <string>

#include <unistd.h>

namespace assay::needs {

/// Packages (of scripts/install-deps.sh), separated by spaces. To be had where apt knows them.
inline std::string package(const std::string& names) {
  return "needs package " + names;
}

/// A device for CUDA. To be had where the driver shows one.
inline std::string gpu() {
  return "needs gpu";
}

/// What this kernel, container, machine or build does not offer, and no package brings.
inline std::string system(const std::string& what) {
  return "needs system: " + what;
}

/// Root, and a system that lets it.
inline std::string root(const std::string& why) {
  return ::geteuid() == 0 ? system("not even root is allowed " + why) : "needs root: " + why;
}

/// What is installed, but does not do its work here. Never fine in CI.
inline std::string repair(const std::string& what) {
  return "needs repair: " + what;
}

/// A Python that has `modules`, such as "numpy, torch": that of the system, for which packages are,
/// or the one on the PATH. Empty: neither.
inline std::string python_with(const std::string& modules) {
  for (const std::string python : {"/usr/bin/python3", "python3"})
    if (std::system((python + " -c 'import " + modules + "' >/dev/null 2>&1").c_str()) == 0)
      return python;
  return {};
}

}  // namespace assay::needs
