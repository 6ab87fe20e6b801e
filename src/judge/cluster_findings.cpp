#include "judge/cluster_findings.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "core/json_access.h"
#include "core/text.h"
#include "judge/hardware_names.h"
#include "store/journal_event.h"

namespace assay::judge {

namespace {

constexpr std::size_t kShownHosts = 6;

// What is said to be an H100 is held against what an H100 can do.
void check_hardware(const plan::Plan& plan, const Json& system, std::vector<Finding>& out) {
  std::set<std::string> devices;
  for (const Json& node : list_at(system, "nodes"))
    for (const Json& device : list_at(node, "devices"))
      if (const std::string name = text_at(device, "name"); !name.empty()) devices.insert(name);
  const Json& known = object_at(plan.vendor_data, "hardware");
  const auto any_names = [&](const std::string& kind) {
    return std::ranges::any_of(devices, [&](const std::string& device) {
      return names_kind(device, kind, object_at(known, kind.c_str()));
    });
  };
  std::set<std::string> wrong;
  for (const plan::CasePlan& plan_case : plan.cases) {
    const auto kind = kind_named(plan_case.hardware, known);
    if (!kind || any_names(*kind)) continue;
    // Only where the devices' own name says another kind: not every vendor's does.
    for (const auto& [other, about] : known.items())
      if (any_names(other)) wrong.insert(plan_case.hardware);
  }
  if (wrong.empty()) return;
  const std::vector<std::string> named(wrong.begin(), wrong.end());
  const std::vector<std::string> found(devices.begin(), devices.end());
  out.push_back({"hardware-named",
                 Severity::invalid,
                 fmt::format("cases name the hardware {}, and the devices are {}",
                             printable(join(named, ", ")), printable(join(found, ", "))),
                 "name the hardware that is there in the suite's cases: peaks, MFU and comparisons "
                 "go by it",
                 "",
                 {},
                 Aspect::plausibility});
}

std::string hosts_text(const std::set<std::string>& hosts) {
  return hosts.size() > kShownHosts
             ? counted(hosts.size(), "host")
             : join(std::vector<std::string>(hosts.begin(), hosts.end()), ", ");
}

// A suite that names an H100 needs one: unless a device is visible, nothing shows that there is
// any. Where no agent can ask, because a service runs the job, the service says what it provided.
void check_hardware_is_there(const plan::Plan& plan, const Json& system,
                             std::vector<Finding>& out) {
  if (!plan.cluster.traits.starts_agents) return;
  const Json& known = object_at(plan.vendor_data, "hardware");
  std::map<std::string, int> nodes_of;  // nodes used by cases, by the hardware they name
  for (const plan::CasePlan& plan_case : plan.cases)
    if (kind_named(plan_case.hardware, known))
      nodes_of[plan_case.hardware] = std::max(nodes_of[plan_case.hardware], plan_case.nodes);
  if (nodes_of.empty()) return;
  std::vector<std::string> named;
  for (const auto& [hardware, nodes] : nodes_of) named.push_back(hardware);
  const Json& query = object_at(plan.vendor_data, "query");
  if (query.empty()) {
    out.push_back({"hardware-named",
                   Severity::warning,
                   fmt::format("cases name the hardware {}, and the file of the vendor {} has no "
                               "command that lists devices: nothing says whether they are there",
                               printable(join(named, ", ")), printable(plan.vendor)),
                   "add a 'query' to the vendor's file",
                   "",
                   {},
                   Aspect::plausibility});
    return;
  }
  std::set<std::string> blind;
  int place = 0;
  for (const Json& node : list_at(system, "nodes")) {
    const auto number = static_cast<int>(integer_at(node, "node", place++));
    const bool is_used =
        std::ranges::any_of(nodes_of, [&](const auto& one) { return number < one.second; });
    if (is_used && list_at(node, "devices").empty()) blind.insert(text_at(node, "host"));
  }
  if (blind.empty()) return;
  const Json& command = list_at(query, "command");
  const std::string tool = command.empty() || !command[0].is_string()
                               ? "the vendor's tool"
                               : command[0].get<std::string>();
  out.push_back({"hardware-named",
                 Severity::incomplete,
                 fmt::format("cases name the hardware {}, and no device can be seen on {}",
                             printable(join(named, ", ")), printable(hosts_text(blind))),
                 fmt::format("see that {} lists the devices there ('assay check' says what is "
                             "wrong), or name in the suite's cases what they ran on",
                             printable(tool)),
                 "",
                 {},
                 Aspect::plausibility});
}

void check_machines(const plan::Plan& plan, const Json& system, std::vector<Finding>& out) {
  if (plan.cluster.traits.one_machine) return;
  std::map<std::string, std::set<std::string>> hosts_by_boot;
  for (const Json& node : list_at(system, "nodes"))
    if (const std::string boot = text_at(node, "boot_id"); !boot.empty())
      hosts_by_boot[boot].insert(text_at(node, "host"));
  std::vector<std::string> same;
  for (const auto& [boot, hosts] : hosts_by_boot)
    if (hosts.size() > 1) same.push_back(hosts_text(hosts));
  if (same.empty()) return;
  out.push_back(
      {"nodes-apart",
       Severity::warning,
       "these hosts are one machine, and count as several nodes: " + printable(join(same, "; ")),
       "list every machine once: what several nodes reach on one machine is not what they "
       "reach on several",
       "",
       {},
       Aspect::machine});
}

void check_left_out(const std::vector<Json>& events, std::vector<Finding>& out) {
  std::map<std::string, std::string> hosts;
  for (const Json& event : events) {
    if (!event.is_object() || store::event_of(event) != store::JournalEvent::host_left_out)
      continue;
    const std::string instead = text_at(event, "instead");
    hosts[text_at(event, "host")] =
        (instead.empty() ? "" : "(" + instead + " took its place) ") + text_at(event, "reason");
  }
  std::vector<std::string> shown;
  for (const auto& [host, why] : hosts)
    if (shown.size() < kShownHosts) shown.push_back(host + " " + why);
  if (shown.empty()) return;
  if (hosts.size() > shown.size())
    shown.push_back(fmt::format("{} more", hosts.size() - shown.size()));
  out.push_back(
      {"hosts-left-out",
       Severity::warning,
       "hosts of the suite could not be had at some time: " + printable(join(shown, "; ")),
       "repair them, or take them out of cluster.hosts; each round's list of nodes says "
       "which hosts it ran on",
       "",
       {},
       Aspect::machine});
}

}  // namespace

std::vector<Finding> cluster_findings(const plan::Plan& plan, const Json& system,
                                      const std::vector<Json>& events) {
  std::vector<Finding> out;
  check_hardware(plan, system, out);
  check_hardware_is_there(plan, system, out);
  check_machines(plan, system, out);
  check_left_out(events, out);
  return out;
}

}  // namespace assay::judge
