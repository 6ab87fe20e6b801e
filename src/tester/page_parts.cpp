#include "tester/page_parts.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "page/document.h"
#include "page/template.h"
#include "tester/tester_assets.h"

namespace assay::tester {

using page::Html;
using page::markup;

serve::HttpResponse html_response(std::string_view title, const Html& body, int status) {
  serve::HttpResponse response;
  response.status = status;
  response.type = "text/html; charset=utf-8";
  response.body = page::document(title, body);
  response.headers.emplace_back(
      "Content-Security-Policy",
      "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
      "form-action 'self'; frame-ancestors 'none'");
  return response;
}

report::html::Masthead top(std::string title, std::string sentence, Html facts) {
  return {.brand = "Assay tester",
          .title = std::move(title),
          .sentence = std::move(sentence),
          .facts = std::move(facts)};
}

Html section(std::string_view title, const Html& content) {
  return page::fill(assets::kSection, {{"title", title}, {"content", content}});
}

Html tests_table(const page::Table& table) {
  return page::to_html(table, {.css = "tests"});
}

judge::Validity validity_of(std::string_view text) {
  return parse_enum<judge::Validity>(text).value_or(judge::Validity::incomplete);
}

Html test_link(const std::string& id) {
  return markup("<a href=\"/tests/{0}\"><code>{0}</code></a>", id);
}

Html navigation(std::string_view here) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kPages{
      {{"/tests", "Tests"}, {"/leaderboard", "Leaderboard"}}};
  Html links;
  for (const auto& [address, title] : kPages)
    links += markup("<a href=\"{}\"{}>{}</a>", address,
                    Html(address == here ? " aria-current=\"page\"" : ""), title);
  return markup("<nav class=\"places\">{}</nav>", links);
}

std::string signature_words(const std::string& fingerprint, const std::string& name) {
  if (fingerprint.empty()) return "nobody";
  return name.empty()
             ? fingerprint + ", a key that this tester does not know, and so does not trust"
             : fmt::format("{}, known here as {}, whose key this tester trusts", fingerprint, name);
}

}  // namespace assay::tester
