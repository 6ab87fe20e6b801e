#include "tester/comparison_page.h"

#include <span>
#include <string>

#include "compare/render.h"
#include "page/template.h"
#include "report/html_page.h"
#include "tester/page_parts.h"
#include "tester/tester_assets.h"

namespace assay::tester {

namespace {

using page::Html;
using page::markup;

Html side_fact_of(const TestRecord& test) {
  return markup("{}, {}, {}", test.name.empty() ? test.run_id : test.name, test_link(test.id),
                test.token);
}

std::string summary_of(const compare::Comparisons& changes) {
  return changes.sides.empty() ? std::string() : compare::verdict_sentence(changes.sides.front());
}

}  // namespace

Json comparison_json(const ComparedTests& tests) {
  Json out = compare::to_json(tests.changes.sides.at(0));
  out["tests"] = {{"base", tests.base.id}, {"new", tests.candidate.id}};
  return out;
}

serve::HttpResponse comparison_page(const ComparedTests& tests) {
  using report::html::fact;
  return html_response(
      "Comparison",
      page::fill(assets::kComparison,
                 {{"masthead", report::html::plain_masthead(
                                   top("Two runs compared", summary_of(tests.changes),
                                       fact("A, the base", side_fact_of(tests.base)) +
                                           fact("B, the new one", side_fact_of(tests.candidate))))},
                  {"navigation", navigation("")},
                  {"base", tests.base.id},
                  {"new", tests.candidate.id},
                  {"sections", compare::html_sections(tests.changes, tests.base_side,
                                                      std::span(&tests.new_side, 1))}}));
}

}  // namespace assay::tester
