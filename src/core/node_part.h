#pragma once

#include <string>

namespace assay::layout {

// A node that was lost to its round and came back begins another part of it (counted from 1). Each
// part has processes, a chain of hashes and a folder of its own.

/// The folder of a part, from the node's: "vm_noderank0", then "vm_noderank0.part2".
[[nodiscard]] std::string part_folder(const std::string& node_folder, int part);

/// The round's id (ASSAY_ROUND_ID) there.
[[nodiscard]] std::string part_id(const std::string& round_id, int part);

}  // namespace assay::layout
