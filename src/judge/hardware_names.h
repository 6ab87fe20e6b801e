#pragma once

#include <optional>
#include <string>

#include "core/json.h"

namespace assay::judge {

/// Whether `text`, a device's own name or what somebody calls one, names the kind `kind` of a
/// vendor's file, which says `about` it: "NVIDIA H100 80GB HBM3", "h100-sxm" and "Tesla H100" are
/// H100. An A100 is no A10, a V100S no V100, a "K100 AI" no K100.
[[nodiscard]] bool names_kind(const std::string& text, const std::string& kind, const Json& about);

/// The one kind of the vendor's (`known`: name → what its file says) that `text` names; nothing
/// when it names none, or several.
[[nodiscard]] std::optional<std::string> kind_named(const std::string& text, const Json& known);

}  // namespace assay::judge
