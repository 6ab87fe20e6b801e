#include "report/html_configuration.h"

#include <fmt/format.h>

#include "core/text.h"
#include "page/table.h"
#include "report/html_parts.h"
#include "report/html_system.h"
#include "report/present.h"

namespace assay::report::html {

using page::Html;
using page::markup;

namespace {

constexpr std::size_t kMaxValue = 400;  // in characters; result.json has all of it

std::string value_text(const Json& value) {
  if (value.is_string()) return ellipsize(value.get<std::string>(), kMaxValue);
  return ellipsize(dump_line(value), kMaxValue);
}

}  // namespace

Html rules_notice(const judge::CaseResult& result) {
  Html out;
  for (const ChangedRule& changed : changed_rules(result))
    out += remark(
        markup("<b>{}</b> {}", changed.relaxed ? "Relaxed rule" : "Stricter rule", changed.text));
  return out;
}

Html configuration(const judge::CaseResult& result) {
  if (result.configuration.empty()) return {};
  page::Table table{{{"Setting"}, {"Value"}, {"Origin"}, {"Use"}}};
  for (const plan::Setting& setting : result.configuration)
    table.rows.push_back(
        {{markup("<code>{}</code>", setting.key), page::name(value_text(setting.value)),
          setting.origin.empty() ? "–" : setting.origin, setting.use}});
  return details(
      fmt::format("Configuration: {} values and where they come from", result.configuration.size()),
      page::scrolling(page::to_html(table)), "stats");
}

Html what_ran(const judge::RoundResult& round) {
  if (round.executed.empty()) return {};
  return details("What ran", json_tree(Json{{"nodes", round.executed}}));
}

Html rules_in_force(const judge::CaseResult& result) {
  if (result.rules.empty()) return {};
  page::Table table{{{"Rule"}, {"Fact"}, {"Bound"}, {"Severity"}, {"Origin"}}};
  for (const catalog::Rule& rule : result.rules)
    table.rows.push_back(
        {{markup("<code>{}</code>", rule.id), rule.fact, catalog::bound_text(rule),
          std::string(to_text(rule.severity)), rule.origin.empty() ? "–" : rule.origin}});
  return details(fmt::format("Rules in force: {}", result.rules.size()),
                 page::scrolling(page::to_html(table)), "stats");
}

}  // namespace assay::report::html
