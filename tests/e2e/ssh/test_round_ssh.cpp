// ssh from one node of a round to another: two network namespaces with an sshd in each, of which
// the nodes do not know, and OpenMPI's mpirun, which finds nothing but an `ssh` in its PATH.

#include <algorithm>
#include <fstream>

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/files.h"
#include "core/process.h"
#include "core/text.h"
#include "core/time.h"
#include "e2e/net_namespaces.h"
#include "e2e/ring_program.h"
#include "needs.h"
#include "send_signal.h"

namespace assay::e2e {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

class RoundSsh : public AssayTest {
 protected:
  const std::string marker_ = "77." + std::to_string(::getpid());

  void SetUp() override {
    AssayTest::SetUp();
    if (!hosts_.missing().empty()) GTEST_SKIP() << hosts_.missing();
  }
  void TearDown() override {
    AssayTest::TearDown();
    EXPECT_TRUE(eventually([&] { return processes_with(marker_).empty(); })) << "left behind";
  }

  /// A case whose head runs `script` with /bin/sh on two nodes.
  [[nodiscard]] fs::path suite(const std::string& script, const std::string& more = {}) {
    write("head.sh", script);
    return write("suite.yaml",
                 "name: s\n" + hosts_.cluster("connect_timeout: 10s") +
                     "cases:\n  - name: head\n    nodes: 2\n    procs: 2\n    launch: head\n"
                     "    rendezvous: [mpi, dlws]\n    command: [/bin/sh, " +
                     (folder_ / "head.sh").string() +
                     ", '{hostfile}']\n    rules: {min-steps: off, min-duration: off, "
                     "perflog-present: off}\n" +
                     more);
  }
  [[nodiscard]] std::string head_log() const {
    return read_file_or_empty(latest() / "head/round1/n1_noderank0/rank0.out.log");
  }
  /// Runs it to its end, and gives what the head printed.
  std::string head_output(const std::string& script, const std::string& more = {}) {
    const CommandResult run = assay({"run", suite(script, more).string()}, 120s);
    EXPECT_EQ(run.status.code, 0) << run.out << run.err << head_log();
    return head_log();
  }

  NamespaceHosts hosts_{folder_, 2};
};

TEST_F(RoundSsh, AHeadRunsCommandsOnTheOtherNodeWithTheJobsEnvironment) {
  const std::string out = head_output(
      "ssh -o StrictHostKeyChecking=no -p $DLWS_SD_worker1_SSH_PORT worker-1 "
      "'echo role $DLWS_ROLE_IDX of $DLWS_NUM_WORKER, mine $OF_MY_OWN; hostname -I; echo aside "
      ">&2; "
      "exit 7' 2> words; echo code $?; cat words; rm words\n"
      "for name in n2 " +
          hosts_.net().address(2) +
          " worker1 ib-worker-1; do ssh $name hostname -I; done\n"
          "ssh worker0 hostname -I\n"
          "head -c 3000000 /dev/zero | tr '\\0' x | ssh worker1 'cat; echo' | wc -c\n"
          "ssh worker1 'kill -KILL $$'; echo after a signal $?\n"
          "ssh -n worker1 cat; echo nothing to read $?\n"
          "ssh somebody@worker1 true; echo as somebody else $?\n",
      "    env: {OF_MY_OWN: thing}\n    workdir: " + folder_.string() + "\n");
  EXPECT_THAT(out, HasSubstr("role 1 of 2, mine thing\n"));
  EXPECT_THAT(out, HasSubstr("code 7\naside\n"));
  std::size_t there = 0;
  for (std::size_t at = 0; (at = out.find(hosts_.net().address(2) + " ", at)) != std::string::npos;
       ++at)
    ++there;
  EXPECT_EQ(there, 5U) << out;
  EXPECT_THAT(out, HasSubstr(hosts_.net().address(1) + " ")) << "worker0 is the head's own node";
  EXPECT_THAT(out, HasSubstr("\n3000001\n")) << "both directions at once, whatever the amount";
  EXPECT_THAT(out, HasSubstr("after a signal 255\n"));
  EXPECT_THAT(out, HasSubstr("nothing to read 0\n"));
  EXPECT_THAT(out, HasSubstr("as somebody else 255\n"));
}

TEST_F(RoundSsh, WhatIsNoHostOfTheJobIsTheRealSshs) {
  EXPECT_THAT(
      head_output("ssh -V 2>&1; ssh -F /dev/null -o BatchMode=yes nobody.invalid true 2>&1; "
                  "echo $?\n"),
      ::testing::AllOf(HasSubstr("OpenSSH"), HasSubstr("nobody.invalid"), HasSubstr("\n255\n")));
}

TEST_F(RoundSsh, OpenMpiRunsAProgramOverBothNodes) {
  const std::string ring = make_ring_program(folder_);
  if (ring.empty()) GTEST_SKIP() << needs::package("openmpi-bin libopenmpi-dev");
  // Hosts of one kernel and one name: what OpenMPI keeps of a session must not be shared.
  const std::string out = head_output(
      "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1\n"
      "exec mpirun -np 4 --hostfile $1 --oversubscribe "
      "--mca btl tcp,self --mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0 " +
          ring + " 2>&1\n",
      "    env: {TMPDIR: '" + hosts_.own().string() + "'}\n");
  EXPECT_THAT(out, HasSubstr("rank 0 of 4 on worker 0: 6\n"));
  EXPECT_THAT(out, HasSubstr("rank 3 of 4 on worker 1: 6\n"));
}

TEST_F(RoundSsh, WhatTheHeadStartedElsewhereEndsWithTheRound) {
  const std::string out =
      head_output("ssh worker1 'setsid sleep " + marker_ +
                  " < /dev/null > /dev/null 2>&1 & echo started'\nssh -f worker1 'exec sleep " +
                  marker_ + "'\nsleep 2\n");
  EXPECT_THAT(out, HasSubstr("started"));
  EXPECT_TRUE(processes_with("sleep " + marker_).empty());
  EXPECT_THAT(read_file(latest() / "journal.jsonl"), Not(HasSubstr("\"marked\":0")));
}

TEST_F(RoundSsh, WhoEndsItsSshEndsWhatItRuns) {
  const fs::path go_on = folder_ / "go-on";
  const pid_t pid =
      start({"run", suite("ssh worker1 'exec sleep " + marker_ + "' & until test -e " +
                          go_on.string() + "; do sleep 0.2; done; kill $!; wait; while test -e " +
                          go_on.string() + "; do sleep 0.2; done\n")
                        .string()});
  const auto there = [&] { return processes_with("sleep " + marker_).size(); };
  // The ssh itself, and the program on the other node.
  ASSERT_TRUE(eventually([&] { return there() == 2; }, 60s))
      << read_file_or_empty(folder_ / "assay.log");
  std::ofstream(go_on) << "go";
  EXPECT_TRUE(eventually([&] { return there() == 0; }, 30s));
  fs::remove(go_on);
  const auto status = wait(pid, 60s);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 0);
}

TEST_F(RoundSsh, NobodyElseCanUseIt) {
  const fs::path go_on = folder_ / "go-on";
  const pid_t pid =
      start({"run", suite("echo $ASSAY_SSH_FOLDER > " + (folder_ / "place.new").string() + "; mv " +
                          (folder_ / "place.new").string() + " " + (folder_ / "place").string() +
                          "; until test -e " + go_on.string() + "; do sleep 0.2; done\n")
                        .string()});
  ASSERT_TRUE(eventually([&] { return fs::exists(folder_ / "place"); }, 60s));
  const std::string place(trim(read_file(folder_ / "place")));
  struct stat folder {};
  ASSERT_EQ(::stat(place.c_str(), &folder), 0);
  EXPECT_EQ(folder.st_mode & 0777U, 0700U) << "other users do not even reach the socket";
  // The same user, but no process of the round: another job, say.
  CommandOptions options;
  options.timeout = 30s;
  options.env["ASSAY_SSH_FOLDER"] = place;
  const CommandResult other = run_command({place + "/ssh", "worker1", "echo inside"}, options);
  EXPECT_EQ(other.status.code, 255) << other.out;
  EXPECT_EQ(other.out, "");
  EXPECT_THAT(other.err, HasSubstr("cut"));
  std::ofstream(go_on) << "go";
  const auto status = wait(pid, 60s);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 0);
  EXPECT_FALSE(fs::exists(place));
}

TEST_F(RoundSsh, AnAgentThatIsKilledLeavesNothing) {
  const pid_t pid = start(
      {"run", suite("echo $ASSAY_SSH_FOLDER > " + (folder_ / "place").string() +
                        "; ssh worker1 'setsid sleep " + marker_ +
                        " < /dev/null > /dev/null 2>&1 & echo there'; exec sleep " + marker_ + "\n",
                    "    limits: {grace: 500ms}\n")
                  .string()});
  ASSERT_TRUE(eventually([&] { return processes_with("sleep " + marker_).size() >= 2; }, 60s));
  for (const pid_t agent : processes_from(hosts_.cache() / "n2")) send_signal(agent, SIGKILL);
  const auto status = wait(pid, 90s);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 5);
  EXPECT_TRUE(eventually([&] { return processes_with("sleep " + marker_).empty(); }));
  const std::string place(trim(read_file(folder_ / "place")));
  EXPECT_TRUE(eventually(
      [&] { return !fs::exists(place) && !fs::exists(place.substr(0, place.size() - 1) + "1"); }));
}

}  // namespace assay::e2e
