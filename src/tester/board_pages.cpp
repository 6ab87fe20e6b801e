#include "tester/board_pages.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "core/parse_number.h"
#include "core/text.h"
#include "page/table.h"
#include "page/template.h"
#include "report/html_parts.h"
#include "report/present.h"
#include "report/scatter.h"
#include "serve/refusal.h"
#include "tester/page_parts.h"
#include "tester/tester_assets.h"

namespace assay::tester {

namespace {

using page::Align;
using page::fill;
using page::Html;
using page::markup;

constexpr std::size_t kMaxParameter = 400;

std::int64_t whole(const std::string& name, const std::string& text, std::int64_t max) {
  const auto value = parse_number<std::int64_t>(text);
  if (!value || *value < 1 || *value > max)
    throw serve::Refusal(400, "bad_parameter",
                         fmt::format("'{}' must be a whole number from 1 to {}", name, max));
  return *value;
}

struct TextParameter {
  const char* name;
  std::string BoardQuery::*value;
};
constexpr std::array<TextParameter, 8> kTexts{{{"suite", &BoardQuery::suite},
                                               {"case", &BoardQuery::case_name},
                                               {"work", &BoardQuery::work},
                                               {"hardware", &BoardQuery::hardware},
                                               {"verdict", &BoardQuery::verdict},
                                               {"signer", &BoardQuery::signer},
                                               {"text", &BoardQuery::text},
                                               {"test", &BoardQuery::test}}};

http::Query to_query(const BoardQuery& query) {
  const BoardQuery standard;
  http::Query out;
  for (const TextParameter& one : kTexts)
    if (!(query.*one.value).empty()) out.emplace_back(one.name, query.*one.value);
  if (query.sort != standard.sort) out.emplace_back("sort", std::string(to_text(query.sort)));
  if (query.descending) out.emplace_back("order", "down");
  if (query.page != 1) out.emplace_back("page", std::to_string(query.page));
  if (query.per_page != standard.per_page)
    out.emplace_back("per_page", std::to_string(query.per_page));
  return out;
}

std::string address_of(const char* path, const BoardQuery& query) {
  const std::string text = http::encode_query(to_query(query));
  return text.empty() ? path : std::string(path) + "?" + text;
}

// If more is better, the first click shows the best.
bool best_is_largest(BoardSort sort) {
  return sort == BoardSort::value || sort == BoardSort::date || sort == BoardSort::devices;
}

page::Column column(const BoardQuery& query, const char* title, BoardSort sort,
                    Align align = Align::left) {
  BoardQuery sorted = query;
  sorted.page = 1;
  sorted.sort = sort;
  sorted.descending = query.sort == sort ? !query.descending : best_is_largest(sort);
  page::Column out{.title = title, .align = align, .link = address_of("/leaderboard", sorted)};
  if (query.sort == sort) out.sorted = query.descending ? "descending" : "ascending";
  return out;
}

std::string value_text(const BoardLine& line) {
  const BoardEntry& entry = line.entry;
  return entry.metric.name.empty()
             ? "–"
             : report::show(entry.value, entry.metric.unit, entry.half).text();
}

Html amount(const std::optional<double>& value, std::string_view unit, std::string_view per,
            std::string_view remark) {
  if (!value) return Html("–");
  const report::Shown shown = report::show(*value, unit);
  return markup("<b>{}</b> <span class=\"unit\">{}/{}</span>{}", shown.number, shown.unit, per,
                remark.empty() ? Html() : markup("<span class=\"sub\">{}</span>", remark));
}

std::string energy_remark(const PerResult& per) {
  return per.energy_origin == judge::Origin::measured ? std::string()
                                                      : std::string(to_text(per.energy_origin));
}

std::string money_text(double value) {
  return fmt::format("{:.4g}", value);
}

Html price_of(const BoardLine& line, const std::string& currency) {
  if (!line.price) return Html("–");
  const std::string& what = line.entry.per.what;
  // A single sample costs next to nothing.
  const bool many = what == "sample" || what == "token";
  return markup("<b>{}</b> <span class=\"unit\">{}/{}</span>",
                money_text(*line.price * (many ? 1e6 : 1)), currency,
                many ? "million " + what + "s" : what);
}

Html signature_of(const BoardLine& line) {
  if (line.fingerprint.empty()) return markup("<span class=\"state\">not signed</span>");
  if (line.signer.empty())
    return markup(
        "<span class=\"state\">unknown key</span><span class=\"sub\"><code>{}</code></span>",
        ellipsize(line.fingerprint, 20));
  return markup(
      "<span class=\"state accepted\">{}, known here</span><span class=\"sub\"><code>{}</code>"
      "</span>",
      line.signer, ellipsize(line.fingerprint, 20));
}

std::string place_words(const BoardEntry& entry) {
  std::string out = counted(entry.nodes, "node") + " × " + counted(entry.procs, "proc");
  if (entry.devices > 0) out += ", " + counted(entry.devices, "device");
  return out;
}

page::Row row_of(const BoardLine& line, const std::string& currency) {
  const BoardEntry& entry = line.entry;
  const std::string who = line.name.empty() ? line.run_id : line.name;
  return {
      {markup("<span class=\"place\">{}</span>{}<span class=\"sub\">{}{}</span>",
              line.place > 0 ? fmt::format("{}", line.place) : "–", entry.case_name, entry.suite,
              entry.work.empty() ? "" : ": " + entry.work),
       markup("<b>{}</b><span class=\"sub\">{}{}</span>", value_text(line),
              entry.metric.name.empty() ? "no headline" : report::metric_title(entry.metric.name),
              entry.rounds > 0 ? ", " + counted(entry.rounds, "round") : ""),
       markup("{}<span class=\"sub\">{}</span>", entry.hardware, place_words(entry)),
       markup("{}{}", report::html::chip(entry.verdict),
              entry.relaxed ? Html("<span class=\"sub\">relaxed rules</span>") : Html()),
       amount(entry.per.energy_j, "J", entry.per.what, energy_remark(entry.per)),
       price_of(line, currency), signature_of(line),
       markup("<a href=\"/tests/{0}/report.html\">{1}</a><span class=\"sub\">{2}, {3}</span>",
              line.test, who, test_link(line.test), line.by),
       markup("<label><input type=\"radio\" name=\"base\" value=\"{0}\" form=\"compare\">A"
              "</label> <label><input type=\"radio\" name=\"new\" value=\"{0}\" "
              "form=\"compare\">B</label>",
              line.test)}};
}

page::Table table_of(const BoardView& view) {
  page::Table table{{column(view.query, "Case", BoardSort::place),
                     column(view.query, "Result", BoardSort::value, Align::right),
                     column(view.query, "Hardware", BoardSort::hardware),
                     column(view.query, "Verdict", BoardSort::verdict),
                     column(view.query, "Energy", BoardSort::energy, Align::right),
                     column(view.query, "Price", BoardSort::price, Align::right),
                     column(view.query, "Signed by", BoardSort::signer),
                     column(view.query, "Run", BoardSort::date),
                     {.title = "Compare"}}};
  for (const BoardLine& line : view.page.lines) table.rows.push_back(row_of(line, view.currency));
  return table;
}

Html options_of(const char* name, const char* title, const std::string& chosen,
                const std::vector<std::pair<std::string, std::string>>& choices,
                const char* none = "all") {
  Html options = markup("<option value=\"\">{}</option>", none);
  for (const auto& [value, text] : choices)
    options += markup("<option value=\"{}\"{}>{}</option>", value,
                      Html(value == chosen ? " selected" : ""), ellipsize(text, 80));
  return markup("<label>{}<select name=\"{}\">{}</select></label>", title, name, options);
}

Html filters_of(const BoardView& view) {
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  const BoardQuery& query = view.query;
  const auto same = [](const std::vector<std::string>& texts) {
    Pairs out;
    for (const std::string& text : texts) out.emplace_back(text, text);
    return out;
  };
  Pairs cases;
  for (const BoardChoices::Case& one : view.choices.cases)
    if ((query.suite.empty() || one.suite == query.suite) &&
        std::ranges::find(cases, one.name, &Pairs::value_type::first) == cases.end())
      cases.emplace_back(one.name, one.name);
  Pairs signers{{"unknown", "keys that are not known"}, {"none", "not signed"}};
  for (const KnownSigner& signer : view.signers) signers.emplace_back(signer.name, signer.name);
  // A narrow screen has no headings for sorting.
  const Pairs sorts{{"value", "result"},      {"energy", "energy"},   {"price", "price"},
                    {"hardware", "hardware"}, {"verdict", "verdict"}, {"signer", "signature"},
                    {"name", "name"},         {"date", "date"}};
  const std::string sort = query.sort == BoardSort::place ? "" : std::string(to_text(query.sort));
  return options_of("suite", "Suite", query.suite, same(view.choices.suites)) +
         options_of("case", "Case", query.case_name, cases) +
         options_of("hardware", "Hardware", query.hardware, same(view.choices.hardware)) +
         options_of("verdict", "Verdict", query.verdict, same({"VALID", "INVALID", "INCOMPLETE"})) +
         options_of("signer", "Signed by", query.signer, signers) +
         options_of("sort", "Sorted by", sort, sorts, "case and place") +
         options_of("order", "Order", query.descending ? "down" : "", {{"down", "largest first"}},
                    "smallest first");
}

// The parameters that the form keeps in addition to its own fields.
Html kept_of(const BoardQuery& query) {
  Html out;
  for (const auto& [name, value] : to_query(query))
    if (name == "per_page" || name == "work")
      out += markup("<input type=\"hidden\" name=\"{}\" value=\"{}\">", name, value);
  return out;
}

Html chart_of(const BoardView& view) {
  if (view.group.empty()) return {};
  const BoardEntry& first = view.group.front().entry;
  const std::string title = report::metric_title(first.metric.name);
  report::Scatter scatter{.title = "Speed against energy",
                          .x = {title, first.metric.unit},
                          .y = {"energy per " + first.per.what, "J"},
                          .points = {},
                          .front = "no other run is better in both",
                          .other = "other VALID runs"};
  for (const BoardLine& line : view.group) {
    const std::string who = line.name.empty() ? line.run_id : line.name;
    scatter.points.push_back({line.entry.value, line.entry.per.energy_j.value_or(0),
                              fmt::format("{}: {}, {} per {}, {}", who, value_text(line),
                                          report::show(*line.entry.per.energy_j, "J").text(),
                                          line.entry.per.what, line.entry.hardware),
                              "/tests/" + line.test, line.pareto, line.pareto ? who : ""});
  }
  return section(fmt::format("{} · {}", first.suite, first.case_name),
                 report::render_scatter(scatter));
}

std::string legend_of(const BoardView& view) {
  static constexpr std::array<const char*, 3> kKinds{
      "half of the 95 % confidence interval of the mean", "of two rounds their standard deviation",
      "of one round half of the interval over its steps"};
  std::vector<std::string> used;
  for (std::size_t kind = 0; kind < kKinds.size(); ++kind)
    if (std::ranges::any_of(view.page.lines, [&](const BoardLine& line) {
          return line.entry.half && static_cast<std::size_t>(line.entry.half_kind) == kind;
        }))
      used.emplace_back(kKinds[kind]);
  return used.empty() ? "not known" : join(used, "; ");
}

Json line_json(const BoardLine& line, const std::string& currency) {
  const BoardEntry& entry = line.entry;
  Json out{{"place", line.place > 0 ? Json(line.place) : Json()},
           {"suite", entry.suite},
           {"case", entry.case_name},
           {"work", entry.work},
           {"model", entry.model},
           {"framework", entry.framework},
           {"hardware", entry.hardware},
           {"machine", line.machine},
           {"nodes", entry.nodes},
           {"procs", entry.procs},
           {"devices", entry.devices},
           {"verdict", to_text(entry.verdict)},
           {"relaxed", entry.relaxed},
           {"headline", nullptr},
           {"energy", nullptr},
           {"price", nullptr},
           {"pareto", line.pareto},
           {"signature",
            {{"state", line.fingerprint.empty() ? "unsigned"
                       : line.signer.empty()    ? "unknown"
                                                : "known"},
             {"text", "signed by " + signature_words(line.fingerprint, line.signer)}}},
           {"test", line.test},
           {"name", line.name},
           {"by", line.by},
           {"run_id", line.run_id},
           {"finished", line.finished},
           {"page", "/tests/" + line.test},
           {"report", "/tests/" + line.test + "/report.html"}};
  if (!line.fingerprint.empty()) out["signature"]["fingerprint"] = line.fingerprint;
  if (!line.signer.empty()) out["signature"]["signer"] = line.signer;
  if (!entry.metric.name.empty()) {
    out["headline"] = {
        {"metric", entry.metric.name}, {"title", report::metric_title(entry.metric.name)},
        {"unit", entry.metric.unit},   {"better", to_text(entry.metric.better)},
        {"value", entry.value},        {"rounds", entry.rounds}};
    if (entry.half) {
      out["headline"]["half"] = *entry.half;
      out["headline"]["half_of"] = to_text(entry.half_kind);
    }
  }
  if (entry.per.energy_j)
    out["energy"] = {{"value", *entry.per.energy_j},
                     {"unit", "J"},
                     {"per", entry.per.what},
                     {"origin", to_text(entry.per.energy_origin)}};
  if (line.price)
    out["price"] = {{"value", *line.price}, {"currency", currency}, {"per", entry.per.what}};
  return out;
}

}  // namespace

BoardQuery parse_board_query(const std::string& text) {
  BoardQuery out;
  for (const auto& [key, value] : http::parse_form(text)) {
    if (value.size() > kMaxParameter)
      throw serve::Refusal(400, "bad_parameter", "a parameter has more than 400 bytes");
    const auto* const known = std::ranges::find(kTexts, key, &TextParameter::name);
    if (known != kTexts.end()) out.*known->value = value;
    if (value.empty()) continue;
    if (key == "page") out.page = whole(key, value, 1'000'000);
    if (key == "per_page") out.per_page = whole(key, value, 100);
    if (key == "order") {
      if (value != "up" && value != "down")
        throw serve::Refusal(400, "bad_parameter", "there is no such order", "one of: up, down");
      out.descending = value == "down";
    }
    if (key == "sort") {
      const auto sort = parse_enum<BoardSort>(value);
      if (!sort)
        throw serve::Refusal(400, "bad_parameter", "the board is not sorted by that",
                             "one of: " + enum_choices<BoardSort>());
      out.sort = *sort;
    }
  }
  if (!out.verdict.empty() && !parse_enum<judge::Validity>(out.verdict))
    throw serve::Refusal(400, "bad_parameter", "there is no such verdict",
                         "one of: VALID, INVALID, INCOMPLETE");
  return out;
}

std::string board_address(const BoardQuery& query) {
  return address_of("/leaderboard", query);
}

Json board_json(const BoardView& view) {
  Json entries = Json::array();
  for (const BoardLine& line : view.page.lines) entries.push_back(line_json(line, view.currency));
  Json cases = Json::array();
  for (const BoardChoices::Case& one : view.choices.cases)
    cases.push_back({{"suite", one.suite}, {"case", one.name}, {"lines", one.lines}});
  return {{"entries", std::move(entries)},   {"page", view.query.page},
          {"per_page", view.query.per_page}, {"total", view.page.total},
          {"cases", std::move(cases)},       {"hardware", view.choices.hardware}};
}

serve::HttpResponse board_page(const BoardView& view) {
  const BoardQuery& query = view.query;
  const std::int64_t pages =
      std::max<std::int64_t>(1, (view.page.total + query.per_page - 1) / query.per_page);
  const auto link = [&](std::int64_t to, std::string_view text) {
    if (to < 1 || to > pages) return Html();
    BoardQuery other = query;
    other.page = to;
    return markup("<a href=\"{}\">{}</a>", board_address(other), text);
  };
  const bool empty = view.page.lines.empty();
  return html_response(
      "Leaderboard",
      fill(assets::kLeaderboard,
           {{"masthead",
             report::html::plain_masthead(
                 top("Leaderboard", counted(view.page.total, "result") +
                                        " of accepted runs, computed here from their evidence."))},
            {"navigation", navigation("/leaderboard")},
            {"choices", filters_of(view)},
            {"text", query.text},
            {"kept", kept_of(query)},
            {"chart", chart_of(view)},
            {"lines", empty ? Html() : page::to_html(table_of(view), {.cards = true})},
            {"empty", empty},
            {"compare", !empty},
            {"before", link(query.page - 1, "← before")},
            {"page", query.page},
            {"pages", pages},
            {"after", link(query.page + 1, "after →")},
            {"legend", legend_of(view)},
            {"prices", !view.currency.empty()},
            {"json", address_of("/api/v1/leaderboard", query)}}));
}

}  // namespace assay::tester
