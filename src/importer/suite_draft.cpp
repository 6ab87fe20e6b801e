#include "importer/suite_draft.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "core/processors.h"
#include "core/text.h"

namespace assay::importer {

namespace {

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// A text of YAML on one line, whatever is in it.
std::string yaml_text(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    out += c;
    if (c == '\'') out += c;
  }
  return out + "'";
}

std::string yaml_list(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : ", ") + yaml_text(text);
  return "[" + out + "]";
}

std::string cluster(const SuiteDraft& draft) {
  if (draft.launcher == DraftLauncher::ssh)
    return fmt::format("cluster:\n  launcher: ssh\n  hosts: {}\n", yaml_list(draft.hosts)) +
           (draft.user.empty() ? "" : fmt::format("  ssh: {{user: {}}}\n", yaml_text(draft.user)));
  if (draft.launcher == DraftLauncher::slurm)
    return "cluster:\n  launcher: slurm\n" +
           (draft.partition.empty()
                ? std::string()
                : fmt::format("  slurm: {{partition: {}}}\n", yaml_text(draft.partition)));
  return {};
}

std::string escaped(std::string_view text) {
  static constexpr std::string_view kSpecial = R"(\^$.|?*+()[]{})";
  std::string out;
  bool blank = false;
  for (const char c : text) {
    if (c == ' ' || c == '\t') {
      if (!blank) out += " *";
      blank = true;
      continue;
    }
    blank = false;
    if (kSpecial.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::string to_yaml(const SuiteDraft& draft) {
  std::string out = fmt::format(
      "# Written by 'assay init'; docs/suite.md has every key.\nname: {}\n", yaml_text(draft.name));
  if (!are_processors(draft.vendor)) out += fmt::format("vendor: {}\n", draft.vendor);
  out += cluster(draft);
  out += "cases:\n";
  out += draft.workload.empty() ? fmt::format("  - name: {}\n", yaml_text(draft.name))
                                : fmt::format("  - name: {0}\n    model: {0}\n    framework: {1}\n",
                                              draft.workload, draft.framework);
  if (draft.nodes > 1) out += fmt::format("    nodes: {}\n", draft.nodes);
  out += fmt::format("    procs: {}      # ranks on each node\n",
                     draft.procs > 0 ? std::to_string(draft.procs) : "devices");
  out += fmt::format("    repeats: {}      # rounds; three or more give a confidence interval\n",
                     draft.repeats);
  if (!draft.workload.empty())
    return out + (are_processors(draft.vendor) ? "" : "    config: {device: cuda}\n");
  out += fmt::format("    command: {}\n", yaml_text(draft.command));
  if (draft.command.find_first_of("|&;<>()$*?[`\\\"'=") != std::string::npos)
    out += "    shell: true\n";
  if (draft.metric) {
    const PrintedMetric& metric = *draft.metric;
    out += fmt::format("    metrics:\n      {}: {{match: {}, {}better: {}}}\n", metric.name,
                       yaml_text(metric.match),
                       metric.unit.empty() ? "" : "unit: " + yaml_text(metric.unit) + ", ",
                       metric.better);
  }
  return out + "    limits: {time: 2h, stall: 10m}\n";
}

std::vector<NumberInLine> numbers_in(std::string_view line) {
  std::vector<NumberInLine> out;
  std::size_t label = 0;
  for (std::size_t i = 0; i < line.size();) {
    // "resnet50" and "v1" are names.
    const bool begins =
        is_digit(line[i]) && (i == 0 || std::isalnum(static_cast<unsigned char>(line[i - 1])) == 0);
    if (!begins) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < line.size() && (is_digit(line[end]) || line[end] == '.' || line[end] == ','))
      ++end;
    while (line[end - 1] == '.' || line[end - 1] == ',') --end;
    const std::string_view before = trim(line.substr(label, i - label));
    const bool named = std::ranges::any_of(
        before, [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; });
    if (named)
      out.push_back(
          {std::string(line.substr(label, i - label)), std::string(line.substr(i, end - i))});
    label = i = end;
  }
  return out;
}

std::string pattern_for(const NumberInLine& number) {
  // What stands between two numbers may be the unit of the first: the words of the last part count.
  std::string_view label = number.label;
  if (const std::size_t cut = label.find_last_of(",;|"); cut != std::string_view::npos) {
    const std::string_view rest = label.substr(cut + 1);
    if (std::ranges::any_of(
            rest, [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }))
      label = rest;
  }
  const bool blank_after = !label.empty() && label.back() == ' ';
  return escaped(trim(label)) + (blank_after ? " *" : "") + "([0-9](?:[0-9.,]*[0-9])?)";
}

}  // namespace assay::importer
