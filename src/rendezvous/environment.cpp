#include "rendezvous/environment.h"

#include <array>
#include <string_view>

#include <fmt/format.h>

#include "core/address.h"
#include "core/fnv1a.h"
#include "core/job_variables.h"
#include "core/text.h"
#include "rendezvous/rank_table.h"
#include "rendezvous/round_files.h"

namespace assay::rendezvous {

namespace {

// From ais-bench and HCCL's guide: enough for slow starts, yet bounded.
constexpr const char* kHcclConnectTimeout = "600";
constexpr int kSshPort = 22;

/// The inputs for a node's variables.
struct NodeContext {
  const plan::Plan& plan;
  const plan::CasePlan& plan_case;
  const Placement& placement;
  int node;
  const std::filesystem::path& node_dir;
};

/// A rank's position among the others.
struct Position {
  const plan::Plan& plan;
  const plan::CasePlan& plan_case;
  const Placement& placement;
  int node;
  int local;

  [[nodiscard]] std::string rank() const { return text(node * plan_case.procs + local); }
  [[nodiscard]] static std::string text(int number) { return std::to_string(number); }
};

std::string device_numbers(int procs) {
  std::string list;
  for (int i = 0; i < procs; ++i) list += (i == 0 ? "" : ",") + std::to_string(i);
  return list;
}

/// The numbers of the node's devices: for a platform job, those allocated to it, which may be more
/// than its processes (a process that drives eight), fewer, or not the first ones; otherwise one
/// per process.
std::string devices_of(const plan::Plan& plan, const plan::CasePlan& plan_case,
                       const std::string& host) {
  Environment env = host_environment(plan, host);
  env.insert(plan_case.env.begin(), plan_case.env.end());
  const std::string given = env[std::string(kDevicesVariable)];
  return given.empty() ? device_numbers(plan_case.procs) : given;
}

/// A valid JOB_ID for HCCL: the same on all nodes of a round, different for other rounds.
std::string job_number(const plan::CasePlan& plan_case, const Placement& placement) {
  const std::uint64_t hash =
      fnv1a(fmt::format("{}/{}/{}", placement.run_id, plan_case.name, placement.round));
  return std::to_string(100'000'000 + hash % 900'000'000);
}

void add_torchrun_node(const NodeContext& at, Environment& env) {
  env["WORLD_SIZE"] = std::to_string(at.plan_case.world_size());
  env["LOCAL_WORLD_SIZE"] = std::to_string(at.plan_case.procs);
  env["NODE_RANK"] = env["GROUP_RANK"] = std::to_string(at.node);
  env["MASTER_ADDR"] = at.placement.master_addr;
  env["MASTER_PORT"] = std::to_string(at.placement.master_port);
}

void add_torchrun_rank(const Position& at, Environment& env) {
  env["LOCAL_RANK"] = Position::text(at.local);
}

// The names used by OpenMPI, and by MPICH and Intel MPI.
void add_mpi_rank(const Position& at, Environment& env) {
  const std::string size = Position::text(at.plan_case.world_size());
  const std::string local_size = Position::text(at.plan_case.procs);
  const std::string local = Position::text(at.local);
  env["OMPI_COMM_WORLD_SIZE"] = env["OMPI_UNIVERSE_SIZE"] = env["PMI_SIZE"] = size;
  env["OMPI_COMM_WORLD_RANK"] = env["PMI_RANK"] = at.rank();
  env["OMPI_COMM_WORLD_LOCAL_SIZE"] = env["MPI_LOCALNRANKS"] = local_size;
  // For OpenMPI, "node rank" is the rank among the node's processes.
  env["OMPI_COMM_WORLD_LOCAL_RANK"] = env["OMPI_COMM_WORLD_NODE_RANK"] = local;
  env["MPI_LOCALRANKID"] = local;
}

void add_horovod_rank(const Position& at, Environment& env) {
  env["HOROVOD_RANK"] = at.rank();
  env["HOROVOD_SIZE"] = Position::text(at.plan_case.world_size());
  env["HOROVOD_LOCAL_RANK"] = Position::text(at.local);
  env["HOROVOD_LOCAL_SIZE"] = Position::text(at.plan_case.procs);
  // "Cross" means among the processes with the same local rank, one per node.
  env["HOROVOD_CROSS_RANK"] = Position::text(at.node);
  env["HOROVOD_CROSS_SIZE"] = Position::text(at.plan_case.nodes);
  env["HOROVOD_HOSTNAME"] = at.placement.hosts.at(static_cast<std::size_t>(at.node));
}

void add_horovod_node(const NodeContext& at, Environment& env) {
  if (at.plan_case.launch == plan::LaunchMode::head) return;  // horovodrun sets its own
  env["HOROVOD_CONTROLLER"] = "gloo";
  env["HOROVOD_CPU_OPERATIONS"] = "gloo";
  env["HOROVOD_GLOO_RENDEZVOUS_ADDR"] = at.placement.master_addr;
  env["HOROVOD_GLOO_RENDEZVOUS_PORT"] = std::to_string(at.placement.master_port);
}

void add_hccl_node(const NodeContext& at, Environment& env) {
  const std::string table = (at.node_dir / kRankTableFile).string();
  env["RANK_TABLE_FILE"] = table;
  env["MINDSPORE_HCCL_CONFIG_PATH"] = table;  // MindSpore 0.x's name
  env["RANK_SIZE"] = std::to_string(at.plan_case.world_size());
  env["DEVICE_NUM"] = std::to_string(at.plan_case.procs);
  env["SERVER_ID"] = std::to_string(at.node);
  env["RANK_START"] = std::to_string(at.node * at.plan_case.procs);
  env["HCCL_CONNECT_TIMEOUT"] = kHcclConnectTimeout;
  env["JOB_ID"] = job_number(at.plan_case, at.placement);
}

void add_hccl_rank(const Position& at, Environment& env) {
  env["DEVICE_ID"] = env["ASCEND_DEVICE_ID"] = Position::text(at.local);
  if (table_form(at.plan.cluster) == TableForm::cloud) {
    // This form has no ranks: a process is identified by its pod and its place in the whole.
    RankTable table;
    table.servers.resize(static_cast<std::size_t>(at.node) + 1);
    env["RANK_ID"] = pod_name(table, static_cast<std::size_t>(at.node));
    env["DEVICE_INDEX"] = at.rank();
    return;
  }
  env["RANK_ID"] = at.rank();
  env["DEVICE_INDEX"] = Position::text(at.local);
}

// A job's environment on that platform: one worker per node, and how to reach each.
void add_dlws_node(const NodeContext& at, Environment& env) {
  const auto& [plan, plan_case, placement, node, node_dir] = at;
  const bool several = plan_case.nodes > 1;
  // For a platform job, the number by which its users know it.
  const auto job = plan_case.env.find(std::string(kJobIdVariable));
  env["DLWS_JOB_ID"] = job == plan_case.env.end() ? placement.run_id : job->second;
  env["DLWS_ROLE_NAME"] = several ? "worker" : "master";
  env["DLWS_ROLE_IDX"] = env["DLTS_ROLE_IDX"] = std::to_string(node);
  env["DLWS_NUM_PS"] = several ? "1" : "0";  // there, 0 means a single-node job
  env["DLWS_NUM_WORKER"] = env["DLWS_WORKER_NUM"] = std::to_string(plan_case.nodes);
  const std::string devices =
      devices_of(plan, plan_case, placement.hosts.at(static_cast<std::size_t>(node)));
  env["DLWS_NUM_GPU_PER_WORKER"] = std::to_string(split(devices, ',').size());
  env["DLWS_GPU_TYPE"] = plan_case.hardware;
  env["DLWS_IS_NPU_JOB"] = plan.vendor == "ascend" ? "true" : "false";
  env["DLWS_HOST_NETWORK"] = "enable";
  const plan::SshAccess access = plan::common_access(plan.cluster.options);
  if (!access.user.empty()) env["DLWS_USER_NAME"] = access.user;
  const int common_port = access.port != 0 ? access.port : kSshPort;
  for (int i = 0; i < plan_case.nodes; ++i) {
    const std::string& name = placement.hosts.at(static_cast<std::size_t>(i));
    const plan::Host* host = plan.cluster.find_host(name);
    const auto add = [&](const char* what, const std::string& value) {
      env[fmt::format("DLWS_SD_worker{}_{}", i, what)] = value;
      // The parameter server, which starts the workers, is beside the first one.
      if (several && i == 0) env[fmt::format("DLWS_SD_ps0_{}", what)] = value;
      if (i == node) env[fmt::format("DLWS_SD_SELF_{}", what)] = value;
    };
    const std::string address = node_address(plan, placement, static_cast<std::size_t>(i));
    const int port = host != nullptr && host->ssh.port != 0 ? host->ssh.port : common_port;
    add("IP", address);
    add("HOST_IP", address);
    add("SSH_PORT", std::to_string(port));
    add("IB_IP", host == nullptr || host->ib_addr.empty() ? address : host->ib_addr);
    if (host == nullptr || host->device_ips.empty()) continue;
    std::vector<std::string> device_ips;
    for (std::size_t k = 0; k < host->device_ips.size(); ++k)
      device_ips.push_back(fmt::format("{}:{}", k, host->device_ips[k]));
    env[fmt::format("DLWS_SD_worker{}_NPU_IP_LIST", i)] = join(device_ips, ",");
    if (i == node) env["NPU_IPS"] = join(device_ips, ",");
  }
  env["VISIBLE_IDS"] = devices;
}

/// A flavor's variables for a node and for a rank; nullptr if it has none.
struct FlavorVariables {
  std::string_view flavor;
  void (*node)(const NodeContext& at, Environment& env);
  void (*rank)(const Position& at, Environment& env);
};
constexpr std::array kVariables{FlavorVariables{"torchrun", add_torchrun_node, add_torchrun_rank},
                                FlavorVariables{"mpi", nullptr, add_mpi_rank},
                                FlavorVariables{"horovod", add_horovod_node, add_horovod_rank},
                                FlavorVariables{"hccl", add_hccl_node, add_hccl_rank},
                                FlavorVariables{"dlws", add_dlws_node, nullptr}};

bool meets_by(const plan::Plan& plan, const plan::CasePlan& plan_case, const Placement& placement,
              std::string_view flavor) {
  return plan_case.meets_by(flavor) ||
         (flavor == "hccl" && has_rank_table(plan.cluster, plan_case, placement.hosts));
}

}  // namespace

std::string node_address(const plan::Plan& plan, const Placement& placement, std::size_t node) {
  const std::string& name = placement.hosts.at(node);
  const plan::Host* host = plan.cluster.find_host(name);
  if (host != nullptr && is_ip_address(host->server_id)) return host->server_id;
  std::string reached = plan.cluster.address_of(name);
  if (!is_ip_address(reached) && node < placement.addresses.size() &&
      is_ip_address(placement.addresses[node]))
    return placement.addresses[node];
  return reached;
}

Environment node_environment(const plan::Plan& plan, const plan::CasePlan& plan_case,
                             const Placement& placement, int node,
                             const std::filesystem::path& node_dir) {
  Environment env{{"ASSAY_RUN", placement.run_id},
                  {"ASSAY_CASE", plan_case.name},
                  {"ASSAY_ROUND", std::to_string(placement.round)}};
  env.insert(placement.env.begin(), placement.env.end());
  for (const auto& [name, value] : plan::node_variables(plan.cluster.options, plan_case))
    env[name] = value;
  const std::string visible = plan.vendor_data.value("visible_devices", "");
  if (!visible.empty()) env[visible] = device_numbers(plan_case.procs);
  const NodeContext at{plan, plan_case, placement, node, node_dir};
  for (const FlavorVariables& variables : kVariables)
    if (variables.node != nullptr && meets_by(plan, plan_case, placement, variables.flavor))
      variables.node(at, env);
  return env;
}

Environment host_environment(const plan::Plan& plan, const std::string& host) {
  const plan::Host* found = plan.cluster.find_host(host);
  return found == nullptr ? Environment{} : found->env;
}

Environment rank_environment(const plan::Plan& plan, const plan::CasePlan& plan_case,
                             const Placement& placement, int node, int local_rank) {
  const Position at{plan, plan_case, placement, node, local_rank};
  Environment env{{"RANK", at.rank()}};  // also used by PerfLog writers
  for (const FlavorVariables& variables : kVariables)
    if (variables.rank != nullptr && meets_by(plan, plan_case, placement, variables.flavor))
      variables.rank(at, env);
  return env;
}

}  // namespace assay::rendezvous
