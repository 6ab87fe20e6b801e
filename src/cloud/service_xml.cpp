#include "cloud/service_xml.h"

#include <cstring>
#include <string>

namespace assay::cloud {

namespace {

class WithoutPrefixes : public pugi::xml_tree_walker {
 public:
  bool for_each(pugi::xml_node& node) override {
    if (const char* colon = std::strchr(node.name(), ':'))
      node.set_name(std::string(colon + 1).c_str());
    return true;
  }
};

}  // namespace

bool load_xml(pugi::xml_document& document, std::string_view text) {
  if (!document.load_buffer(text.data(), text.size())) return false;
  WithoutPrefixes walk;
  document.traverse(walk);
  return true;
}

}  // namespace assay::cloud
