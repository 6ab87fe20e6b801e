#pragma once

#include <string>
#include <vector>

#include "plan/launchers/launcher_traits.h"

namespace assay::plan {

/// The launcher `local` has no options.
struct LocalOptions {
  static constexpr const char* kName = "local";
  static constexpr const char* kDescription = "this machine: agents are child processes of assay";

  [[nodiscard]] static const std::vector<std::string>& keys() {
    static const std::vector<std::string> none;
    return none;
  }
  [[nodiscard]] LauncherTraits traits() const {
    return {.one_machine = true, .one_clock = true, .shares_files = true};
  }
  [[nodiscard]] std::unique_ptr<launch::Launcher> make_launcher(
      const Cluster& cluster, const std::filesystem::path& bindir) const;
  bool operator==(const LocalOptions&) const = default;

  static void fields(auto& /*self*/, auto&& /*field*/) {}
};

}  // namespace assay::plan
