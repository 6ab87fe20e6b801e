#include "exports/openmetrics.h"

#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text.h"
#include "report/mllog.h"

namespace assay::exports {

namespace {

// Units at the end of our names, as Prometheus wants them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kUnits{
    {{"_ms", "_milliseconds"},
     {"_s", "_seconds"},
     {"_j", "_joules"},
     {"_w", "_watts"},
     {"_c", "_celsius"},
     {"_mhz", "_megahertz"}}};

std::string label_value(std::string_view value) {
  std::string out = "\"";
  for (const char c : value) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

// One line of help.
std::string help_text(std::string_view text) {
  std::string out;
  for (const char c : text)
    out += c == '\n' ? std::string(" ") : c == '\\' ? "\\\\" : std::string(1, c);
  return out;
}

struct Family {
  std::string help;
  std::string samples;
};

class Families {
 public:
  Family& of(const std::string& name, const std::string& help) {
    Family& family = families_[name];
    if (family.help.empty()) family.help = help;
    return family;
  }
  [[nodiscard]] std::string text() const {
    std::string out;
    for (const auto& [name, family] : families_)
      out += fmt::format("# HELP {0} {1}\n# TYPE {0} gauge\n{2}", name, help_text(family.help),
                         family.samples);
    return out + "# EOF\n";
  }

 private:
  std::map<std::string, Family> families_;
};

}  // namespace

std::string prometheus_name(std::string_view metric) {
  std::string out;
  for (const char c : metric) {
    const bool allowed = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    out += allowed ? c : '_';
  }
  for (const auto& [ending, unit] : kUnits)
    if (metric.ends_with(ending))
      return out.substr(0, out.size() - ending.size()) + std::string(unit);
  return out;
}

std::string render_openmetrics(const judge::RunResult& result) {
  Families families;
  const std::string run_labels =
      fmt::format("suite={},run={}", label_value(result.suite), label_value(result.run_id));
  const auto put = [&](const std::string& name, const std::string& help, const std::string& labels,
                       double value) {
    if (std::isfinite(value))
      families.of(name, help).samples += fmt::format("{}{{{}}} {}\n", name, labels, value);
  };
  put("assay_run_valid", "1 for a run whose verdict is VALID, else 0.", run_labels,
      result.validity == judge::Validity::valid ? 1 : 0);
  std::int64_t ended_ms = 0;
  for (const judge::CaseResult& of : result.cases) {
    const std::string labels = fmt::format("{},case={},hardware={}", run_labels,
                                           label_value(of.name), label_value(of.hardware));
    put("assay_case_valid", "1 for a case whose verdict is VALID, else 0.", labels,
        of.validity == judge::Validity::valid ? 1 : 0);
    for (const judge::RoundResult& round : of.rounds)
      ended_ms = std::max(ended_ms, report::parse_iso_ms(round.ended).value_or(0));
    for (const judge::Summary& summary : of.summary) {
      const std::string name = "assay_result_" + prometheus_name(summary.info.name);
      const std::string help = summary.info.description.empty() ? "Result " + summary.info.name
                                                                : summary.info.description;
      const std::string unit = summary.info.unit.empty() ? "." : " (" + summary.info.unit + ").";
      const auto statistic = [&](const char* which, std::optional<double> value) {
        if (value)
          put(name, help + unit, fmt::format("{},statistic=\"{}\"", labels, which), *value);
      };
      statistic("median", summary.median);
      statistic("min", summary.min);
      statistic("max", summary.max);
      statistic("ci95_low", summary.ci95_low);
      statistic("ci95_high", summary.ci95_high);
    }
  }
  put("assay_run_end_time_seconds", "When the last round of the run ended, in Unix time.",
      run_labels, static_cast<double>(ended_ms) / 1e3);
  return families.text();
}

}  // namespace assay::exports
