#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/rendezvous_flavor.h"
#include "error_of.h"
#include "rendezvous/environment.h"
#include "rendezvous/rank_table.h"
#include "rendezvous/ranks.h"
#include "rendezvous/round_files.h"

namespace assay::rendezvous {
namespace {

using assay::testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::UnorderedElementsAre;
using Pair = std::pair<const std::string, std::string>;

/// A cluster as that of the Apulis platform's training guide: two servers of eight NPUs.
struct Cluster {
  plan::Plan plan;
  plan::CasePlan plan_case;

  explicit Cluster(std::vector<std::string> flavours) {
    plan.run_id = "run1";
    plan.vendor = "ascend";
    plan::SshOptions ssh;
    ssh.user = "bench";
    ssh.port = 2222;
    plan.cluster.use_launcher(ssh);
    for (int server = 0; server < 2; ++server) {
      plan::Host host{"n" + std::to_string(server + 1), 8};
      host.server_id = "10.1.2." + std::to_string(server + 3);
      host.ib_addr = "ib-" + host.name;
      for (int device = 0; device < 8; ++device)
        host.device_ips.push_back("192.168." + std::to_string(server) + "." +
                                  std::to_string(device + 1));
      plan.cluster.hosts.push_back(host);
    }
    plan_case.name = "bert";
    plan_case.hardware = "9100";
    plan_case.nodes = 2;
    plan_case.procs = 8;
    plan_case.rendezvous = std::move(flavours);
    plan_case.command = {"train"};
  }

  [[nodiscard]] Placement placement() const {
    Placement out = place(plan, plan_case, {"n1", "n2"}, 1);
    out.master_port = 29500;
    return out;
  }
  [[nodiscard]] NodeCommands node(int number) const {
    return resolve_node(plan, plan_case, placement(), number, "/out");
  }
  /// What a rank finds in its environment.
  [[nodiscard]] Environment rank(int number) const {
    NodeCommands commands = node(number / plan_case.procs);
    RankCommand& rank = commands.ranks.at(static_cast<std::size_t>(number % plan_case.procs));
    Environment env = commands.env;
    for (const auto& [name, value] : rank.env) env[name] = value;
    return env;
  }
};

TEST(TorchrunEnvironment, IsTheDefault) {
  const Cluster cluster(plan::CasePlan{}.rendezvous);
  EXPECT_THAT(cluster.rank(11),
              UnorderedElementsAre(
                  Pair{"ASSAY_RUN", "run1"}, Pair{"ASSAY_CASE", "bert"}, Pair{"ASSAY_ROUND", "1"},
                  Pair{"RANK", "11"}, Pair{"LOCAL_RANK", "3"}, Pair{"WORLD_SIZE", "16"},
                  Pair{"LOCAL_WORLD_SIZE", "8"}, Pair{"NODE_RANK", "1"}, Pair{"GROUP_RANK", "1"},
                  Pair{"MASTER_ADDR", "n1"}, Pair{"MASTER_PORT", "29500"}));
}

TEST(MpiEnvironment, HasTheNamesOfOpenMpiAndOfMpich) {
  const Environment env = Cluster({"mpi"}).rank(11);
  EXPECT_THAT(
      env,
      IsSupersetOf({Pair{"OMPI_COMM_WORLD_RANK", "11"}, Pair{"OMPI_COMM_WORLD_SIZE", "16"},
                    Pair{"OMPI_COMM_WORLD_LOCAL_RANK", "3"},
                    Pair{"OMPI_COMM_WORLD_LOCAL_SIZE", "8"}, Pair{"OMPI_COMM_WORLD_NODE_RANK", "3"},
                    Pair{"PMI_RANK", "11"}, Pair{"PMI_SIZE", "16"}, Pair{"MPI_LOCALRANKID", "3"},
                    Pair{"MPI_LOCALNRANKS", "8"}}));
  EXPECT_FALSE(env.contains("MASTER_ADDR"));
}

TEST(HorovodEnvironment, HasRanksAndTheGlooRendezvous) {
  EXPECT_THAT(Cluster({"horovod"}).rank(11),
              IsSupersetOf({Pair{"HOROVOD_RANK", "11"}, Pair{"HOROVOD_SIZE", "16"},
                            Pair{"HOROVOD_LOCAL_RANK", "3"}, Pair{"HOROVOD_LOCAL_SIZE", "8"},
                            Pair{"HOROVOD_CROSS_RANK", "1"}, Pair{"HOROVOD_CROSS_SIZE", "2"},
                            Pair{"HOROVOD_HOSTNAME", "n2"}, Pair{"HOROVOD_CONTROLLER", "gloo"},
                            Pair{"HOROVOD_CPU_OPERATIONS", "gloo"},
                            Pair{"HOROVOD_GLOO_RENDEZVOUS_ADDR", "n1"},
                            Pair{"HOROVOD_GLOO_RENDEZVOUS_PORT", "29500"}}));
}

TEST(HorovodEnvironment, IsLeftToHorovodrunOnTheHeadNode) {
  Cluster cluster({"horovod"});
  cluster.plan_case.launch = plan::LaunchMode::head;
  cluster.plan_case.command = {"horovodrun", "-hostfile", "{hostfile}"};
  const NodeCommands head = cluster.node(0);
  EXPECT_EQ(head.ranks[0].argv[2], "/out/hostfile");
  for (const auto& [name, value] : head.env) EXPECT_FALSE(name.starts_with("HOROVOD_")) << name;
  EXPECT_TRUE(head.ranks[0].env.empty());
}

TEST(HcclEnvironment, PointsAtTheRankTable) {
  const Cluster cluster({"hccl"});
  EXPECT_THAT(cluster.rank(11),
              IsSupersetOf({Pair{"RANK_TABLE_FILE", "/out/hccl.json"}, Pair{"RANK_ID", "11"},
                            Pair{"RANK_SIZE", "16"}, Pair{"DEVICE_ID", "3"},
                            Pair{"DEVICE_NUM", "8"}, Pair{"HCCL_CONNECT_TIMEOUT", "600"}}));
  EXPECT_EQ(cluster.rank(0).at("JOB_ID"), cluster.rank(15).at("JOB_ID"));
}

// The guide's script sets RANK_ID=$i on both servers: ranks 8 to 15 never start.
TEST(HcclEnvironment, GivesEveryRankOfTheTableToOneProcess) {
  const Cluster cluster({"hccl"});
  const TableReading reading = parse_rank_table(cluster.placement().files.at("hccl.json"), "x");
  ASSERT_TRUE(reading.valid());
  std::set<std::string> started;
  for (int rank = 0; rank < 16; ++rank) {
    const Environment env = cluster.rank(rank);
    EXPECT_TRUE(started.insert(env.at("RANK_ID")).second);
    const TableServer& server = reading.table.servers.at(static_cast<std::size_t>(rank / 8));
    const TableDevice& device = server.devices.at(static_cast<std::size_t>(rank % 8));
    EXPECT_EQ(env.at("RANK_ID"), std::to_string(device.rank));
    EXPECT_EQ(env.at("DEVICE_ID"), std::to_string(device.id));
    EXPECT_EQ(server.id, "10.1.2." + std::to_string(rank / 8 + 3));
  }
  EXPECT_EQ(started.size(), 16u);
}

TEST(HcclEnvironment, OfTheCloudFormNamesThePod) {
  Cluster cluster({"hccl"});
  cluster.plan.cluster.rank_table = "cloud";
  const Json table = parse_json(cluster.placement().files.at("hccl.json"), "x");
  const Environment env = cluster.rank(11);
  EXPECT_EQ(env.at("RANK_ID"),
            table["group_list"][0]["instance_list"][1]["pod_name"].get<std::string>());
  EXPECT_EQ(env.at("DEVICE_INDEX"), "11");
  EXPECT_EQ(env.at("DEVICE_ID"), "3");
}

TEST(HcclEnvironment, OfTheCaseWins) {
  Cluster cluster({"hccl"});
  cluster.plan_case.env = {{"HCCL_CONNECT_TIMEOUT", "1200"}};
  EXPECT_EQ(cluster.rank(3).at("HCCL_CONNECT_TIMEOUT"), "1200");
}

TEST(DlwsEnvironment, SaysWhoIsWhere) {
  const Environment env = Cluster({"dlws"}).rank(11);
  EXPECT_THAT(env,
              IsSupersetOf(
                  {Pair{"DLWS_ROLE_NAME", "worker"}, Pair{"DLWS_ROLE_IDX", "1"},
                   Pair{"DLWS_NUM_WORKER", "2"}, Pair{"DLWS_WORKER_NUM", "2"},
                   Pair{"DLWS_NUM_GPU_PER_WORKER", "8"}, Pair{"DLWS_JOB_ID", "run1"},
                   Pair{"DLWS_USER_NAME", "bench"}, Pair{"DLWS_IS_NPU_JOB", "true"},
                   Pair{"DLWS_SD_worker0_IP", "10.1.2.3"}, Pair{"DLWS_SD_worker0_SSH_PORT", "2222"},
                   Pair{"DLWS_SD_worker1_IP", "10.1.2.4"}, Pair{"DLWS_SD_worker1_IB_IP", "ib-n2"},
                   Pair{"DLWS_SD_SELF_IP", "10.1.2.4"}, Pair{"VISIBLE_IDS", "0,1,2,3,4,5,6,7"}}));
  EXPECT_THAT(env.at("NPU_IPS"), HasSubstr("0:192.168.1.1,1:192.168.1.2"));
}

TEST(DlwsEnvironment, HasTheAddressesAndPortsOfTheHostsThemselves) {
  Cluster cluster({"dlws", "mpi"});
  for (plan::Host& host : cluster.plan.cluster.hosts) host.server_id.clear();
  cluster.plan.cluster.hosts[0].ssh.address = "10.9.9.1";
  cluster.plan.cluster.hosts[1].ssh.port = 2200;
  Placement placement = cluster.placement();
  placement.addresses = {"10.1.0.1", "10.1.0.2"};
  const NodeCommands node = resolve_node(cluster.plan, cluster.plan_case, placement, 1, "/out");
  EXPECT_THAT(node.env,
              IsSupersetOf(
                  {Pair{"DLWS_SD_worker0_IP", "10.9.9.1"}, Pair{"DLWS_SD_worker0_SSH_PORT", "2222"},
                   Pair{"DLWS_SD_worker1_IP", "10.1.0.2"}, Pair{"DLWS_SD_worker1_SSH_PORT", "2200"},
                   Pair{"DLWS_SD_ps0_IP", "10.9.9.1"}, Pair{"DLWS_SD_ps0_SSH_PORT", "2222"}}));
  EXPECT_EQ(placement.files.at("hostfile"), "10.9.9.1 slots=8\nn2 slots=8\n");
}

TEST(DlwsEnvironment, HasTheAddressesToWhichAliasesOfSshLead) {
  Cluster cluster({"dlws", "mpi"});
  for (plan::Host& host : cluster.plan.cluster.hosts) host.server_id.clear();
  cluster.plan.cluster.hosts[0].reached = "10.9.9.1";
  cluster.plan.cluster.hosts[1].reached = "node2.example.com";
  Placement placement = cluster.placement();
  placement.addresses = {"10.1.0.1", "10.1.0.2"};
  const NodeCommands node = resolve_node(cluster.plan, cluster.plan_case, placement, 1, "/out");
  EXPECT_THAT(node.env, IsSupersetOf({Pair{"DLWS_SD_worker0_IP", "10.9.9.1"},
                                      Pair{"DLWS_SD_worker1_IP", "10.1.0.2"}}));
  EXPECT_EQ(placement.files.at("hostfile"), "10.9.9.1 slots=8\nnode2.example.com slots=8\n");
  EXPECT_THAT(node_names(cluster.plan, placement),
              IsSupersetOf({std::pair<const std::string, int>{"n1", 0}, {"10.9.9.1", 0}}));
}

// One process that drives four devices, which are not the node's first.
TEST(DlwsEnvironment, CountsTheDevicesOfAJobAndNotItsProcesses) {
  Cluster cluster({"dlws"});
  cluster.plan_case.procs = 1;
  cluster.plan_case.env = {{"ASSAY_DEVICES", "4,5,6,7"}};
  const Environment env = cluster.rank(1);
  EXPECT_EQ(env.at("VISIBLE_IDS"), "4,5,6,7");
  EXPECT_EQ(env.at("DLWS_NUM_GPU_PER_WORKER"), "4");
  cluster.plan.cluster.hosts[1].env = {{"ASSAY_DEVICES", "2,3"}};
  EXPECT_EQ(cluster.rank(1).at("VISIBLE_IDS"), "2,3");
  cluster.plan.cluster.hosts[1].env.clear();
  cluster.plan_case.env = {{"ASSAY_DEVICES", ""}};
  EXPECT_EQ(cluster.rank(1).at("VISIBLE_IDS"), "0");
}

TEST(DlwsEnvironment, OfOneNodeIsThatOfAMaster) {
  Cluster cluster({"dlws"});
  cluster.plan_case.nodes = 1;
  const Environment env = cluster.rank(0);
  EXPECT_EQ(env.at("DLWS_ROLE_NAME"), "master");
  EXPECT_EQ(env.at("DLWS_NUM_PS"), "0");
}

TEST(Environments, ComeTogetherWhenACaseAsksForSeveral) {
  const Environment env = Cluster({"torchrun", "mpi", "horovod", "hccl", "dlws"}).rank(9);
  for (const char* name : {"RANK", "OMPI_COMM_WORLD_RANK", "HOROVOD_RANK", "RANK_ID"})
    EXPECT_EQ(env.at(name), "9") << name;
}

// What is submitted with another value is refused by that list; defaults may be overridden.
TEST(Environments, HaveNoVariableThatTheListOfThoseDoesNotKnow) {
  const std::set<std::string> defaults{"HCCL_CONNECT_TIMEOUT", "HOROVOD_CONTROLLER",
                                       "HOROVOD_CPU_OPERATIONS"};
  Cluster cluster(rendezvous_names());
  for (const char* form : {"", "cloud"}) {
    cluster.plan.cluster.rank_table = form;
    for (const auto& [name, value] : cluster.rank(9))
      EXPECT_NE(is_place_variable(name), defaults.contains(name)) << name;
  }
}

TEST(Environments, OfAPerNodeCommandHaveNoRanks) {
  Cluster cluster({"mpi", "hccl"});
  cluster.plan_case.launch = plan::LaunchMode::per_node;
  const NodeCommands second = cluster.node(1);
  EXPECT_TRUE(second.ranks[0].env.empty());
  EXPECT_EQ(second.env.at("RANK_START"), "8");
  EXPECT_FALSE(second.env.contains("RANK_ID"));
}

TEST(RoundFiles, AreThoseOfTheFlavours) {
  EXPECT_EQ(Cluster({"torchrun"}).placement().files.size(), 1u);
  const auto files = Cluster({"mpi", "dlws", "hccl"}).placement().files;
  EXPECT_EQ(files.size(), 4u);
  EXPECT_EQ(files.at("hostfile"), "n1 slots=8\nn2 slots=8\n");
  EXPECT_EQ(files.at("ib_config"), "ib-n1 slots=8\nib-n2 slots=8\n");
}

TEST(RoundFiles, KeepTheNameOfAHostWhoseAddressNoFormCanHold) {
  plan::Cluster cluster;
  cluster.hosts = {plan::Host{"n1"}, plan::Host{"n2"}};
  cluster.hosts[0].reached = "fe80::1";
  cluster.hosts[1].ssh.address = "root@fe80::2";
  for (const HostfileForm form : {HostfileForm::openmpi, HostfileForm::mpich})
    for (const std::size_t host : {0, 1})
      EXPECT_EQ(host_slots(cluster, {"n1", "n2"}, 8, form)[host].host, cluster.hosts[host].name);
}

// mpirun ends with an error of its own for them; the round's ssh knows the places.
TEST(RoundFiles, CallHostsByTheirPlacesWhoseNamesMpirunCannotTake) {
  Cluster cluster({"mpi"});
  cluster.plan.cluster.hosts = {plan::Host{"fd00::1"}, plan::Host{"gpu_2"}};
  const Placement placement = place(cluster.plan, cluster.plan_case, {"fd00::1", "gpu_2"}, 1);
  EXPECT_EQ(placement.files.at("hostfile"), "worker-0 slots=8\nworker-1 slots=8\n");
  EXPECT_EQ(node_names(cluster.plan, placement).at("worker-1"), 1);
}

TEST(RoundFiles, HaveSuperPodsWhereTheHostsHave) {
  Cluster cluster({"hccl"});
  for (plan::Host& host : cluster.plan.cluster.hosts) {
    host.super_pod = "pod-" + host.name;
    host.super_device_ids = {"0", "1", "2", "3", "4", "5", "6", "7"};
  }
  const Json table = parse_json(cluster.placement().files.at("hccl.json"), "x");
  EXPECT_EQ(table["version"], "1.2");
  EXPECT_EQ(table["super_pod_list"][1]["super_pod_id"], "pod-n2");
}

TEST(RoundFiles, NameAHostWhoseDevicesAreNotKnown) {
  const Cluster cluster({"hccl"});
  EXPECT_THAT(error_of([&] {
                return place(cluster.plan, cluster.plan_case, {"n1", "other"}, 1);
              }),
              HasSubstr("device IPs of the host 'other'"));
}

TEST(Environment, EveryFlavorOfThePlanHasVariablesOfItsOwn) {
  const std::size_t without = Cluster({}).rank(0).size();
  for (const std::string& flavor : rendezvous_names())
    EXPECT_GT(Cluster({flavor}).rank(0).size(), without) << flavor;
}

// The step of the agents has one task a node.
TEST(Environment, UnderSlurmTheTasksOfANodeAreTheCasesProcesses) {
  Cluster cluster({"mpi"});
  EXPECT_FALSE(cluster.node(0).env.contains("SLURM_TASKS_PER_NODE"));
  cluster.plan.cluster.use_launcher(plan::SlurmOptions{});
  cluster.plan_case.launch = plan::LaunchMode::head;
  EXPECT_EQ(cluster.node(0).env.at("SLURM_TASKS_PER_NODE"), "8(x2)");
  cluster.plan_case.env["SLURM_TASKS_PER_NODE"] = "1";
  EXPECT_EQ(cluster.rank(0).at("SLURM_TASKS_PER_NODE"), "1");
}

TEST(NodeNames, AreThoseOfTheHostsAndThoseOfThatPlatform) {
  const Cluster cluster({"dlws"});
  const auto names = node_names(cluster.plan, cluster.placement());
  for (const char* first :
       {"n1", "10.1.2.3", "ib-n1", "worker0", "worker-0", "ib-worker-0", "ps-0", "master"})
    EXPECT_EQ(names.at(first), 0) << first;
  for (const char* second : {"n2", "10.1.2.4", "worker1", "worker-1"})
    EXPECT_EQ(names.at(second), 1) << second;
  EXPECT_FALSE(names.contains("worker2"));
}

TEST(NodeNames, AHostThatIsCalledAsAnothersPlaceIsItself) {
  Cluster cluster({"dlws"});
  cluster.plan.cluster.hosts[0].name = "worker-1";
  Placement placement = cluster.placement();
  placement.hosts[0] = "worker-1";
  EXPECT_EQ(node_names(cluster.plan, placement).at("worker-1"), 0);
}

}  // namespace
}  // namespace assay::rendezvous
