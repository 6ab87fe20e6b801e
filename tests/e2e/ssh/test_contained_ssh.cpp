// ssh from a container of a round to another node: two hosts (network namespaces with an sshd in
// each), podman on both, and OpenMPI's mpirun in a container of the first one.

#include <gmock/gmock.h>
#include <unistd.h>

#include "core/files.h"
#include "core/process.h"
#include "e2e/net_namespaces.h"
#include "e2e/podman_image.h"
#include "e2e/ring_program.h"
#include "needs.h"
#include "send_signal.h"

namespace assay::e2e {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

class ContainedSsh : public AssayTest {
 protected:
  const std::string marker_ = "79." + std::to_string(::getpid());

  void SetUp() override {
    AssayTest::SetUp();
    for (const std::string& missing : {hosts_.missing(), image_.missing()})
      if (!missing.empty()) GTEST_SKIP() << missing;
  }
  void TearDown() override {
    AssayTest::TearDown();
    if (IsSkipped()) return;
    const auto left = [this] { return image_.podman({"ps", "--all", "--quiet"}).out; };
    EXPECT_TRUE(eventually([&] { return left().empty(); }, 30s))
        << "a container was left behind: " << left();
    EXPECT_TRUE(eventually([&] { return processes_with(marker_).empty(); })) << "left behind";
  }

  /// A case whose head runs `script` in a container, on two nodes.
  [[nodiscard]] fs::path suite(const std::string& script, const std::string& more = {}) {
    write("head.sh", script);
    std::vector<std::string> mounts{folder_.string() + ":" + folder_.string()};
    // Programs of this machine, as an image would have them: not /usr itself, in which the
    // container has an ssh of its own.
    for (const char* name :
         {"/usr/bin", "/usr/lib", "/usr/lib64", "/usr/share", "/etc", "/lib", "/lib64"})
      if (fs::is_directory(name)) mounts.push_back(std::string(name) + ":" + name + ":ro");
    return write("suite.yaml", "name: s\n" + image_.container(mounts) +
                                   hosts_.cluster("connect_timeout: 10s") +
                                   "cases:\n  - name: head\n    nodes: 2\n    procs: 2\n"
                                   "    launch: head\n    rendezvous: [mpi, dlws]\n"
                                   "    command: [/bin/sh, " +
                                   (folder_ / "head.sh").string() +
                                   ", '{hostfile}']\n    rules: {min-steps: off, "
                                   "min-duration: off, perflog-present: off}\n" +
                                   more);
  }
  [[nodiscard]] std::string head_log() const {
    return read_file_or_empty(latest() / "head/round1/n1_noderank0/rank0.out.log");
  }
  std::string head_output(const std::string& script, const std::string& more = {}) {
    const CommandResult run = assay({"run", suite(script, more).string()}, 180s);
    EXPECT_EQ(run.status.code, 0) << run.out << run.err << head_log();
    return head_log();
  }
  [[nodiscard]] std::size_t sleeping() const {
    std::size_t count = 0;
    for (const pid_t pid : processes_with("sleep " + marker_))
      if (read_file_or_empty("/proc/" + std::to_string(pid) + "/comm") == "sleep\n") ++count;
    return count;
  }

  NamespaceHosts hosts_{folder_, 2, NamespaceHosts::Home::machine, NamespaceHosts::Sys::machine};
  PodmanImage image_{
      folder_ / "podman",
      {"sh", "sleep", "echo", "cat", "hostname", "true", "test", "touch", "setsid", "kill", "head",
       "tr", "wc"},
      {"usr/bin", "usr/lib", "usr/lib64", "usr/share", "lib", "lib64", "etc", "proc", "dev"}};
};

TEST_F(ContainedSsh, ACommandRunsInAContainerOfTheOtherNode) {
  const std::string out = head_output(
      "echo from $DLWS_ROLE_IDX; touch /tmp/of-the-head\n"
      "ssh -o StrictHostKeyChecking=no -p $DLWS_SD_worker1_SSH_PORT worker-1 "
      "'echo role $DLWS_ROLE_IDX of $DLWS_NUM_WORKER, mine $OF_MY_OWN; test -e /etc/debian_version "
      "&& test -e /bin/busybox && echo inside; test -e /tmp/of-the-head || echo elsewhere; touch "
      "/tmp/seen; echo aside >&2; exit 7' 2> /tmp/words; echo code $?; cat /tmp/words\n"
      "ssh worker1 'test -e /tmp/seen && echo the same container; ssh worker0 echo and back'\n"
      "head -c 300000 /dev/zero | tr '\\0' x | ssh worker1 'cat; echo' | wc -c\n"
      "ssh -n worker1 cat; echo nothing to read $?\n"
      "ssh worker1 'kill -KILL $$'; echo after a signal $?\n",
      "    env: {OF_MY_OWN: thing}\n");
  EXPECT_THAT(out, HasSubstr("role 1 of 2, mine thing\ninside\nelsewhere\n"));
  EXPECT_THAT(out, HasSubstr("code 7\naside\n"));
  EXPECT_THAT(out, HasSubstr("the same container\nand back\n"));
  EXPECT_THAT(out, HasSubstr("300001\n"));
  EXPECT_THAT(out, HasSubstr("nothing to read 0\n"));
  EXPECT_THAT(out, HasSubstr("after a signal 255\n"));
}

TEST_F(ContainedSsh, OpenMpiRunsAProgramOverTwoContainers) {
  const std::string ring = make_ring_program(folder_);
  if (ring.empty()) GTEST_SKIP() << needs::package("openmpi-bin libopenmpi-dev");
  const std::string out = head_output(
      "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
      "LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu\n"
      "exec mpirun -np 4 --hostfile $1 --oversubscribe -x LD_LIBRARY_PATH "
      "--mca btl tcp,self --mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0 "
      "--prefix /usr " +
      ring + " 2>&1\n");
  EXPECT_THAT(out, HasSubstr("rank 0 of 4 on worker 0: 6\n"));
  EXPECT_THAT(out, HasSubstr("rank 3 of 4 on worker 1: 6\n"));
}

TEST_F(ContainedSsh, WhoEndsItsSshEndsWhatItRuns) {
  const fs::path go_on = folder_ / "go-on";
  const pid_t pid =
      start({"run", suite("ssh worker1 'exec /bin/sleep " + marker_ + "' & until test -e " +
                          go_on.string() + "; do sleep 0.2; done; kill $!; wait; while test -e " +
                          go_on.string() + "; do sleep 0.2; done\n")
                        .string()});
  ASSERT_TRUE(eventually([&] { return sleeping() == 1; }, 90s))
      << read_file_or_empty(folder_ / "assay.log") << head_log();
  write("go-on", "go");
  EXPECT_TRUE(eventually([&] { return sleeping() == 0; }, 30s));
  fs::remove(go_on);
  const auto status = wait(pid, 90s);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 0);
}

TEST_F(ContainedSsh, WhatTheHeadStartedElsewhereEndsWithTheRound) {
  const std::string out = head_output(
      "ssh worker1 'setsid /bin/sleep " + marker_ +
      " < /dev/null > /dev/null 2>&1 & echo started'\nssh -f worker1 'exec /bin/sleep " + marker_ +
      "'\nsleep 2\n");
  EXPECT_THAT(out, HasSubstr("started"));
  EXPECT_EQ(sleeping(), 0U);
  EXPECT_THAT(read_file(latest() / "journal.jsonl"), Not(HasSubstr("\"marked\":0")));
}

TEST_F(ContainedSsh, AnAgentThatIsKilledLeavesNothing) {
  const pid_t pid = start({"run", suite("ssh worker1 'exec /bin/sleep " + marker_ + "'\n",
                                        "    limits: {grace: 500ms}\n")
                                      .string()});
  ASSERT_TRUE(eventually([&] { return sleeping() == 1; }, 90s)) << head_log();
  for (const pid_t agent : processes_from(hosts_.cache() / "n2")) send_signal(agent, SIGKILL);
  const auto status = wait(pid, 120s);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 5);
  EXPECT_TRUE(eventually([&] { return sleeping() == 0; }));
}

}  // namespace assay::e2e
