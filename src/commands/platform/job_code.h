#pragma once

#include <filesystem>
#include <string>

#include "plan/plan.h"

namespace assay::commands {

/// What a job's owner sent, on the nodes that ssh reaches, for as long as this lives: the content
/// of `from` in the folder `to` of every host of the plan. Throws Error of kind launch for a host
/// that cannot get it; kind environment for a plan without such hosts.
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

/// Removes it where an earlier process has left it. Best effort.
void remove_remote_code(const plan::Plan& plan, const std::string& folder);

}  // namespace assay::commands
