#include "door/say_page.h"

#include "core/error.h"
#include "core/text.h"
#include "door/door_assets.h"
#include "lang/language.h"
#include "page/markup.h"
#include "page/template.h"

namespace assay::door {

serve::HttpResponse notice_page(const Notice& notice, const std::string& languages) {
  const lang::Language language = lang::preferred_language(languages);
  const auto said = [&](std::string_view english) { return lang::in_language(language, english); };
  page::Html detail;
  // Line by line, so that line ends are not escaped.
  if (!notice.detail.empty())
    for (const std::string_view line : split(notice.detail, '\n'))
      detail += page::markup("{}\n", line);
  serve::HttpResponse out;
  out.status = notice.status;
  out.type = "text/html; charset=utf-8";
  out.body = page::fill(assets::kNotice,
                        {{"language", language == lang::Language::chinese ? "zh-CN" : "en"},
                         {"title", said("This endpoint cannot be shown now")},
                         {"what", said(notice.what)},
                         {"advice", said(notice.advice)},
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

}  // namespace assay::door
