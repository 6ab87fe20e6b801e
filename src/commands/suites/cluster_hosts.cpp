#include "commands/suites/cluster_hosts.h"

#include <algorithm>

#include <fmt/format.h>

#include "catalog/catalog.h"
#include "commands/base/paths.h"
#include "core/error.h"
#include "core/host.h"
#include "core/text.h"
#include "launch/agents/ssh/ssh_names.h"
#include "plan/suite.h"

namespace assay::commands {

SuiteHosts suite_hosts(const std::string& name, const std::string& case_name,
                       const std::vector<std::string>& instead) {
  const plan::Suite suite = plan::load_suite(find_suite(name, catalog::find_conf_dirs()));
  SuiteHosts out;
  out.file = suite.file;
  out.name = suite.name;
  out.cluster = suite.cluster;
  launch::resolve_ssh_names(out.cluster);
  out.telemetry = suite.telemetry;
  out.hosts = instead;
  if (out.hosts.empty())
    for (const plan::Host& host : suite.cluster.hosts) out.hosts.push_back(host.name);
  if (out.hosts.empty() && suite.cluster.traits.one_machine) out.hosts.push_back(host_name());
  if (out.hosts.empty())
    throw Error(ErrorKind::config, "the cluster lists no hosts", suite.file,
                "cluster: {hosts: [{name: n1, slots: 8}, {name: n2, slots: 8}]}");
  if (case_name.empty()) return out;
  const auto found = std::ranges::find(suite.cases, case_name, &plan::SuiteCase::name);
  if (found == suite.cases.end()) {
    std::vector<std::string> names;
    for (const plan::SuiteCase& item : suite.cases) names.push_back(item.name);
    throw Error(ErrorKind::usage,
                "there is no case '" + printable(ellipsize(case_name, 200)) + "'" +
                    did_you_mean(case_name, names),
                "--case", "cases: " + join(names, ", "));
  }
  if (static_cast<std::size_t>(found->nodes) > out.hosts.size())
    throw Error(ErrorKind::config,
                fmt::format("the case '{}' needs {}, but the cluster has {}", found->name,
                            counted(found->nodes, "node"), out.hosts.size()),
                suite.file, "add hosts to 'cluster'");
  out.hosts.resize(static_cast<std::size_t>(found->nodes));
  out.procs = found->procs;
  return out;
}

}  // namespace assay::commands
