#pragma once

#include <span>
#include <string>
#include <string_view>

#include "page/asset.h"

namespace assay::web {

/// The pages of the platform: index.html, style.css (the report's with their own), scripts and
/// messages. They ask for each other by relative addresses below static/.
[[nodiscard]] std::span<const page::Asset> files();

/// The media type of a file by its name.
[[nodiscard]] std::string_view media_type(std::string_view name);

/// index.html for one run without a server: its pages show the run whose interface is at `api`.
[[nodiscard]] std::string run_page(std::string_view api);

}  // namespace assay::web
