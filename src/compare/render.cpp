#include "compare/render.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "core/text.h"
#include "lang/language.h"
#include "page/table.h"
#include "page/text_width.h"
#include "report/markdown.h"
#include "report/present.h"
#include "stats/descriptive.h"

namespace assay::compare {

namespace {

constexpr std::size_t kShownDifferences = 16;

std::string color_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::better:
      return "1;32";
    case Verdict::worse:
      return "1;31";
    case Verdict::same:
      return "32";
    case Verdict::unsure:
      break;
  }
  return "33";
}

page::Table table_of(const Comparison& side) {
  using page::Align;
  page::Table table{{{.title = "CASE", .cut = page::Cut::middle, .soft_min = 24, .hard_min = 20},
                     {.title = "METRIC", .cut = page::Cut::end, .soft_min = 20, .hard_min = 14},
                     {.title = "BASE", .align = Align::right},
                     {.title = "NEW", .align = Align::right},
                     {.title = "CHANGE", .align = Align::right},
                     {.title = "95 % INTERVAL", .align = Align::right},
                     {.title = "ROUNDS", .align = Align::right},
                     {.title = "VERDICT"}}};
  for (const CaseChange& change : side.cases) {
    if (!change.refused.empty()) {
      page::Cell verdict("not compared");
      verdict.color = "33";
      table.rows.push_back({{page::name(change.name), "–", "–", "–", "–", "–", "–", verdict}});
    }
    for (const MetricChange& metric : change.metrics) {
      page::Cell verdict(verdict_word(metric));
      verdict.color = color_of(metric.verdict);
      table.rows.push_back(
          {{page::name(metric.headline ? change.name : ""), report::metric_title(metric.info.name),
            median_text(metric.base, metric.info.unit),
            median_text(metric.candidate, metric.info.unit), percent_text(metric.level.change),
            interval_text(metric.level.interval),
            fmt::format("{}, {}", metric.base.size(), metric.candidate.size()), verdict}});
    }
  }
  return table;
}

std::string shown_value(const std::string& text) {
  return text.empty() ? "–" : ellipsize(printable(text), 60);
}

std::string difference_line(const Difference& difference) {
  return fmt::format("{}: {} → {}", printable(difference.what), shown_value(difference.base),
                     shown_value(difference.candidate));
}

// The first lines, and the number of the others.
std::vector<std::string> shortened(std::vector<std::string> lines) {
  if (lines.size() <= kShownDifferences) return lines;
  const std::size_t more = lines.size() - kShownDifferences;
  lines.resize(kShownDifferences);
  lines.push_back(fmt::format("and {} more (--format json has all)", more));
  return lines;
}

std::vector<std::string> difference_lines(const std::vector<Difference>& differences) {
  std::vector<std::string> out;
  for (const Difference& difference : differences) out.push_back(difference_line(difference));
  return shortened(std::move(out));
}

// One line per difference with the cases that have it: a changed suite affects all cases alike.
std::vector<std::string> folded_differences(const std::vector<CaseChange>& cases) {
  std::map<std::string, std::vector<std::string>> by_line;
  std::vector<std::string> order;
  for (const CaseChange& change : cases)
    for (const Difference& difference : change.differences) {
      const std::string line = difference_line(difference);
      if (by_line[line].empty()) order.push_back(line);
      by_line[line].push_back(change.name);
    }
  std::vector<std::string> out;
  for (const std::string& line : order) {
    const std::vector<std::string>& names = by_line[line];
    const bool all = names.size() == cases.size() && names.size() > 1;
    out.push_back((all ? "all cases" : ellipsize(join(names, ", "), 80)) + ": " + line);
  }
  return out;
}

// A side's name, and its runs' if they differ from it.
std::string side_text(const std::string& name, const std::vector<std::string>& runs) {
  const bool is_baseline = runs.empty();
  if (is_baseline || (runs.size() == 1 && runs.front() == name)) return printable(name);
  return fmt::format("{} ({})", printable(name), ellipsize(join(runs, ", "), 200));
}

std::string title_of(const Comparisons& comparison, std::size_t i) {
  return comparison.sides.size() == 1 ? "New" : fmt::format("New {}", i + 1);
}

}  // namespace

std::string percent_text(double ratio) {
  return fmt::format("{:+.2f} %", ratio * 100);
}

std::string interval_text(const std::optional<stats::Interval>& interval) {
  return interval ? fmt::format("{:+.2f} … {:+.2f} %", interval->low * 100, interval->high * 100)
                  : "–";
}

std::string median_text(const std::vector<double>& rounds, const std::string& unit) {
  const auto middle = stats::median(rounds);
  return middle ? report::show(*middle, unit).text() : "–";
}

std::string_view nothing_differs(const Comparisons& comparison) {
  const auto is_baseline = [](const Comparison& side) { return side.runs.empty(); };
  if (comparison.base_runs.empty() || std::ranges::any_of(comparison.sides, is_baseline))
    return "A baseline knows the work; of machines, programs and suites it says nothing.";
  return "Machines, programs and suites are the same.";
}

std::string legend(const Comparisons& comparison) {
  bool by_baseline = false;
  for (const Comparison& side : comparison.sides)
    for (const CaseChange& change : side.cases)
      for (const MetricChange& metric : change.metrics)
        by_baseline = by_baseline || metric.tolerated.has_value();
  const double level = comparison.options.level * 100;
  if (by_baseline)
    return fmt::format(
        "SAME: the whole interval lies within the baseline's range. FASTER, SLOWER, BETTER, WORSE: "
        "there is a change; over all headlines together, a false one is less probable than "
        "{:.3g} %.",
        level);
  return fmt::format(
      "SAME: the whole interval lies within ±{:.3g} %. FASTER, SLOWER, BETTER, WORSE: there is a "
      "change; over all headlines together, a false one is less probable than {:.3g} %.",
      comparison.options.tolerance * 100, level);
}

std::string verdict_sentence(const Comparison& side) {
  std::map<std::string, std::size_t> words;
  for (const CaseChange& change : side.cases)
    ++words[change.metrics.empty() ? "not compared"
                                   : to_lower(verdict_word(change.metrics.front()))];
  std::vector<std::string> parts;
  for (const char* word : {"slower", "worse", "faster", "better", "same", "unsure", "not compared"})
    if (const auto found = words.find(word); found != words.end())
      parts.push_back(fmt::format("{} {} {}{}", found->second, found->second == 1 ? "is" : "are",
                                  found->first == "same" ? "the " : "", found->first));
  if (parts.empty()) return "There is no case.";
  const std::string last = parts.back();
  parts.pop_back();
  return fmt::format("Of {}, {}{}{}.", counted(side.cases.size(), "case"), join(parts, ", "),
                     parts.empty() ? "" : " and ", last);
}

namespace {

struct Remark {
  std::string name{};  ///< of the case; empty: of none
  std::string text{};
};

// What a reader must know beside the table; differences of cases are folded.
std::vector<Remark> remarks(const Comparison& side) {
  std::vector<Remark> out;
  for (const CaseChange& change : side.cases) {
    const auto say = [&](const std::string& text) {
      out.push_back({printable(change.name), printable(text)});
    };
    if (!change.refused.empty()) say("not compared: " + change.refused);
    if (!change.warning.empty()) say(change.warning);
    for (const MetricChange& metric : change.metrics)
      if (metric.headline && !metric.note.empty()) say(metric.info.name + ": " + metric.note);
    if (change.refused.empty())
      for (const LeftOut& left : change.left_out)
        say(left.metric + " is not compared: " + left.why);
  }
  for (const std::string& line : shortened(folded_differences(side.cases)))
    out.push_back({"", printable(line)});
  return out;
}

}  // namespace

std::string render_text(const Comparisons& comparison, const report::ConsoleStyle& style) {
  constexpr std::size_t kTitleColumns = 6;
  const auto titled = [](const std::string& title, const std::string& text) {
    return page::pad_right(lang::tr(title), kTitleColumns) + text + "\n";
  };
  const bool several = comparison.sides.size() > 1;
  std::string out = titled("Base", side_text(comparison.base, comparison.base_runs));
  for (std::size_t i = 0; i < comparison.sides.size(); ++i) {
    const Comparison& side = comparison.sides[i];
    out += (i == 0 ? "" : "\n") +
           titled(title_of(comparison, i), (several ? " " : "") + side_text(side.name, side.runs));
    const std::vector<std::string> differing = difference_lines(side.differences);
    out +=
        "\n" + lang::tr(differing.empty() ? nothing_differs(comparison) : "What differed:") + "\n";
    for (const std::string& line : differing) out += "  " + lang::tr(line) + "\n";
    out += "\n";
    const page::TextStyle text{.width = style.width, .heading = "1", .color = style.color};
    for (const std::string& line : page::text_lines(table_of(side), text)) out += line + "\n";
    const std::vector<Remark> beside = remarks(side);
    if (!beside.empty()) out += "\n";
    for (const Remark& remark : beside)
      out += "  " +
             (remark.name.empty() ? lang::tr(remark.text)
                                  : lang::tr(lang::name(remark.name) + ": " + remark.text)) +
             "\n";
  }
  return out + "\n" + lang::tr(legend(comparison)) + "\n";
}

std::string render_markdown(const Comparisons& comparison, std::span<const Excess> over) {
  std::string out;
  for (std::size_t i = 0; i < comparison.sides.size(); ++i) {
    const Comparison& side = comparison.sides[i];
    out += fmt::format("**{}** {}\n\nBase {}, {} {}\n\n{}\n",
                       comparison.sides.size() == 1 ? "Comparison:" : title_of(comparison, i) + ":",
                       report::markdown_text(verdict_sentence(side)),
                       report::markdown_text(side_text(comparison.base, comparison.base_runs)),
                       to_lower(title_of(comparison, i)),
                       report::markdown_text(side_text(side.name, side.runs)),
                       report::markdown_table(table_of(side)));
    std::vector<std::string> lines;
    for (const Excess& excess : over)
      if (excess.side == i) lines.push_back("not within the bounds: " + excess.text);
    for (const std::string& line : difference_lines(side.differences))
      lines.push_back("differs: " + line);
    for (const Remark& remark : remarks(side))
      lines.push_back((remark.name.empty() ? "" : remark.name + ": ") + remark.text);
    for (const std::string& line : lines) out += "- " + report::markdown_text(line) + "\n";
    out += "\n";
  }
  return out + report::markdown_text(legend(comparison)) + "\n";
}

}  // namespace assay::compare
