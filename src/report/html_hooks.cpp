#include "report/html_hooks.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/text.h"
#include "page/table.h"
#include "report/html_parts.h"
#include "report/present.h"

namespace assay::report::html {

using page::Html;

Html hooks(const std::vector<judge::HookResult>& list) {
  if (list.empty()) return {};
  page::Table table{{{"Hook"},
                     {"When"},
                     {"On"},
                     {"Verdict"},
                     {"Took", page::Align::right},
                     {"Command"},
                     {"Output"}}};
  bool failed = false;
  for (const judge::HookResult& one : list) {
    const bool bad =
        one.verdict == judge::HookVerdict::failed || one.verdict == judge::HookVerdict::timed_out;
    failed |= bad;
    const std::string verdict = one.verdict == judge::HookVerdict::timed_out ? "timed out"
                                : one.verdict == judge::HookVerdict::not_run
                                    ? "not run"
                                    : std::string(to_text(one.verdict));
    page::Row row{
        {page::name(one.hook.name), std::string(to_text(one.hook.when)),
         std::string(to_text(one.hook.on)),
         page::markup("{}<span class=\"sub\">{}</span>", verdict, bad ? one.reason : std::string()),
         one.seconds ? show(*one.seconds, "s").text() : "–",
         page::markup("<code>{}</code>", ellipsize(shell_join(one.hook.command), 200)),
         page::markup("<code>{}</code>", one.output)}};
    if (bad) row.css = one.hook.required ? "bad" : "odd";
    table.rows.push_back(std::move(row));
  }
  return details(fmt::format("{}", counted(list.size(), "hook")),
                 page::scrolling(page::to_html(table)), "hooks", failed);
}

}  // namespace assay::report::html
