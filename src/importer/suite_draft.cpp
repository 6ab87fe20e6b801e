#include "importer/suite_draft.h"

#include <fmt/format.h>

#include "core/processors.h"

namespace assay::importer {

namespace {

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
    out += fmt::format("    metrics:\n      {}: {{match: {}, {}{}better: {}}}\n", metric.name,
                       yaml_text(metric.match), metric.bar ? "kind: speed, " : "",
                       metric.unit.empty() ? "" : "unit: " + yaml_text(metric.unit) + ", ",
                       metric.better);
  }
  return out + "    limits: {time: 2h, stall: 10m}\n";
}

}  // namespace assay::importer
