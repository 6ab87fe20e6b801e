#include "serve/pages.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "core/units.h"
#include "report/assets.h"
#include "report/html_parts.h"
#include "report/markup.h"
#include "report/present.h"

namespace assay::serve {

namespace {

using report::escape_markup;

// Follows report.css.
constexpr std::string_view kStyle = R"(
header.plain { grid-template-columns: 1fr; padding-bottom: 30px; background: var(--paper); }
header.plain .facts { margin-bottom: -30px; }
.filters { display: flex; flex-wrap: wrap; gap: 8px; margin-bottom: 14px; }
.filters a, .pages a { padding: 3px 13px; border: 1px solid var(--line-strong); border-radius: 99px;
  font-size: 13.5px; text-decoration: none; }
.filters a.on { background: var(--ink); border-color: var(--ink); color: var(--paper); }
.pages { display: flex; gap: 10px; align-items: center; margin-top: 18px; color: var(--muted); }
.tests { width: 100%; border-collapse: collapse; }
.tests th, .tests td { padding: 10px 14px 10px 0; border-top: 1px solid var(--line);
  text-align: left; vertical-align: top; font-weight: 400; overflow-wrap: break-word; }
.tests thead th { border-top: 0; color: var(--muted); font-size: 12px; font-weight: 600;
  letter-spacing: 0.04em; text-transform: uppercase; white-space: nowrap; }
.tests td.n, .tests th.n { text-align: right; padding-right: 0; white-space: nowrap; }
.tests td.nowrap { white-space: nowrap; }
.tests td.name { min-width: 150px; }
.state { display: inline-block; white-space: nowrap; padding: 1px 10px; border-radius: 99px; font-size: 12.5px;
  font-weight: 600; background: var(--note-bg); color: var(--note); }
.state.accepted { background: var(--valid-bg); color: var(--valid); }
.state.refused { background: var(--invalid-bg); color: var(--invalid); }
.empty { padding: 30px 0; color: var(--muted); text-align: center; }
.back { margin-bottom: 12px; font-size: 14px; }
.actions { display: flex; flex-wrap: wrap; gap: 10px; margin-top: 16px; }
.actions a { padding: 7px 18px; border-radius: 8px; background: var(--accent); color: var(--paper);
  font-weight: 600; text-decoration: none; }
.actions a.second { background: none; color: var(--accent);
  box-shadow: inset 0 0 0 1px var(--line-strong); }
section > h2 { margin-bottom: 12px; }
h2 .chip { margin-left: 10px; vertical-align: 3px; font-family: var(--sans); }
)";

HttpResponse html_response(std::string_view title, std::string_view body, int status = 200) {
  HttpResponse response;
  response.status = status;
  response.type = "text/html; charset=utf-8";
  response.body = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
      "name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta "
      "name=\"color-scheme\" content=\"light dark\">\n<title>{} · Assay</title>\n<link "
      "rel=\"icon\" "
      "href=\"data:,\">\n<style>\n{}{}</style>\n</head>\n<body>\n<main>\n{}</main>\n</body>\n"
      "</html>\n",
      escape_markup(title), report::assets::style(), kStyle, body);
  response.headers.emplace_back(
      "Content-Security-Policy",
      "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
      "form-action 'none'; frame-ancestors 'none'");
  return response;
}

std::string plain_header(std::string_view title, std::string_view sentence,
                         std::string_view facts) {
  return fmt::format(
      "<header class=\"top plain\"><div class=\"title\"><p class=\"brand\"><svg viewBox=\"0 0 20 "
      "20\" aria-hidden=\"true\"><path d=\"M10 1.5l7.4 4.25v8.5L10 18.5l-7.4-4.25v-8.5z\"/><path "
      "d=\"M6.4 13.2L10 5.4l3.6 7.8M7.7 10.6h4.6\"/></svg>Assay tester</p><h1>{}</h1><p "
      "class=\"verdict\">{}</p></div>{}</header>\n",
      escape_markup(title), escape_markup(sentence),
      facts.empty() ? std::string() : fmt::format("<dl class=\"facts\">{}</dl>", facts));
}

judge::Validity validity_of(std::string_view text) {
  for (const judge::Validity one : {judge::Validity::valid, judge::Validity::invalid})
    if (text == judge::to_string(one)) return one;
  return judge::Validity::incomplete;
}

std::string state(std::string_view status) {
  return fmt::format("<span class=\"state {0}\">{0}</span>", escape_markup(status));
}

std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::string when(const std::string& iso) {
  return iso.empty() ? "–" : report::html::time_element(iso);
}

std::string test_row(const Json& test) {
  const std::string id = text_at(test, "test_id");
  const std::string verdict = text_at(test, "verdict");
  std::string title = text_at(test, "name");
  std::string sub = text_at(test, "suite");
  if (title.empty()) std::swap(title, sub);
  return fmt::format(
      "<tr><td class=\"nowrap\"><a href=\"/tests/{0}\"><code>{0}</code></a></td><td "
      "class=\"name\">{1}<span "
      "class=\"sub\">{2}</span></td><td>{3}</td><td>{4}</td><td>{5}</td><td "
      "class=\"nowrap\">{6}</td><td class=\"n\">{7}</td></tr>\n",
      escape_markup(id), title.empty() ? "–" : escape_markup(title), escape_markup(sub),
      state(text_at(test, "status")),
      verdict.empty() ? "–" : report::html::chip(validity_of(verdict)),
      escape_markup(text_at(test, "by")), when(text_at(test, "created")),
      test.value("bytes", 0.0) > 0 ? escape_markup(format_bytes(test.value("bytes", 0.0))) : "–");
}

std::string value_of(const Json& value) {
  if (value.is_null()) return "–";
  if (value.is_string()) return escape_markup(value.get<std::string>());
  return escape_markup(dump_line(value));
}

std::string metrics_section(const std::string& name, const Json& metrics) {
  std::string rows;
  for (const auto& [metric, entry] : metrics.items()) {
    if (!entry.is_object() || !entry.contains("value") || !entry["value"].is_number()) continue;
    const report::Shown shown = report::show(entry["value"].get<double>(), text_at(entry, "unit"));
    rows += fmt::format(
        "<tr><td>{}<span class=\"sub\"><code>{}</code></span></td><td class=\"n\"><b>{}</b> <span "
        "class=\"unit\">{}</span></td></tr>\n",
        escape_markup(report::metric_title(metric)), escape_markup(metric),
        escape_markup(shown.number), escape_markup(shown.unit));
  }
  if (rows.empty()) rows = "<tr><td class=\"empty\">no metric could be computed</td></tr>";
  return fmt::format(
      "<section><h2>{}</h2><table class=\"tests\"><thead><tr><th>Metric, median over "
      "rounds</th><th "
      "class=\"n\">Recomputed</th></tr></thead><tbody>{}</tbody></table></section>\n",
      escape_markup(name), rows);
}

std::string reasons_section(const Json& reasons) {
  std::string rows;
  for (const Json& one : reasons) {
    const std::string message = text_at(one, "message");
    if (!message.empty())
      rows += fmt::format("<tr><td colspan=\"4\">{}</td></tr>\n", escape_markup(message));
    else
      rows += fmt::format(
          "<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td><td "
          "class=\"n\">{}</td></tr>\n",
          escape_markup(text_at(one, "case").empty() ? "the run" : text_at(one, "case")),
          escape_markup(text_at(one, "metric")), value_of(one.value("claimed", Json())),
          value_of(one.value("recomputed", Json())));
  }
  return fmt::format(
      "<section><h2>Why it was refused</h2><table class=\"tests\"><thead><tr><th>Where</th><th>What"
      "</th><th class=\"n\">Claimed</th><th class=\"n\">Recomputed</th></tr></thead><tbody>{}"
      "</tbody></table></section>\n",
      rows);
}

std::string facts_of(const TestRecord& test) {
  using report::html::fact;
  std::string facts = fact("Test", "<code>" + escape_markup(test.id) + "</code>");
  facts +=
      fact("Run", test.run_id.empty() ? "" : "<code>" + escape_markup(test.run_id) + "</code>");
  facts += fact("Sent by", escape_markup(test.token));
  facts += fact("Created", when(test.created));
  facts += fact("Judged", test.finished.empty() ? "" : when(test.finished));
  facts +=
      fact("Evidence",
           test.bytes == 0 ? "" : escape_markup(format_bytes(static_cast<double>(test.bytes))));
  return facts;
}

std::string sentence_of(const TestRecord& test) {
  switch (test.status) {
    case TestStatus::open:
      return "The test has an id, and nothing was sent yet.";
    case TestStatus::uploading:
      return "The evidence is being sent.";
    case TestStatus::refused:
      return "Refused: what was claimed does not follow from the evidence.";
    case TestStatus::accepted:
      break;
  }
  return test.answer.value("identical", false)
             ? "Recomputed from the evidence, with the same result to the byte."
             : "Recomputed from the evidence; every claimed number was found again.";
}

}  // namespace

HttpResponse list_page(const Json& list, const http::Query& query) {
  std::string status;
  for (const auto& [key, value] : query)
    if (key == "status") status = value;
  const auto page = list["page"].get<std::int64_t>();
  const auto per_page = list["per_page"].get<std::int64_t>();
  const auto total = list["total"].get<std::int64_t>();
  const std::int64_t pages = std::max<std::int64_t>(1, (total + per_page - 1) / per_page);

  std::string filters;
  for (const std::string_view one : {"", "accepted", "refused", "uploading", "open"})
    filters +=
        fmt::format("<a href=\"/{}\"{}>{}</a>", one.empty() ? "" : "?status=" + std::string(one),
                    one == status ? " class=\"on\"" : "", one.empty() ? "all" : one);
  std::string rows;
  for (const Json& test : list["tests"]) rows += test_row(test);
  const auto link = [&](std::int64_t to, std::string_view text) {
    return to < 1 || to > pages
               ? std::string()
               : fmt::format("<a href=\"/?status={}&amp;per_page={}&amp;page={}\">{}</a>",
                             escape_markup(http::percent_encode(status)), per_page, to, text);
  };
  const std::string body = fmt::format(
      "{}<section><nav class=\"filters\">{}</nav>{}<nav class=\"pages\">{}<span>page {} of {}"
      "</span>{}</nav></section>\n",
      plain_header("Tests",
                   fmt::format("{} test{}; results are recomputed here from the evidence.", total,
                               total == 1 ? "" : "s"),
                   ""),
      filters,
      rows.empty()
          ? std::string("<p class=\"empty\">There is no such test yet. <code>assay push RUN --to "
                        "URL</code> sends one.</p>")
          : "<div class=\"scroll\"><table class=\"tests\"><thead><tr><th>Test</th><th>Name</th><th>"
            "Status</th><th>Verdict</th><th>Sent by</th><th>Created</th><th class=\"n\">Evidence"
            "</th></tr></thead><tbody>\n" +
                rows + "</tbody></table></div>",
      link(page - 1, "← newer"), page, pages, link(page + 1, "older →"));
  return html_response("Tests", body);
}

HttpResponse test_page(const TestRecord& test) {
  const std::string title = !test.name.empty()    ? test.name
                            : !test.suite.empty() ? test.suite
                                                  : "Test " + test.id;
  std::string body = "<p class=\"back\"><a href=\"/\">← all tests</a></p>\n";
  if (test.status == TestStatus::accepted)
    body += report::html::masthead(validity_of(test.verdict), test.run_id, "Assay tester", title,
                                   sentence_of(test), facts_of(test));
  else
    body += plain_header(title, sentence_of(test), facts_of(test));
  if (test.status == TestStatus::accepted) {
    body += fmt::format(
        "<section><h2>Result</h2><p>The tester computed verdict, metrics and report itself.</p><p "
        "class=\"actions\"><a href=\"/tests/{0}/report.html\">Full report</a><a class=\"second\" "
        "href=\"/api/v1/tests/{0}/result\">result.json</a></p></section>\n",
        escape_markup(test.id));
    if (const auto metrics = test.answer.find("metrics");
        metrics != test.answer.end() && metrics->is_object())
      for (const auto& [name, values] : metrics->items()) body += metrics_section(name, values);
  }
  if (test.status == TestStatus::refused)
    body += reasons_section(test.answer.value("reasons", Json::array()));
  if (test.ais.is_object() && !test.ais.empty())
    body += "<section><h2>ais-bench</h2>" + report::html::json_tree(test.ais) + "</section>\n";
  if (test.system.is_object() && !test.system.empty())
    body += "<section><h2>System, as it was described</h2>" + report::html::json_tree(test.system) +
            "</section>\n";
  return html_response(title, body);
}

HttpResponse page_of(const Refusal& refusal) {
  HttpResponse response = html_response(std::to_string(refusal.status),
                                        plain_header(refusal.message, refusal.advice, "") +
                                            "<p class=\"back\"><a href=\"/\">← all "
                                            "tests</a></p>\n",
                                        refusal.status);
  if (refusal.retry_after_s > 0)
    response.headers.emplace_back("Retry-After", std::to_string(refusal.retry_after_s));
  return response;
}

}  // namespace assay::serve
