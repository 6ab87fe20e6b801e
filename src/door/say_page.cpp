#include "door/say_page.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"
#include "door/door_assets.h"
#include "page/markup.h"
#include "page/template.h"

namespace assay::door {

namespace {

bool wants_chinese(const std::string& accepted) {
  const std::string languages = to_lower(accepted);
  const auto zh = languages.find("zh");
  const auto en = languages.find("en");
  return zh != std::string::npos && (en == std::string::npos || zh < en);
}

}  // namespace

serve::HttpResponse notice_page(const Notice& notice, const std::string& languages) {
  const bool chinese = wants_chinese(languages);
  page::Html detail;
  // Line by line: their ends are not to be escaped.
  if (!notice.detail.empty())
    for (const std::string_view line : split(notice.detail, '\n'))
      detail += page::markup("{}\n", line);
  serve::HttpResponse out;
  out.status = notice.status;
  out.type = "text/html; charset=utf-8";
  out.body =
      page::fill(assets::kNotice,
                 {{"language", chinese ? "zh-CN" : "en"},
                  {"title", chinese ? "此端点现在无法打开" : "This endpoint cannot be shown now"},
                  {"what", notice.what},
                  {"advice", notice.advice},
                  {"detail", detail}})
          .str();
  out.headers = {{"Content-Security-Policy",
                  "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"},
                 {"X-Content-Type-Options", "nosniff"},
                 {"Referrer-Policy", "no-referrer"},
                 {"Cache-Control", "no-store"}};
  return out;
}

serve::HttpResponse failure_page(const std::exception& error, const std::string& languages) {
  const auto* const known = dynamic_cast<const Error*>(&error);
  if (known != nullptr && (known->kind() == ErrorKind::usage || known->kind() == ErrorKind::config))
    return notice_page({404, known->message(), known->advice(), ""}, languages);
  if (known != nullptr && known->kind() == ErrorKind::environment)
    return notice_page({503, "The server cannot answer now.", "Try again in a moment.", ""},
                       languages);
  return notice_page({500, "The server failed.", "Its operator finds the cause in its log.", ""},
                     languages);
}

std::string answer_bytes(const serve::HttpResponse& response) {
  std::string out = fmt::format("HTTP/1.1 {} Assay\r\nContent-Type: {}\r\nContent-Length: {}\r\n",
                                response.status, response.type, response.body.size());
  for (const auto& [name, value] : response.headers) out += name + ": " + value + "\r\n";
  return out + "Connection: close\r\n\r\n" + response.body;
}

}  // namespace assay::door
