#include "report/html_page.h"

#include "page/document.h"
#include "page/template.h"
#include "report/html_parts.h"
#include "report/mllog.h"
#include "report/report_assets.h"

namespace assay::report::html {

using page::Html;
using page::markup;

namespace {

Html masthead_of(const Masthead& parts, std::string_view css, const Html& seal) {
  return page::fill(assets::kMasthead, {{"class", css},
                                        {"brand", parts.brand},
                                        {"named", parts.named},
                                        {"title", parts.title},
                                        {"sentence", parts.sentence},
                                        {"seal", seal},
                                        {"facts", parts.facts}});
}

}  // namespace

Html fact(std::string_view name, const Html& value) {
  return value.empty() ? Html() : page::fill(assets::kFact, {{"name", name}, {"value", value}});
}

Html fact(std::string_view name, std::string_view value) {
  return fact(name, Html::text(value));
}

Html code(std::string_view text) {
  return text.empty() ? Html() : markup("<code>{}</code>", text);
}

Html time_element(const std::string& iso) {
  if (!parse_iso_ms(iso)) return Html::text(iso);
  return markup("<time datetime=\"{}\">{} {} UTC</time>", iso, iso.substr(0, 10),
                iso.substr(11, 8));
}

std::string version_of(const Json& provenance) {
  if (!provenance.is_object()) return {};
  for (const char* key : {"assay", "assay_version", "version"}) {
    const auto found = provenance.find(key);
    if (found == provenance.end()) continue;
    if (found->is_string()) return found->get<std::string>();
    if (found->is_object() && found->contains("version") && (*found)["version"].is_string())
      return (*found)["version"].get<std::string>();
  }
  return {};
}

Html masthead(const Masthead& parts, judge::Validity validity, std::string_view run_id) {
  return masthead_of(parts, css_class(validity), seal(validity, run_id));
}

Html plain_masthead(const Masthead& parts) {
  return masthead_of(parts, "plain", {});
}

std::string page(std::string_view title, const Html& body) {
  return page::document(title, body, &assets::kCharts);
}

}  // namespace assay::report::html
