#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace assay::agent {

/// What commands of the Apulis platform take for granted in their home (docs/rendezvous.md): the
/// user's name, where nobody said it, `/home/NAME/ib_config`, and `~/tensorboard/JOB/logs`.
class DlwsHome {
 public:
  /// Completes `env`, which the round's ranks get. `ib_config`: of this round. Nothing is done
  /// without DLWS_JOB_ID in it, nor in a home that is not this user's.
  DlwsHome(std::map<std::string, std::string>& env, const std::filesystem::path& ib_config,
           const std::filesystem::path& homes = "/home");
  /// Takes the link back, unless a later round has put its own there.
  ~DlwsHome();
  DlwsHome(const DlwsHome&) = delete;
  DlwsHome& operator=(const DlwsHome&) = delete;

 private:
  std::filesystem::path link_;
  std::filesystem::path target_;
};

}  // namespace assay::agent
