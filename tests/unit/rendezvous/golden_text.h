#pragma once

#include <string>

#include "core/files.h"

namespace assay::rendezvous {

inline std::string golden(const std::string& name) {
  return read_file(std::string(ASSAY_SOURCE_DIR) + "/tests/golden/rendezvous/" + name);
}

}  // namespace assay::rendezvous
