#pragma once

#include <string>

#include "cloud/obs.h"

namespace assay::cloud {

/// Objects are removed and files written by such a list: throws Error of kind environment, which
/// names the key, unless every key and folder begins with `prefix` and none is there twice. Pure;
/// `where` is the store.
void check_listing(const Listing& listing, const std::string& prefix, const std::string& where);

}  // namespace assay::cloud
