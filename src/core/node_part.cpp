#include "core/node_part.h"

namespace assay::layout {

std::string part_folder(const std::string& node_folder, int part) {
  return part > 1 ? node_folder + ".part" + std::to_string(part) : node_folder;
}

std::string part_id(const std::string& round_id, int part) {
  return part > 1 ? round_id + "." + std::to_string(part) : round_id;
}

}  // namespace assay::layout
