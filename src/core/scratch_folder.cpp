#include "core/scratch_folder.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include <sys/stat.h>

#include "core/error.h"

namespace assay {

namespace fs = std::filesystem;

namespace {

fs::path temporary_parent() {
  const char* chosen = std::getenv("TMPDIR");
  return chosen != nullptr && *chosen != '\0' ? chosen : "/tmp";
}

}  // namespace

ScratchFolder::ScratchFolder(const std::string& name) try
    : ScratchFolder(temporary_parent(), name) {
} catch (const Error& error) {
  throw Error(error.kind(), error.message(), error.where(),
              "set TMPDIR to a folder that can be written");
}

ScratchFolder::ScratchFolder(const fs::path& parent, const std::string& name) {
  std::string pattern = (parent / (name + "-XXXXXX")).string();
  if (::mkdtemp(pattern.data()) == nullptr)
    throw system_error(ErrorKind::environment, "cannot make a temporary folder", parent.string(),
                       errno);
  path_ = pattern;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

void ScratchFolder::keep_as(const fs::path& target) {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  if (::chmod(path_.c_str(), 0777 & ~mask) != 0 || ::rename(path_.c_str(), target.c_str()) != 0)
    throw system_error(ErrorKind::environment, "cannot name the new folder", target.string(),
                       errno);
  path_.clear();
}

}  // namespace assay
