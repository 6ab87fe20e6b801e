#pragma once

#include <filesystem>
#include <string>

#include "plan/plan.h"

namespace assay::commands {

/// The owner's files for a job on nodes reached by ssh, while this lives: the content of `from` in
/// the folder `to` on every host of the plan. Throws Error of kind launch if a host cannot get it,
/// of kind environment for a plan without such hosts.
class RemoteCode {
 public:
  RemoteCode(const plan::Plan& plan, const std::filesystem::path& from, std::string to);
  RemoteCode(const RemoteCode&) = delete;
  RemoteCode& operator=(const RemoteCode&) = delete;
  ~RemoteCode();

 private:
  const plan::Plan& plan_;
  std::string to_;
};

/// Removes what an earlier process left there. Best effort.
void remove_remote_code(const plan::Plan& plan, const std::string& folder);

}  // namespace assay::commands
