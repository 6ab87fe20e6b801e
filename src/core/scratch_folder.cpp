#include "core/scratch_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "core/error.h"

namespace assay {

namespace fs = std::filesystem;

ScratchFolder::ScratchFolder(const std::string& name) {
  const char* chosen = std::getenv("TMPDIR");
  const fs::path parent = chosen != nullptr && *chosen != '\0' ? chosen : "/tmp";
  std::string pattern = (parent / (name + "-XXXXXX")).string();
  if (::mkdtemp(pattern.data()) == nullptr)
    throw Error(ErrorKind::environment,
                std::string("cannot make a temporary folder: ") + std::strerror(errno),
                parent.string(), "set TMPDIR to a folder that can be written");
  path_ = pattern;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace assay
