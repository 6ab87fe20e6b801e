#include "agent/dlws_home.h"

#include <cstdlib>

#include <sys/stat.h>
#include <unistd.h>

namespace assay::agent {

namespace fs = std::filesystem;

namespace {

constexpr const char* kUserName = "DLWS_USER_NAME";

bool is_own_folder(const fs::path& path) {
  struct stat entry {};
  return ::stat(path.c_str(), &entry) == 0 && S_ISDIR(entry.st_mode) && entry.st_uid == ::geteuid();
}

}  // namespace

DlwsHome::DlwsHome(std::map<std::string, std::string>& env, const fs::path& ib_config,
                   const fs::path& homes)
    : target_(ib_config) {
  const auto job = env.find("DLWS_JOB_ID");
  if (job == env.end()) return;
  // Avoids the system's list, because a static program cannot ask directory services.
  const char* user = std::getenv("USER");
  if (user == nullptr) user = std::getenv("LOGNAME");
  if (user == nullptr && !env.contains(kUserName)) return;
  const std::string& name = env.try_emplace(kUserName, user == nullptr ? "" : user).first->second;
  const fs::path home = homes / name;
  if (name.empty() || name.find('/') != std::string::npos || !is_own_folder(home)) return;
  std::error_code ec;
  if (fs::exists(target_, ec)) {
    // Keeps a user's own file; a link is ours or was left by a round that was killed.
    const fs::path link = home / "ib_config";
    if (fs::is_symlink(link, ec)) fs::remove(link, ec);
    fs::create_symlink(target_, link, ec);
    if (!ec) link_ = link;
  }
  if (job->second.find('/') == std::string::npos)
    fs::create_directories(home / "tensorboard" / job->second / "logs", ec);
}

DlwsHome::~DlwsHome() {
  std::error_code ec;
  if (!link_.empty() && fs::read_symlink(link_, ec) == target_ && !ec) fs::remove(link_, ec);
}

}  // namespace assay::agent
