#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "agent/rank_binding.h"
#include "agent/rank_places.h"
#include "error_of.h"
#include "temporary_folder.h"

namespace assay::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// `nodes` NUMA nodes of `cores` cores with two hardware threads each, numbered as on a usual
/// server: the second threads come after all first ones.
std::vector<CpuPlace> server(int nodes, int cores) {
  std::vector<CpuPlace> places;
  const int all = nodes * cores;
  for (int core = 0; core < all; ++core)
    for (const int cpu : {core, core + all}) places.push_back({cpu, core, core / cores});
  return places;
}

std::vector<std::string> cpus_of(const std::vector<RankBinding>& bindings) {
  std::vector<std::string> out;
  for (const RankBinding& binding : bindings) out.push_back(binding.cpus.text());
  return out;
}

TEST(BindRanks, CoresAreSharedOutWithAllTheirThreads) {
  EXPECT_THAT(cpus_of(bind_ranks({BindMode::cores}, server(2, 4), 4)),
              ElementsAre("0-1,8-9", "2-3,10-11", "4-5,12-13", "6-7,14-15"));
  EXPECT_THAT(cpus_of(bind_ranks({BindMode::cores}, server(1, 3), 2)),
              ElementsAre("0,3", "1-2,4-5"));
}

TEST(BindRanks, ShareCoresWhereThereAreFewerThanRanks) {
  EXPECT_THAT(cpus_of(bind_ranks({BindMode::cores}, {{3, 3, 0}}, 2)), ElementsAre("3", "3"));
  EXPECT_THAT(cpus_of(bind_ranks({BindMode::cores}, {{0, 0, 0}, {1, 1, 0}}, 3)),
              ElementsAre("0", "1", "0"));
}

TEST(BindRanks, NumaNodesAreTakenInBlocksWithTheirMemory) {
  const auto bindings = bind_ranks({BindMode::numa}, server(2, 2), 4);
  EXPECT_THAT(cpus_of(bindings), ElementsAre("0-1,4-5", "0-1,4-5", "2-3,6-7", "2-3,6-7"));
  EXPECT_EQ(bindings[1].memory, 0);
  EXPECT_EQ(bindings[2].memory, 1);
  EXPECT_THAT(cpus_of(bind_ranks({BindMode::numa}, server(4, 1), 2)), ElementsAre("0,4", "2,6"));
}

TEST(BindRanks, ListsAreTakenAsTheyAreAndMustBeUsable) {
  const Bind bind{BindMode::listed, {CpuSet({1}), CpuSet({0, 9})}};
  EXPECT_THAT(cpus_of(bind_ranks(bind, server(1, 8), 2)), ElementsAre("1", "0,9"));
  const std::string error = testing::error_of([&] {
    return bind_ranks(bind, {{0, 0, 0}, {1, 1, 0}}, 2);
  });
  EXPECT_THAT(error, HasSubstr("CPUs 0,9 for local rank 1, of which 9 cannot be used here"));
  EXPECT_THAT(error, HasSubstr("usable are 0-1"));
}

TEST(BindRanks, NoneBindsNobody) {
  EXPECT_TRUE(bind_ranks({}, server(1, 2), 2).empty());
}

TEST(CpuPlaces, AreReadFromSysfs) {
  const testing::TemporaryFolder root;
  root.write("sys/devices/system/node/online", "0-1\n");
  root.write("sys/devices/system/node/node0/cpulist", "0,2\n");
  root.write("sys/devices/system/node/node1/cpulist", "1,3\n");
  for (int cpu = 0; cpu < 3; ++cpu)
    root.write(
        "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list",
        cpu % 2 == 0 ? "0,2\n" : "1,3\n");
  const auto places = cpu_places(CpuSet({0, 1, 2, 7}), root.path());
  ASSERT_EQ(places.size(), 4u);
  EXPECT_EQ(places[0].cpu, 0);
  EXPECT_EQ(places[1].cpu, 2);
  EXPECT_EQ(places[1].core, 0);
  EXPECT_EQ(places[2].cpu, 7) << "what sysfs does not tell is on node 0";
  EXPECT_EQ(places[3].numa, 1);
}

TEST(BoundHere, BindsThisThreadForAWhile) {
  const CpuSet before = CpuSet::usable();
  {
    const BoundHere bound({CpuSet({before.cpus().back()}), 0});
    EXPECT_EQ(CpuSet::usable().text(), std::to_string(before.cpus().back()));
    EXPECT_TRUE(last_cpus(::getpid()).contains(before.cpus().back()));
  }
  EXPECT_EQ(CpuSet::usable(), before);
}

TEST(BoundHere, SaysWhichCpusTheKernelRefuses) {
  const int absent = CpuSet::usable().cpus().back() + 1000;
  EXPECT_THAT(testing::error_of([&] {
                const BoundHere bound({CpuSet({absent})});
                return 0;
              }),
              HasSubstr("cannot bind to CPUs " + std::to_string(absent)));
}

}  // namespace
}  // namespace assay::agent
