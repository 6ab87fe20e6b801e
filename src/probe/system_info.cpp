#include "probe/system_info.h"

namespace assay::probe {

Json system_info(const std::filesystem::path&) {
  return Json::object();
}

}  // namespace assay::probe
