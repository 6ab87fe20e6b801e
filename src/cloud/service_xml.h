#pragma once

#include <string_view>

#include <pugixml.hpp>

namespace assay::cloud {

/// Parses a service's answer; returns false if it is not XML. Elements then go by their local
/// names: <s3:Key> becomes <Key>.
bool load_xml(pugi::xml_document& document, std::string_view text);

}  // namespace assay::cloud
