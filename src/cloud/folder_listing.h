#pragma once

#include <string>

#include "cloud/obs.h"

namespace assay::cloud {

/// Throws Error of kind environment that names the key unless every key and folder begins with
/// `prefix` and none is repeated: such a list decides which objects are removed and which files
/// written. Pure; `where` is the store.
void check_listing(const Listing& listing, const std::string& prefix, const std::string& where);

}  // namespace assay::cloud
