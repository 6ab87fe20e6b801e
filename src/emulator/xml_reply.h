#pragma once

#include <string>

#include <pugixml.hpp>

#include "emulator/streaming_server.h"

namespace assay::emulator {

/// Adds <name>text</name>, escaped.
void add_text(pugi::xml_node to, const char* name, const std::string& text);

[[nodiscard]] ServerResponse xml_reply(const pugi::xml_document& document, int status = 200);

}  // namespace assay::emulator
