#include "serve/http_status.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "serve/refusal.h"

namespace assay::serve {

std::string_view reason_of(int status) {
  static constexpr std::array<std::pair<int, std::string_view>, 29> kReasons{
      {{200, "OK"},
       {201, "Created"},
       {202, "Accepted"},
       {302, "Found"},
       {303, "See Other"},
       {304, "Not Modified"},
       {400, "Bad Request"},
       {401, "Unauthorized"},
       {403, "Forbidden"},
       {404, "Not Found"},
       {405, "Method Not Allowed"},
       {409, "Conflict"},
       {410, "Gone"},
       {413, "Content Too Large"},
       {414, "URI Too Long"},
       {415, "Unsupported Media Type"},
       {417, "Expectation Failed"},
       {421, "Misdirected Request"},
       {422, "Unprocessable Content"},
       {429, "Too Many Requests"},
       {431, "Request Header Fields Too Large"},
       {500, "Internal Server Error"},
       {501, "Not Implemented"},
       {502, "Bad Gateway"},
       {503, "Service Unavailable"},
       {504, "Gateway Timeout"},
       {505, "HTTP Version Not Supported"},
       {507, "Insufficient Storage"},
       {508, "Loop Detected"}}};
  const auto* const found =
      std::ranges::find(kReasons, status, &std::pair<int, std::string_view>::first);
  return found == kReasons.end() ? "Unknown" : found->second;
}

std::string answer_bytes(const HttpResponse& response) {
  std::string out =
      fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n", response.status,
                  reason_of(response.status), response.type, response.body.size());
  for (const auto& [name, value] : response.headers) out += name + ": " + value + "\r\n";
  out += "Connection: close\r\n\r\n";
  return out + response.body;
}

std::string raw_answer(const HeadFault& fault) {
  HttpResponse response =
      response_of(Refusal(fault.status, std::string(code_of(fault)), fault.text));
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  return answer_bytes(response);
}

}  // namespace assay::serve
