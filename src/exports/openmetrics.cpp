#include "exports/openmetrics.h"

#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "core/text.h"
#include "report/mllog.h"

namespace assay::exports {

namespace {

struct FullName {
  std::string_view part;
  std::string_view full;
};
// Parts of our names that Prometheus requires in full, anywhere in a name. "counter" is a type's
// name there.
constexpr auto kParts = std::to_array<FullName>({{"s", "seconds"},
                                                 {"sec", "seconds"},
                                                 {"ms", "milliseconds"},
                                                 {"us", "microseconds"},
                                                 {"ns", "nanoseconds"},
                                                 {"m", "minutes"},
                                                 {"h", "hours"},
                                                 {"d", "days"},
                                                 {"b", "bytes"},
                                                 {"kb", "kilobytes"},
                                                 {"mb", "megabytes"},
                                                 {"gb", "gigabytes"},
                                                 {"tb", "terabytes"},
                                                 {"pb", "petabytes"},
                                                 {"counter", "counted"}});
// Elsewhere, these may be names.
constexpr auto kEndings = std::to_array<FullName>(
    {{"j", "joules"}, {"w", "watts"}, {"c", "celsius"}, {"mhz", "megahertz"}});

std::string full_part(std::string_view part, bool rate, bool last) {
  for (const FullName& name : kParts)
    if (part == name.part)
      return std::string(
          rate && name.full.ends_with('s') ? name.full.substr(0, name.full.size() - 1) : name.full);
  for (const FullName& name : kEndings)
    if (last && part == name.part) return std::string(name.full);
  return std::string(part);
}

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

// Help text on one line.
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
    out += allowed ? std::string(1, c) : c == '/' ? "_per_" : "_";
  }
  std::string name;
  std::string_view before;
  const std::vector<std::string_view> parts = split(out, '_');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool first = i == 0;  // a word of its own
    if (!first) name += '_';
    name +=
        first ? std::string(parts[i]) : full_part(parts[i], before == "per", i + 1 == parts.size());
    before = parts[i];
  }
  return name;
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
