#pragma once

#include <string_view>

#include <pugixml.hpp>

namespace assay::cloud {

/// Parses a service's answer; false when it is no XML. Elements go by their names alone afterwards:
/// whoever writes <s3:Key> means <Key>.
bool load_xml(pugi::xml_document& document, std::string_view text);

}  // namespace assay::cloud
