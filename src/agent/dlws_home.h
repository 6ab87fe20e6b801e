#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace assay::agent {

/// Provides what commands of the Apulis platform expect (docs/rendezvous.md): the user's name,
/// where unset, `/home/NAME/ib_config` and `~/tensorboard/JOB/logs`.
class DlwsHome {
 public:
  /// Completes `env`, the environment of the round's ranks; `ib_config` is this round's. Does
  /// nothing without DLWS_JOB_ID in `env`, or in a home that is not this user's.
  DlwsHome(std::map<std::string, std::string>& env, const std::filesystem::path& ib_config,
           const std::filesystem::path& homes = "/home");
  /// Removes the link, unless a later round has replaced it with its own.
  ~DlwsHome();
  DlwsHome(const DlwsHome&) = delete;
  DlwsHome& operator=(const DlwsHome&) = delete;

 private:
  std::filesystem::path link_;
  std::filesystem::path target_;
};

}  // namespace assay::agent
