#include "baseline/baseline.h"

#include <algorithm>
#include <fstream>
#include <limits>

#include <fmt/format.h>

#include "config/mapping.h"
#include "config/yaml.h"
#include "core/error.h"
#include "core/json.h"
#include "core/text.h"

namespace assay::baseline {

namespace {

using config::Entry;
using config::Mapping;
using config::Node;

constexpr const char* kMark = "assay_baseline";
constexpr int kMany = std::numeric_limits<int>::max();

const std::vector<std::string> kTopKeys{kMark, "description", "assay_version", "cases"};
const std::vector<std::string> kCaseKeys{"case", "hardware", "nodes", "procs",
                                         "work", "rounds",   "runs",  "metrics"};
const std::vector<std::string> kMetricKeys{"unit", "better", "median", "low",
                                           "high", "judged", "values"};

Metric read_metric(const Entry& entry) {
  const Mapping map(entry.value, "the metric '" + printable(ellipsize(entry.key, 60)) + "'",
                    kMetricKeys);
  Metric metric;
  metric.name = entry.key;
  if (metric.name.empty()) entry.value.fail("a metric without a name");
  metric.unit = map.at("unit").text();
  metric.better = *parse_enum<Better>(config::choice(map.at("better"), enum_texts<Better>()));
  metric.median = map.at("median").number();
  metric.low = map.at("low").number();
  metric.high = map.at("high").number();
  if (!(metric.low <= metric.median && metric.median <= metric.high))
    map.at("median").fail(fmt::format("the range from {} to {} does not hold the median {}",
                                      metric.low, metric.high, metric.median),
                          "low ≤ median ≤ high");
  if (const Node* judged = map.find("judged")) metric.judged = judged->boolean();
  if (metric.judged && metric.better == Better::neither)
    map.at("judged").fail("a metric of which neither more nor less is better cannot be judged",
                          "take 'judged' out");
  if (const Node* values = map.find("values"))
    for (const Node& value : values->items()) metric.values.push_back(value.number());
  return metric;
}

CaseEntry read_entry(const Node& node) {
  const Mapping map(node, "a case of a baseline", kCaseKeys);
  CaseEntry entry;
  entry.where = node.where();
  entry.name = map.at("case").nonempty_text();
  entry.hardware = map.at("hardware").nonempty_text();
  entry.nodes = static_cast<int>(map.at("nodes").integer(1, kMany));
  entry.procs = static_cast<int>(map.at("procs").integer(1, kMany));
  if (const Node* work = map.find("work"))
    for (const Entry& one : work->entries()) entry.work[one.key] = one.value.text();
  entry.rounds = static_cast<int>(map.at("rounds").integer(1, kMany));
  entry.runs = map.texts_or_empty("runs");
  for (const Entry& metric : map.at("metrics").entries())
    entry.metrics.push_back(read_metric(metric));
  if (entry.metrics.empty()) map.at("metrics").fail("the case has no metrics");
  return entry;
}

// YAML reads every JSON value as the same value.
std::string quoted(const std::string& text) {
  return dump_line(Json(text));
}

// Unquoted, numbers, no and null would not be read as text.
std::string key_text(const std::string& name) {
  const bool plain = !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  });
  return plain && name.find('_') != std::string::npos ? name : quoted(name);
}

void write_metric(const Metric& metric, std::string& out) {
  out += fmt::format("      {}: {{unit: {}, better: {}, median: {}, low: {}, high: {}",
                     key_text(metric.name), quoted(metric.unit), to_text(metric.better),
                     dump_line(Json(metric.median)), dump_line(Json(metric.low)),
                     dump_line(Json(metric.high)));
  if (metric.judged) out += ", judged: true";
  if (!metric.values.empty()) out += ",\n        values: " + dump_line(Json(metric.values));
  out += "}\n";
}

void write_entry(const CaseEntry& entry, std::string& out) {
  out += fmt::format("  - case: {}\n    hardware: {}\n    nodes: {}\n    procs: {}\n    work:{}\n",
                     quoted(entry.name), quoted(entry.hardware), entry.nodes, entry.procs,
                     entry.work.empty() ? " {}" : "");
  for (const auto& [key, value] : entry.work)
    out += fmt::format("      {}: {}\n", quoted(key), quoted(value));
  out += fmt::format("    rounds: {}\n    runs: {}\n    metrics:\n", entry.rounds,
                     dump_line(Json(entry.runs)));
  for (const Metric& metric : entry.metrics) write_metric(metric, out);
}

}  // namespace

const Metric* CaseEntry::find(std::string_view metric) const noexcept {
  const auto found = std::ranges::find(metrics, metric, &Metric::name);
  return found == metrics.end() ? nullptr : &*found;
}

const CaseEntry* Baseline::find(std::string_view name, std::string_view hardware) const noexcept {
  const auto found = std::ranges::find_if(entries, [&](const CaseEntry& entry) {
    return entry.name == name && entry.hardware == hardware;
  });
  return found == entries.end() ? nullptr : &*found;
}

std::vector<std::string> Baseline::hardware_of(std::string_view name) const {
  std::vector<std::string> out;
  for (const CaseEntry& entry : entries)
    if (entry.name == name) out.push_back(entry.hardware);
  return out;
}

Baseline parse(std::string_view yaml, const std::string& file) {
  const Node root = config::parse_yaml(yaml, {file, file, false});
  const Node* format = root.is_mapping() ? root.find(kMark) : nullptr;
  if (format == nullptr)
    root.fail("this is not a baseline: it does not begin with 'assay_baseline'",
              "'assay baseline RUN… -o FILE' makes one");
  // Checked before its keys, because a newer format may have others.
  if (format->integer(1) > Baseline::kFormat)
    format->fail(fmt::format("the baseline has format {}, this program reads up to {}",
                             format->integer(), Baseline::kFormat),
                 "use the version of Assay that made it, or a newer one");
  const Mapping map(root, "a baseline", kTopKeys);
  Baseline out;
  out.description = map.text_or("description", "");
  out.assay_version = map.text_or("assay_version", "");
  std::map<std::pair<std::string, std::string>, std::string> places;
  for (const Node& node : map.at("cases").items()) {
    CaseEntry entry = read_entry(node);
    const auto [first, fresh] = places.try_emplace({entry.name, entry.hardware}, entry.where);
    if (!fresh)
      node.fail("the case '" + printable(entry.name) + "' has this hardware twice, first at " +
                    first->second,
                "keep one of them");
    out.entries.push_back(std::move(entry));
  }
  if (out.entries.empty()) map.at("cases").fail("the baseline has no cases");
  return out;
}

Baseline load(const std::filesystem::path& path) {
  return parse(config::read_yaml_text(path), path.string());
}

std::string to_yaml(const Baseline& baseline) {
  std::string out =
      "# What these cases are expected to reach, for each kind of hardware (docs/baselines.md).\n"
      "# 'assay baseline' made it; a range that is too narrow or too wide may be changed by "
      "hand.\n";
  out += fmt::format("{}: {}\n", kMark, Baseline::kFormat);
  if (!baseline.description.empty())
    out += fmt::format("description: {}\n", quoted(baseline.description));
  out += fmt::format("assay_version: {}\ncases:\n", quoted(baseline.assay_version));
  for (const CaseEntry& entry : baseline.entries) write_entry(entry, out);
  try {
    if (out.size() > config::kMaxFileBytes)
      throw Error(ErrorKind::usage,
                  "more than " + std::to_string(config::kMaxFileBytes) + " bytes");
    (void)parse(out, "the baseline");
  } catch (const Error& error) {
    throw Error(ErrorKind::usage, "the baseline would be too large to be read: " + error.message(),
                error.where(), "'--judged-only' leaves out what is not judged; or make several");
  }
  return out;
}

bool is_baseline_file(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::string_view text = trim(line);
    if (text.empty() || text.starts_with('#') || text == "---") continue;
    return text.starts_with(kMark);
  }
  return false;
}

}  // namespace assay::baseline
