#include <fmt/format.h>

#include "report/assets.h"
#include "report/html_parts.h"
#include "report/markup.h"
#include "report/mllog.h"

namespace assay::report::html {

namespace {

// The policy names the one script by its hash: text from logs can never run, and nothing is loaded.
std::string script_hash() {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const std::string_view hex = assets::script_sha256();
  std::string out;
  for (std::size_t i = 0; i < hex.size(); i += 6) {
    const std::string_view part = hex.substr(i, 6);
    unsigned bits = 0;
    for (const char c : part)
      bits = bits << 4 | static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10);
    bits <<= (6 - part.size()) * 4;
    const std::size_t digits = part.size() == 6 ? 4 : part.size() == 4 ? 3 : 2;
    for (std::size_t k = 0; k < digits; ++k) out += kDigits[bits >> (18 - 6 * k) & 63];
    out.append(4 - digits, '=');
  }
  return "sha256-" + out;
}

}  // namespace

std::string fact(std::string_view name, const std::string& value) {
  return value.empty() ? std::string()
                       : fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", name, value);
}

std::string time_element(const std::string& iso) {
  if (!parse_iso_ms(iso)) return escape_markup(iso);
  return fmt::format("<time datetime=\"{}\">{} {} UTC</time>", escape_markup(iso),
                     escape_markup(iso.substr(0, 10)), escape_markup(iso.substr(11, 8)));
}

std::string version_of(const Json& provenance) {
  if (!provenance.is_object()) return {};
  for (const char* key : {"assay", "assay_version", "version"}) {
    const auto found = provenance.find(key);
    if (found == provenance.end()) continue;
    if (found->is_string()) return escape_markup(found->get<std::string>());
    if (found->is_object() && found->contains("version") && (*found)["version"].is_string())
      return escape_markup((*found)["version"].get<std::string>());
  }
  return {};
}

std::string masthead(judge::Validity validity, std::string_view run_id, std::string_view brand,
                     std::string_view title, std::string_view sentence, std::string_view facts) {
  return fmt::format(
      "<header class=\"top {}\"><div class=\"title\"><p class=\"brand\"><svg viewBox=\"0 0 20 20\" "
      "aria-hidden=\"true\"><path d=\"M10 1.5l7.4 4.25v8.5L10 18.5l-7.4-4.25v-8.5z\"/><path "
      "d=\"M6.4 13.2L10 5.4l3.6 7.8M7.7 10.6h4.6\"/></svg>{}</p><h1>{}</h1><p "
      "class=\"verdict\">{}</p></div>{}<dl class=\"facts\">{}</dl></header>\n",
      css_class(validity), escape_markup(brand), escape_markup(title), escape_markup(sentence),
      seal(validity, run_id), facts);
}

std::string page(std::string_view title, std::string_view style, std::string_view body) {
  const std::string_view script = assets::script();
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
      "http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; script-src '{}'; img-src data:\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" "
      "content=\"light dark\">\n<title>{} · Assay</title>\n<link rel=\"icon\" "
      "href=\"data:,\">\n"
      "<style>\n{}</style>\n</head>\n<body>\n<main>\n{}</main>\n<script>{}</script>\n</body>\n"
      "</html>\n",
      script_hash(), escape_markup(title), style, body, script);
}

}  // namespace assay::report::html
