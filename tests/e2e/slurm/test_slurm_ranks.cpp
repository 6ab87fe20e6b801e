// Ranks that srun starts itself (cluster.slurm.mpi), with a program of OpenMPI.

#include <algorithm>

#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include "core/files.h"
#include "e2e/slurm_cluster.h"
#include "needs.h"
#include "send_signal.h"

namespace assay::e2e {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

// Each rank adds its number, and the first prints the sum of all.
constexpr const char* kSum = R"(#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char** argv) {
  int rank, size, sum;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (atoi(getenv("RANK")) != rank) return 9;
  if (rank == 0) { printf("sum %d of %d ranks\n", sum, size); fflush(stdout); }
  if (argc > 1 && rank == size - 1) return atoi(argv[1]);
  if (argc > 2) execlp("sleep", "sleep", argv[2], NULL);
  MPI_Finalize();
  return 0;
}
)";

class SlurmRanks : public SlurmTest {
 protected:
  void SetUp() override {
    SlurmTest::SetUp();
    if (IsSkipped()) return;
    if (!find_program("mpicc")) GTEST_SKIP() << needs::package("libopenmpi-dev");
    if (run_command({"srun", "--mpi=list"}).err.find("pmix") == std::string::npos &&
        run_command({"srun", "--mpi=list"}).out.find("pmix") == std::string::npos)
      GTEST_SKIP() << needs::system("a Slurm with the plugin pmix");
    write("sum.c", kSum);
    const CommandResult made =
        run_command({"mpicc", "-o", (folder_ / "sum").string(), (folder_ / "sum.c").string()});
    ASSERT_TRUE(made.status.ok()) << made.err;
  }
  void TearDown() override {
    SlurmTest::TearDown();
    EXPECT_TRUE(eventually([this] { return processes_with((folder_ / "sum").string()).empty(); }));
    EXPECT_TRUE(eventually([this] { return processes_with("sleep " + marker_).empty(); }));
  }
  /// Two nodes of two ranks each.
  [[nodiscard]] fs::path suite(const std::string& arguments = {}) const {
    return write("suite.yaml",
                 "name: s\ncluster: {launcher: slurm, slurm: {mpi: pmix, wait: 60s}}\ncases:\n"
                 "  - name: sum\n    nodes: 2\n    procs: 2\n    limits: {grace: 1s}\n"
                 "    command: [" +
                     (folder_ / "sum").string() + arguments +
                     // All nodes are this machine: shared memory is by the host's name.
                     "]\n    env: {OMPI_MCA_btl: 'self,tcp', OMPI_MCA_btl_tcp_if_include: lo}\n"
                     "    rules: {min-steps: off, min-duration: off, perflog-present: off}\n");
  }
  [[nodiscard]] std::string log() const {
    return read_file(latest() / "sum/round1/n1_noderank0/rank0.out.log");
  }
  const std::string marker_ = "67." + std::to_string(::getpid());
};

TEST_F(SlurmRanks, OfAnMpiProgramFindEachOther) {
  const CommandResult run = assay({"run", suite().string()}, 120s);
  EXPECT_EQ(run.status.code, 0) << run.out << run.err << log();
  EXPECT_THAT(log(), HasSubstr("sum 6 of 4 ranks"));
}

// mpirun believes Slurm's variables more than the hostfile: those of the agents are not the case's.
TEST_F(SlurmRanks, OfAHeadsMpirunHaveTheirSlots) {
  const CommandResult result =
      assay({"run", write("head.yaml",
                          "name: s\ncluster: {launcher: slurm, slurm: {wait: 60s}}\ncases:\n"
                          "  - name: head\n    nodes: 2\n    procs: 2\n    launch: head\n"
                          "    rendezvous: mpi\n    limits: {grace: 1s, time: 60s}\n"
                          "    command: mpirun --allow-run-as-root -x ASSAY_ROUND_ID --hostfile "
                          "{hostfile} -np {world_size} hostname\n"
                          "    rules: {min-steps: off, min-duration: off, perflog-present: off}\n")
                        .string()},
            120s);
  const std::string log = read_file(latest() / "head/round1/n1_noderank0/rank0.out.log");
  EXPECT_EQ(std::ranges::count(log, '\n'), 4) << log << result.out << result.err;
  EXPECT_THAT(log, Not(HasSubstr("slots")));
}

TEST_F(SlurmRanks, AFailureOfOneEndsTheRoundAndIsNamed) {
  const CommandResult run = assay({"run", suite(", '3'").string()}, 120s);
  EXPECT_EQ(run.status.code, 5) << run.out << run.err;
  EXPECT_THAT(log(), HasSubstr("n2: task 3"));
  EXPECT_THAT(result()["cases"][0]["rounds"][0]["findings"][0]["quote"].dump(),
              HasSubstr("n2: task 3"));
}

// The tasks are children of Slurm's daemons, not of the agents.
TEST_F(SlurmRanks, WhatAKilledSrunLeavesEndsWithTheRound) {
  const pid_t pid = start({"run", suite(", '0', '" + marker_ + "'").string()});
  ASSERT_TRUE(eventually([&] { return processes_with("sleep " + marker_).size() >= 3; }, 60s))
      << read_file_or_empty(folder_ / "assay.log");
  for (const pid_t process : processes_with((folder_ / "sum").string()))
    if (read_file_or_empty("/proc/" + std::to_string(process) + "/comm") == "srun\n")
      send_signal(process, SIGKILL);
  const auto status = wait(pid, 60s);
  ASSERT_TRUE(status) << "assay waits for an srun that is gone";
  EXPECT_EQ(status->code, 5);
  EXPECT_TRUE(processes_with("sleep " + marker_).empty()) << "a task outlived its round";
}

}  // namespace assay::e2e
