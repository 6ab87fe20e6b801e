#pragma once

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "core/subprocess.h"
#include "needs.h"

namespace assay::e2e {

/// What a story in a real browser lacks here, in the words of needs.h; empty: nothing.
inline std::string missing_for_a_story() {
  if (std::system("command -v chromium >/dev/null 2>&1") != 0) return needs::package("chromium");
  return needs::python_with("json").empty() ? needs::package("python3") : "";
}

/// Runs a story of tests/web to its end.
inline CommandResult tell_story(const std::string& name, const std::vector<std::string>& arguments,
                                std::chrono::seconds limit = std::chrono::seconds(240)) {
  std::vector<std::string> argv{needs::python_with("json"),
                                std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/web" / name};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return run_command(argv, {.timeout = limit, .env = {}});
}

}  // namespace assay::e2e
