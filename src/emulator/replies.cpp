#include <sstream>

#include "emulator/cloud_accounts.h"
#include "emulator/xml_reply.h"

namespace assay::emulator {

void add_text(pugi::xml_node to, const char* name, const std::string& text) {
  to.append_child(name).text().set(text.c_str());
}

ServerResponse xml_reply(const pugi::xml_document& document, int status) {
  std::ostringstream text;
  text << "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n";
  document.save(text, "",
                pugi::format_raw | pugi::format_no_declaration | pugi::format_no_empty_element_tags,
                pugi::encoding_utf8);
  ServerResponse response;
  response.status = status;
  response.headers.emplace_back("Content-Type", "application/xml");
  response.body = std::move(text).str();
  return response;
}

ServerResponse obs_error(int status, const std::string& code, const std::string& message,
                         const std::string& resource) {
  static const std::string kRequest = "0000018F00000000EMULATED00000000";
  pugi::xml_document document;
  pugi::xml_node error = document.append_child("Error");
  add_text(error, "Code", code);
  add_text(error, "Message", message);
  add_text(error, "Resource", resource);
  add_text(error, "RequestId", kRequest);
  add_text(error, "HostId", "emulator");
  ServerResponse response = xml_reply(document, status);
  response.headers.emplace_back("x-obs-request-id", kRequest);
  return response;
}

ServerResponse json_reply(int status, const Json& body) {
  ServerResponse response;
  response.status = status;
  response.headers.emplace_back("Content-Type", "application/json;charset=UTF-8");
  if (status != 204) response.body = dump_line(body);
  return response;
}

ServerResponse modelarts_error(int status, const std::string& code, const std::string& message) {
  return json_reply(status, {{"error_msg", message}, {"error_code", code}, {"error_solution", ""}});
}

}  // namespace assay::emulator
