#include <algorithm>

#include <fmt/format.h>

#include "compare/render.h"
#include "page/markup.h"

namespace assay::compare {

namespace {

using page::escape_markup;

struct TestCounts {
  int tests = 0;
  int failures = 0;
  int skipped = 0;
  [[nodiscard]] std::string text() const {
    return fmt::format("tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"0.000\"",
                       tests, failures, skipped);
  }
};

class Suite {
 public:
  Suite(const Comparison& side, std::size_t number, bool bounds, std::span<const Excess> over)
      : bounds_(bounds) {
    for (const Excess& excess : over)
      if (excess.side == number) over_.push_back(&excess);
    for (const CaseChange& change : side.cases) add(change);
    for (const Excess* excess : over_)
      if (excess->case_name.empty()) test("bounds", "bounds", {excess->text}, "", "");
  }

  TestCounts counts;
  std::string body;

 private:
  void add(const CaseChange& change) {
    if (!change.refused.empty()) {
      const std::vector<std::string> failed = failures_of(change.name, "");
      test(change.name, "case", failed, failed.empty() ? "not compared: " + change.refused : "",
           "");
      return;
    }
    for (const MetricChange& metric : change.metrics) {
      std::vector<std::string> failed = failures_of(change.name, metric.info.name);
      const std::string said =
          fmt::format("{}: {} -> {} ({}, 95 %: {})", verdict_word(metric),
                      median_text(metric.base, metric.info.unit),
                      median_text(metric.candidate, metric.info.unit),
                      percent_text(metric.level.change), interval_text(metric.level.interval));
      if (!bounds_ && metric.verdict == Verdict::worse) failed.push_back(said);
      test(change.name, metric.info.name, failed, "",
           metric.note.empty() ? said : said + "\n" + metric.note);
    }
    for (const LeftOut& left : change.left_out) {
      const std::vector<std::string> failed = failures_of(change.name, left.metric);
      test(change.name, left.metric, failed, failed.empty() ? left.why : "", "");
    }
  }

  [[nodiscard]] std::vector<std::string> failures_of(const std::string& case_name,
                                                     const std::string& metric) const {
    std::vector<std::string> out;
    for (const Excess* excess : over_)
      if (excess->case_name == case_name && excess->metric == metric) out.push_back(excess->text);
    return out;
  }

  void test(const std::string& case_name, const std::string& name,
            const std::vector<std::string>& failed, const std::string& skipped,
            const std::string& said) {
    ++counts.tests;
    counts.failures += failed.empty() ? 0 : 1;
    counts.skipped += skipped.empty() ? 0 : 1;
    body += fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"0.000\">\n",
                        escape_markup(case_name), escape_markup(name));
    for (const std::string& text : failed)
      body += fmt::format("      <failure message=\"{}\" type=\"worse\"/>\n", escape_markup(text));
    if (!skipped.empty())
      body += fmt::format("      <skipped message=\"{}\"/>\n", escape_markup(skipped));
    if (!said.empty())
      body += fmt::format("      <system-out>{}</system-out>\n", escape_markup(said));
    body += "    </testcase>\n";
  }

  bool bounds_;
  std::vector<const Excess*> over_;
};

}  // namespace

std::string render_junit(const Comparisons& comparison, bool bounds, std::span<const Excess> over) {
  TestCounts all;
  std::string suites;
  for (std::size_t i = 0; i < comparison.sides.size(); ++i) {
    const Suite suite(comparison.sides[i], i, bounds, over);
    all.tests += suite.counts.tests;
    all.failures += suite.counts.failures;
    all.skipped += suite.counts.skipped;
    suites += fmt::format("  <testsuite name=\"{} against {}\" {}>\n{}  </testsuite>\n",
                          escape_markup(comparison.sides[i].name), escape_markup(comparison.base),
                          suite.counts.text(), suite.body);
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"assay compare\" {}>\n{}"
      "</testsuites>\n",
      all.text(), suites);
}

}  // namespace assay::compare
