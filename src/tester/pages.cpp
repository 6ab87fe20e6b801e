#include "tester/pages.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/json_access.h"
#include "core/text.h"
#include "core/units.h"
#include "page/table.h"
#include "page/template.h"
#include "report/html_page.h"
#include "report/html_parts.h"
#include "report/html_system.h"
#include "report/present.h"
#include "tester/page_parts.h"
#include "tester/tester_assets.h"

namespace assay::tester {

namespace {

using page::Align;
using page::Cell;
using page::fill;
using page::Html;
using page::markup;

page::Row test_row(const Json& test) {
  const std::string verdict = text_at(test, "verdict");
  const std::string created = text_at(test, "created");
  std::string title = text_at(test, "name");
  std::string sub = text_at(test, "suite");
  if (title.empty()) std::swap(title, sub);
  const double bytes = test.value("bytes", 0.0);
  return {
      {{markup("{} {}", integer_at(test, "number", 0), test_link(text_at(test, "test_id"))), "w"},
       {markup("{}<span class=\"sub\">{}</span>", title.empty() ? "–" : title, sub), "name"},
       markup("<span class=\"state {0}\">{0}</span>", text_at(test, "status")),
       verdict.empty() ? Html("–") : report::html::chip(validity_of(verdict)),
       text_at(test, "by"),
       text_at(test, "machine", "–"),
       {created.empty() ? Html("–") : report::html::time_element(created), "w"},
       bytes > 0 ? format_bytes(bytes) : "–"}};
}

std::string value_of(const Json& value) {
  if (value.is_null()) return "–";
  return value.is_string() ? value.get<std::string>() : dump_line(value);
}

Html metrics_section(const std::string& name, const Json& metrics) {
  page::Table table{{{"Metric, median over rounds"}, {"Recomputed", Align::right}}};
  const auto add = [&](const std::string& role) {
    for (const auto& [metric, entry] : metrics.items()) {
      if (!entry.is_object() || !entry.contains("value") || !entry["value"].is_number() ||
          text_at(entry, "role") != role)
        continue;
      const report::Shown shown =
          report::show(entry["value"].get<double>(), text_at(entry, "unit"));
      table.rows.push_back(
          {{markup("{}<span class=\"sub\"><code>{}</code></span>", report::metric_title(metric),
                   metric),
            markup("<b>{}</b> <span class=\"unit\">{}</span>", shown.number, shown.unit)}});
    }
  };
  for (const char* role : {"headline", "beside", ""}) add(role);
  if (table.rows.empty()) table.rows.push_back({{Cell("no metric could be computed", "empty")}});
  return section(name, tests_table(table));
}

Html reasons_section(const Json& reasons) {
  page::Table table{{{"Where"}, {"What"}, {"Claimed", Align::right}, {"Recomputed", Align::right}}};
  for (const Json& reason : reasons) {
    page::Row& row = table.rows.emplace_back();
    if (const std::string message = text_at(reason, "message"); !message.empty()) {
      row.cells.emplace_back(message).span = table.columns.size();
      continue;
    }
    const std::string where = text_at(reason, "case");
    row.cells = {where.empty() ? "the run" : where, text_at(reason, "metric"),
                 value_of(reason.value("claimed", Json())),
                 value_of(reason.value("recomputed", Json()))};
  }
  return section("Why it was refused",
                 markup("<div class=\"board\">{}</div>", page::to_html(table, {.cards = true})));
}

// What was checked, who signed it, and what that can and cannot prove.
Html evidence_section(const Json& evidence) {
  const Json& seal = member_at(evidence, "seal");
  const bool sealed = text_at(seal, "state") == "ok";
  page::Table table{{{"Round"}, {"Completeness"}, {"Integrity"}, {"Plausibility"}}};
  for (const Json& round : list_at(evidence, "rounds")) {
    page::Row& row = table.rows.emplace_back();
    row.cells.emplace_back(fmt::format("{}, round {}", text_at(round, "case"),
                                       integer_at(round, "round").value_or(0)));
    for (const char* aspect : {"completeness", "integrity", "plausibility"})
      row.cells.emplace_back(markup("{}<span class=\"sub\">{}</span>",
                                    text_at(member_at(round, aspect), "state"),
                                    text_at(member_at(round, aspect), "text")));
  }
  std::string words =
      sealed ? "The files are those that were recorded while the run went on, and whoever holds "
               "this key sealed them at its end: nothing was changed since. It does not prove that "
               "the machine told the truth: who controls it, and the key, can measure something "
               "else or make all of it up."
             : "The run is not sealed: the numbers follow from the files, but nothing can show "
               "whether these were changed after they were measured.";
  return section(
      "Evidence",
      markup("<p>{}</p><p>Seal: {}. Signed by: {}{}.</p>", words, text_at(seal, "text"),
             signature_words(text_at(seal, "fingerprint"), text_at(seal, "signer")),
             text_at(seal, "signed_at").empty() ? "" : ", " + text_at(seal, "signed_at")) +
          page::scrolling(tests_table(table)));
}

// Compares the answer with the test that was to be repeated.
Html answer_section(const Json& answer) {
  Html differs;
  for (const Json& text : list_at(answer, "differs"))
    if (text.is_string()) differs += markup("<li>{}</li>", text.get<std::string>());
  const bool applied = text_at(answer, "seed_use") == "applied";
  const Json& overlap = member_at(answer, "overlap");
  Html out = markup(
      "<p>Measured again, as this tester asked: {}, case {}, with the seed {}{}.</p><p>{}{}.</p>",
      test_link(text_at(answer, "test")), text_at(answer, "case"),
      integer_at(answer, "seed").value_or(0),
      applied ? "" : ", which the command was offered; whether it used it is its own affair",
      comparison_text(answer),
      !overlap.is_boolean() ? ""
      : overlap.get<bool>() ? "; the confidence intervals overlap"
                            : "; the confidence intervals do not overlap");
  if (list_at(answer, "differs").empty())
    out += markup("<p>Settings, program and key are the same, but for the seed.</p>");
  else
    out += markup("<p>Not the same as then:</p><ul>{}</ul>", differs);
  return section("Answer to a challenge", out);
}

Html challenges_section(const std::vector<ChallengeRecord>& challenges) {
  page::Table table{{{"Issued"}, {"Case"}, {"Seed", Align::right}, {"Until"}, {"Answer"}}};
  for (const ChallengeRecord& one : challenges)
    table.rows.push_back(
        {{report::html::time_element(one.challenge.issued), one.challenge.case_name,
          std::to_string(one.challenge.seed), report::html::time_element(one.challenge.expires),
          one.answered_by.empty() ? Html("none") : test_link(one.answered_by)}});
  return section("Challenges to measure it again", page::scrolling(tests_table(table)));
}

Html relaxed_section(const Json& texts) {
  Html items;
  for (const Json& text : texts)
    if (text.is_string()) items += markup("<li>{}</li>", text.get<std::string>());
  return section("Relaxed rules",
                 markup("<p>The verdict is by these rules, which are wider than this tester's:</p>"
                        "<ul>{}</ul>",
                        items));
}

Html facts_of(const TestRecord& test) {
  using report::html::code;
  using report::html::fact;
  using report::html::time_element;
  return fact("Test", code(test.id)) + fact("Run", code(test.run_id)) +
         fact("Sent by", test.token) +
         fact("Created", test.created.empty() ? Html("–") : time_element(test.created)) +
         fact("Judged", test.finished.empty() ? Html() : time_element(test.finished)) +
         fact("Evidence", test.bytes == 0 ? "" : format_bytes(static_cast<double>(test.bytes)));
}

std::string sentence_of(const TestRecord& test) {
  switch (test.status) {
    case TestStatus::open:
      return "The test has an id, and nothing was sent yet.";
    case TestStatus::uploading:
      return "The evidence is being sent.";
    case TestStatus::refused:
      return "Refused: the evidence was changed, or what was claimed does not follow from it.";
    case TestStatus::accepted:
      break;
  }
  return test.answer.value("identical", false)
             ? "Recomputed from the evidence, with the same result to the byte."
             : "Recomputed from the evidence; every claimed number was found again.";
}

}  // namespace

serve::HttpResponse list_page(const Json& list, const http::Query& query) {
  const auto asked = [&](std::string_view name) {
    for (const auto& [key, value] : query)
      if (key == name) return value;
    return std::string();
  };
  // The same list with these changes.
  const auto address = [&](const http::Query& changes) {
    http::Query out;
    for (const char* key : {"status", "text", "sort", "order", "per_page", "page"}) {
      std::string value = std::string_view(key) == "page" ? "" : asked(key);
      for (const auto& [name, other] : changes)
        if (name == key) value = other;
      if (!value.empty()) out.emplace_back(key, value);
    }
    return out.empty() ? std::string("/tests") : "/tests?" + http::encode_query(out);
  };
  const std::string status = asked("status");
  const auto page = list["page"].get<std::int64_t>();
  const auto per_page = list["per_page"].get<std::int64_t>();
  const auto total = list["total"].get<std::int64_t>();
  const std::int64_t pages = std::max<std::int64_t>(1, (total + per_page - 1) / per_page);

  Html filters;
  for (const std::string choice : {"", "accepted", "refused", "uploading", "open"})
    filters +=
        markup("<a href=\"{}\"{}>{}</a>", address({{"status", choice}}),
               Html(choice == status ? " class=\"on\"" : ""), choice.empty() ? "all" : choice);
  const std::string sorted = asked("sort").empty() ? "number" : asked("sort");
  const bool down = asked("order") != "up";
  const auto column = [&](const char* title, TestSort sort, Align align = Align::left) {
    const std::string name(to_text(sort));
    const bool here = name == sorted;
    return page::Column{.title = title,
                        .align = align,
                        .link = address({{"sort", name}, {"order", here && down ? "up" : "down"}}),
                        .sorted = !here  ? ""
                                  : down ? "descending"
                                         : "ascending"};
  };
  page::Table table{{column("Test", TestSort::number),
                     column("Name", TestSort::name),
                     column("Status", TestSort::status),
                     column("Verdict", TestSort::verdict),
                     column("Sent by", TestSort::by),
                     column("Machine", TestSort::machine),
                     {"Created"},
                     column("Evidence", TestSort::bytes, Align::right)}};
  for (const Json& test : list["tests"]) table.rows.push_back(test_row(test));
  const auto link = [&](std::int64_t to, std::string_view text) {
    return to < 1 || to > pages
               ? Html()
               : markup("<a href=\"{}\">{}</a>", address({{"page", std::to_string(to)}}), text);
  };
  Html kept;
  for (const char* key : {"status", "sort", "order", "per_page"})
    if (const std::string value = asked(key); !value.empty())
      kept += markup("<input type=\"hidden\" name=\"{}\" value=\"{}\">", key, value);
  const std::string sentence =
      counted(total, "test") + "; results are recomputed here from the evidence.";
  return html_response(
      "Tests", fill(assets::kTests,
                    {{"masthead", report::html::plain_masthead(top("Tests", sentence))},
                     {"navigation", navigation("/tests")},
                     {"filters", filters},
                     {"text", asked("text")},
                     {"kept", kept},
                     {"tests", table.rows.empty() ? Html() : page::to_html(table, {.cards = true})},
                     {"empty", table.rows.empty()},
                     {"newer", link(page - 1, "← newer")},
                     {"page", page},
                     {"pages", pages},
                     {"older", link(page + 1, "older →")}}));
}

serve::HttpResponse test_page(const TestRecord& test,
                              const std::vector<ChallengeRecord>& challenges) {
  const std::string title = !test.name.empty()    ? test.name
                            : !test.suite.empty() ? test.suite
                                                  : "Test " + test.id;
  const bool accepted = test.status == TestStatus::accepted;
  const report::html::Masthead head = top(title, sentence_of(test), facts_of(test));
  Html sections;
  if (const Json& relaxed = list_at(test.answer, "relaxed"); accepted && !relaxed.empty())
    sections += relaxed_section(relaxed);
  if (const Json& answer = member_at(test.answer, "challenge"); accepted && answer.is_object())
    sections += answer_section(answer);
  if (const auto metrics = test.answer.find("metrics");
      accepted && metrics != test.answer.end() && metrics->is_object())
    for (const auto& [name, values] : metrics->items()) sections += metrics_section(name, values);
  if (const Json& evidence = member_at(test.answer, "evidence"); accepted && evidence.is_object())
    sections += evidence_section(evidence);
  if (!challenges.empty()) sections += challenges_section(challenges);
  if (test.status == TestStatus::refused)
    sections += reasons_section(test.answer.value("reasons", Json::array()));
  if (test.ais.is_object() && !test.ais.empty())
    sections += section("ais-bench", report::html::json_tree(test.ais));
  if (test.system.is_object() && !test.system.empty())
    sections += section("System, as it was described", report::html::json_tree(test.system));
  return html_response(
      title,
      fill(assets::kTest, {{"masthead", accepted ? report::html::masthead(
                                                       head, validity_of(test.verdict), test.run_id)
                                                 : report::html::plain_masthead(head)},
                           {"accepted", accepted},
                           {"id", test.id},
                           {"sections", sections}}));
}

serve::HttpResponse page_of(const serve::Refusal& refusal) {
  serve::HttpResponse response = html_response(
      std::to_string(refusal.status),
      fill(assets::kRefusal,
           {{"masthead", report::html::plain_masthead(top(refusal.message, refusal.advice))}}),
      refusal.status);
  if (refusal.retry_after_s > 0)
    response.headers.emplace_back("Retry-After", std::to_string(refusal.retry_after_s));
  if (!refusal.allow.empty()) response.headers.emplace_back("Allow", refusal.allow);
  return response;
}

}  // namespace assay::tester
