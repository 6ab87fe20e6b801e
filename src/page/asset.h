#pragma once

#include <string_view>

namespace assay::page {

/// A file of a folder's assets/, embedded at build time (cmake/Assets.cmake).
struct Asset {
  std::string_view name;  ///< "masthead.html"
  std::string_view text;
  std::string_view sha256;  ///< 64 hex digits
};

}  // namespace assay::page
