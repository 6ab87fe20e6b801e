#include "door/say_page.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "core/text.h"
#include "page/markup.h"

namespace assay::door {

namespace {

constexpr std::string_view kStyle =
    "body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:4rem auto;padding:0 1rem;"
    "color:#1f2328;background:#fff}pre{overflow:auto;padding:1rem;background:#f6f8fa;font-size:"
    "13px}"
    "@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}"
    "pre{background:#161b22}}";

bool wants_chinese(const std::string& accepted) {
  const std::string languages = to_lower(accepted);
  const auto zh = languages.find("zh");
  const auto en = languages.find("en");
  return zh != std::string::npos && (en == std::string::npos || zh < en);
}

std::string title_in(bool chinese) {
  return chinese ? "此端点现在无法打开" : "This endpoint cannot be shown now";
}

}  // namespace

serve::HttpResponse notice_page(const Notice& notice, const std::string& languages) {
  const bool chinese = wants_chinese(languages);
  const std::string title = title_in(chinese);
  page::Html body = page::markup("<h1>{}</h1>\n<p>{}</p>\n", title, notice.what);
  if (!notice.advice.empty()) body += page::markup("<p>{}</p>\n", notice.advice);
  if (!notice.detail.empty()) {
    // Line by line: their ends are not to be escaped.
    body += page::Html("<pre>");
    for (const std::string_view line : split(notice.detail, '\n'))
      body += page::markup("{}\n", line);
    body += page::Html("</pre>\n");
  }
  serve::HttpResponse out;
  out.status = notice.status;
  out.type = "text/html; charset=utf-8";
  out.body = fmt::format(
      "<!doctype html>\n<html lang=\"{}\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width\"><title>{}</title><style>{}</style>"
      "</head><body>\n{}</body></html>\n",
      chinese ? "zh-CN" : "en", page::escape_markup(title), kStyle, body.str());
  out.headers = {{"Content-Security-Policy",
                  "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"},
                 {"X-Content-Type-Options", "nosniff"},
                 {"Referrer-Policy", "no-referrer"},
                 {"Cache-Control", "no-store"}};
  return out;
}

std::string answer_bytes(const serve::HttpResponse& response) {
  std::string out = fmt::format("HTTP/1.1 {} Assay\r\nContent-Type: {}\r\nContent-Length: {}\r\n",
                                response.status, response.type, response.body.size());
  for (const auto& [name, value] : response.headers) out += name + ": " + value + "\r\n";
  return out + "Connection: close\r\n\r\n" + response.body;
}

}  // namespace assay::door
