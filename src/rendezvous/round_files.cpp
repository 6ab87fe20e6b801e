#include "rendezvous/round_files.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.h"

namespace assay::rendezvous {

namespace {

std::string rank_table(const plan::Plan& plan, const plan::CasePlan& plan_case,
                       const std::vector<std::string>& hosts) {
  const std::string where = "case " + plan_case.name;
  if (hosts.size() > 1)
    for (const std::string& host : hosts)
      if (plan.cluster.find_host(host) == nullptr)
        throw Error(ErrorKind::config,
                    fmt::format("the rank table needs the device IPs of the host '{}', which "
                                "cluster.hosts does not list",
                                host),
                    where,
                    fmt::format("hosts: [{{name: {}, device_ips: [192.168.10.1, …]}}]", host));
  CheckOptions options;
  options.max_devices = std::max(plan_case.procs, 8);
  const RankTable table = make_rank_table(server_specs(plan.cluster, hosts), plan_case.procs);
  return dump_pretty(render_rank_table(table, table_form(plan.cluster), options, where));
}

}  // namespace

std::string place_name(std::size_t node) {
  return fmt::format("worker-{}", node);
}

TableForm table_form(const plan::Cluster& cluster) {
  if (const auto form = parse_enum<TableForm>(cluster.rank_table)) return *form;
  const bool super_pods =
      !cluster.hosts.empty() && std::ranges::none_of(cluster.hosts, [](const plan::Host& host) {
        return host.super_pod.empty();
      });
  return super_pods ? TableForm::v1_2 : TableForm::v1_0;
}

std::vector<ServerSpec> server_specs(const plan::Cluster& cluster,
                                     const std::vector<std::string>& hosts) {
  std::vector<ServerSpec> out;
  for (const std::string& name : hosts) {
    ServerSpec spec{name, {}};
    if (const plan::Host* host = cluster.find_host(name)) {
      if (!host->server_id.empty()) spec.id = host->server_id;
      spec.device_ips = host->device_ips;
      spec.super_pod = host->super_pod;
      spec.super_device_ids = host->super_device_ids;
    }
    out.push_back(std::move(spec));
  }
  return out;
}

std::vector<HostSlots> host_slots(const plan::Cluster& cluster,
                                  const std::vector<std::string>& hosts, int slots,
                                  HostfileForm form) {
  std::vector<HostSlots> out;
  for (const std::string& name : hosts) {
    const plan::Host* host = cluster.find_host(name);
    const bool ib = form == HostfileForm::ib && host != nullptr && !host->ib_addr.empty();
    std::string address = ib ? host->ib_addr : cluster.address_of(name);
    // Within a round, ssh knows the name as well.
    const bool fits = address.find(':') == std::string::npos;
    out.push_back({fits ? std::move(address) : name, slots});
  }
  return out;
}

bool has_rank_table(const plan::Cluster& cluster, const plan::CasePlan& plan_case,
                    const std::vector<std::string>& hosts) {
  if (plan_case.meets_with(&RendezvousFlavor::rank_table)) return true;
  if (!plan_case.meets_by("dlws")) return false;
  return std::ranges::all_of(hosts, [&](const std::string& name) {
    const plan::Host* host = cluster.find_host(name);
    return host != nullptr && static_cast<int>(host->device_ips.size()) >= plan_case.procs;
  });
}

std::map<std::string, std::string> round_files(const plan::Plan& plan,
                                               const plan::CasePlan& plan_case,
                                               const std::vector<std::string>& hosts) {
  std::map<std::string, std::string> files{{kConfigFile, dump_pretty(plan_case.config)}};
  if (has_rank_table(plan.cluster, plan_case, hosts))
    files[kRankTableFile] = rank_table(plan, plan_case, hosts);
  if (plan_case.meets_with(&RendezvousFlavor::hostfile)) {
    const HostfileForm form =
        plan_case.meets_by("horovod") ? HostfileForm::horovod : HostfileForm::openmpi;
    std::vector<HostSlots> slots = host_slots(plan.cluster, hosts, plan_case.procs, form);
    // mpirun refuses such names, or fails on them, before calling the round's ssh.
    const std::string_view refused = form == HostfileForm::openmpi ? ":_" : ":";
    for (std::size_t node = 0; node < slots.size(); ++node)
      if (slots[node].host.find_first_of(refused) != std::string::npos)
        slots[node].host = place_name(node);
    files[kHostfile] = render_hostfile(slots, form);
  }
  if (plan_case.meets_with(&RendezvousFlavor::ib_config))
    files[kIbConfig] = render_hostfile(
        host_slots(plan.cluster, hosts, plan_case.procs, HostfileForm::ib), HostfileForm::ib);
  return files;
}

}  // namespace assay::rendezvous
