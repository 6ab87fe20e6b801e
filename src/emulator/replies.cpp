#include <fmt/format.h>

#include "emulator/accounts.h"
#include "emulator/xml_text.h"

namespace assay::emulator {

std::string xml_escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("&#{};", static_cast<int>(c));
    } else {
      out += c;
    }
  }
  return out;
}

ServerResponse obs_error(int status, const std::string& code, const std::string& message,
                         const std::string& resource) {
  ServerResponse response;
  response.status = status;
  response.headers.emplace_back("Content-Type", "application/xml");
  response.headers.emplace_back("x-obs-request-id", "0000018F00000000EMULATED00000000");
  response.body = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n<Error><Code>{}</Code>"
      "<Message>{}</Message><Resource>{}</Resource><RequestId>0000018F00000000EMULATED00000000"
      "</RequestId><HostId>emulator</HostId></Error>",
      xml_escape(code), xml_escape(message), xml_escape(resource));
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
