#include "page/document.h"

#include "page/page_assets.h"
#include "page/template.h"

namespace assay::page {

namespace {

// A script's name in a content security policy: "sha256-" and base64.
std::string hash_source(std::string_view hex) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out = "sha256-";
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
  return out;
}

}  // namespace

std::string script_source(const Asset& script) {
  return hash_source(script.sha256);
}

std::string document(std::string_view title, const Html& body, const Asset* script) {
  return fill(assets::kPage,
              {{"title", title},
               {"style", Html(std::string(assets::kStyle.text))},
               {"body", body},
               {"script_hash", script == nullptr ? Html() : Html(script_source(*script))},
               {"script", script == nullptr ? Html() : Html(std::string(script->text))}})
      .str();
}

}  // namespace assay::page
