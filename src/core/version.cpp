#include "core/version.h"

namespace assay {

std::string version_string() {
  const BuildInfo& info = build_info();
  return info.version + "+" + info.revision + (info.dirty ? "-dirty" : "");
}

}  // namespace assay
