#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/plan/testing.h"

namespace assay::plan {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::plan;
using testing::suite;

std::string with_hosts(const std::string& hosts, const std::string& more) {
  return "cluster: {launcher: ssh, hosts: [" + hosts +
         "]}\ncases:\n  - {name: c, nodes: 2, procs: 2, " + more + "}\n";
}
const std::string kTwoHosts =
    "{name: n1, server_id: 10.1.2.3, device_ips: [10.9.0.1, 10.9.0.2]}, "
    "{name: n2, server_id: 10.1.2.4, device_ips: [10.9.0.3, 10.9.0.4]}";

TEST(Rendezvous, IsTorchrunsByDefault) {
  EXPECT_THAT(plan("cases: [{name: c, command: x}]").cases[0].rendezvous, ElementsAre("torchrun"));
}

TEST(Rendezvous, IsOneFlavourOrAList) {
  EXPECT_THAT(plan("cases: [{name: c, command: x, rendezvous: mpi}]").cases[0].rendezvous,
              ElementsAre("mpi"));
  EXPECT_THAT(
      plan("cases: [{name: c, command: x, rendezvous: [hccl, torchrun]}]").cases[0].rendezvous,
      ElementsAre("hccl", "torchrun"));
}

TEST(Rendezvous, ThatIsUnknownEmptyOrDoubleIsAnError) {
  const auto error = [](const char* value) {
    return error_of([&] {
      return plan("cases: [{name: c, command: x, rendezvous: " + std::string(value) + "}]");
    });
  };
  EXPECT_THAT(error("hcl"), HasSubstr("did you mean 'hccl'"));
  EXPECT_THAT(error("[]"), HasSubstr("the list is empty"));
  EXPECT_THAT(error("[mpi, mpi]"), HasSubstr("'mpi' is listed twice"));
}

TEST(Rendezvous, CanBeSetOnTheCommandLine) {
  EXPECT_THAT(
      plan("cases: [{name: c, command: x}]", {"rendezvous=[mpi, dlws]"}).cases[0].rendezvous,
      ElementsAre("mpi", "dlws"));
}

TEST(Rendezvous, IsInThePlan) {
  const Plan made =
      plan(with_hosts(kTwoHosts, "command: x, rendezvous: hccl"), {"cluster.rank_table=lab"});
  const Json json = to_json(made);
  const Plan back = plan_from_json(json, "x");
  EXPECT_EQ(to_json(back), json);
  EXPECT_TRUE(back.cases[0].meets_by("hccl"));
  EXPECT_EQ(back.cluster.rank_table, "lab");
  EXPECT_EQ(back.cluster.hosts[1].server_id, "10.1.2.4");
  EXPECT_THAT(back.cluster.hosts[1].device_ips, ElementsAre("10.9.0.3", "10.9.0.4"));
  EXPECT_THAT(render_text(made), HasSubstr("rendezvous  hccl"));
  EXPECT_THAT(render_text(made), HasSubstr("n2 (server 10.1.2.4, devices 10.9.0.3 10.9.0.4)"));
}

TEST(ClusterHosts, HaveVariablesOfTheirOwn) {
  const Plan made =
      plan(with_hosts("{name: n1, env: {CUDA_VISIBLE_DEVICES: '2,3', N: 1}}, n2", "command: x"));
  EXPECT_EQ(made.cluster.hosts[0].env,
            (std::map<std::string, std::string>{{"CUDA_VISIBLE_DEVICES", "2,3"}, {"N", "1"}}));
  EXPECT_EQ(plan_from_json(to_json(made), "x").cluster.hosts[0].env, made.cluster.hosts[0].env);
  EXPECT_THAT(render_text(made), HasSubstr("n1 (CUDA_VISIBLE_DEVICES=2,3, N=1)"));
  EXPECT_THAT(error_of([] { return plan(with_hosts("{name: n1, env: {N: }}, n2", "command: x")); }),
              HasSubstr("the variable N has no value"));
}

TEST(Rendezvous, OfAnOlderPlanIsTorchruns) {
  Json json = to_json(plan("cases: [{name: c, command: x}]"));
  json["cases"][0].erase("rendezvous");
  EXPECT_THAT(plan_from_json(json, "x").cases[0].rendezvous, ElementsAre("torchrun"));
}

TEST(Rendezvous, ByHcclNeedsTheDeviceIpsOfEveryHost) {
  EXPECT_THAT(error_of([] { return plan(with_hosts("n1, n2", "command: x, rendezvous: hccl")); }),
              HasSubstr("'n1' has 0 device_ips for 2 processes"));
  EXPECT_THAT(error_of([] {
                return plan(with_hosts(kTwoHosts, "command: x, rendezvous: hccl"), {"procs=3"});
              }),
              HasSubstr("'n1' has 2 device_ips for 3 processes"));
  EXPECT_THAT(error_of([] {
                return plan(
                    "cluster: {launcher: slurm}\n"
                    "cases: [{name: c, command: x, nodes: 2, rendezvous: hccl}]");
              }),
              HasSubstr("lists no hosts with their device_ips"));
}

TEST(Rendezvous, ByHcclOnOneNodeNeedsNoDeviceIps) {
  EXPECT_NO_THROW((void)plan("cases: [{name: c, command: x, procs: 8, rendezvous: hccl}]"));
}

TEST(Rendezvous, BySuperPodsNeedsTheirIds) {
  EXPECT_THAT(error_of([] {
                return plan(with_hosts(kTwoHosts, "command: x, rendezvous: hccl"),
                            {"cluster.rank_table=1.2"});
              }),
              HasSubstr("'n1' has no super_pod"));
}

TEST(RendezvousFiles, NeedTheirFlavour) {
  EXPECT_THAT(error_of([] { return plan("cases: [{name: c, command: 'x {hostfile}'}]"); }),
              HasSubstr("{hostfile} is used by the case 'c', which gets no hostfile"));
  EXPECT_THAT(
      error_of([] { return plan("cases: [{name: c, command: x, env: {T: '{ranktable}'}}]"); }),
      HasSubstr("{ranktable} is used by the case 'c', which gets no rank table"));
  EXPECT_NO_THROW(
      (void)plan("cases: [{name: c, command: 'x {hostfile} {{ranktable}}', rendezvous: dlws}]"));
}

TEST(ClusterHosts, HaveCheckedDevices) {
  const auto error = [](const std::string& hosts) {
    return error_of([&] {
      return suite("cluster: {hosts: [" + hosts + "]}\ncases: [{name: c, command: x}]\n");
    });
  };
  EXPECT_THAT(error("{name: a, device_ips: [10.0.0.256]}"), HasSubstr("not an IP address"));
  EXPECT_THAT(error("{name: a, device_ips: [10.0.0.1]}, {name: b, device_ips: [10.0.0.1]}"),
              HasSubstr("the device IP 10.0.0.1 is that of 'a' too"));
  EXPECT_THAT(error("{name: a, server_id: s}, {name: b, server_id: s}"),
              HasSubstr("the server_id s is that of 'a' too"));
  EXPECT_THAT(error("{name: a, server_id: '" + std::string(64, 'x') + "'}"),
              HasSubstr("at most 63 characters"));
  EXPECT_THAT(error("{name: a, super_device_ids: [x]}"), HasSubstr("whole number"));
}

}  // namespace
}  // namespace assay::plan
