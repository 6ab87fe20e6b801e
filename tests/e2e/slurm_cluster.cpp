#include "e2e/slurm_cluster.h"

#include <cstdlib>
#include <fstream>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/files.h"
#include "core/host.h"
#include "core/process.h"
#include "core/text.h"
#include "needs.h"

namespace assay::e2e {

namespace {

CommandResult ask(std::vector<std::string> argv) {
  CommandOptions options;
  options.timeout = std::chrono::seconds(5);
  return run_command(argv, options);
}

std::string configuration(const fs::path& folder, int nodes, int processors, int port) {
  const std::string at = folder.string();
  return "ClusterName=assay\nSlurmctldHost=" + host_name() +
         "(127.0.0.1)\nSlurmctldPort=" + std::to_string(port) +
         "\nAuthType=auth/munge\nAuthInfo=socket=" + at +
         "/munge.sock\nSlurmUser=root\nSlurmdUser=root\nStateSaveLocation=" + at +
         "/state\nSlurmdSpoolDir=" + at + "/spool-%n\nSlurmctldPidFile=" + at +
         "/slurmctld.pid\nSlurmdPidFile=" + at + "/%n.pid\nSlurmctldLogFile=" + at +
         "/slurmctld.log\nSlurmdLogFile=" + at + "/%n.log\nTmpFS=" + at +
         // PMIx makes folders there that are named by the step: each node needs its own.
         "/tmp-%n\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n"
         "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nMpiDefault=none\n"
         // Only this scheduler starts heterogeneous jobs, every half minute by itself.
         "SchedulerType=sched/backfill\nSchedulerParameters=bf_interval=1\n"
         "ReturnToService=2\nSlurmdTimeout=10\nSlurmctldTimeout=10\nKillWait=2\n"
         "MailProg=/bin/true\nJobAcctGatherType=jobacct_gather/none\nNodeName=n[1-" +
         std::to_string(nodes) + "] NodeHostname=" + host_name() + " NodeAddr=127.0.0.1 Port=[" +
         std::to_string(port + 1) + "-" + std::to_string(port + nodes) +
         "] CPUs=" + std::to_string(processors) +
         " RealMemory=1000 State=UNKNOWN\nSlurmdParameters=config_overrides\n"
         // Jobs of the partition "urgent" take nodes away from those of "main".
         "PreemptType=preempt/partition_prio\nPreemptMode=CANCEL\n"
         "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1\n"
         "PartitionName=urgent Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=10\n";
}

}  // namespace

SlurmCluster::SlurmCluster(const fs::path& folder, int nodes, int processors)
    : folder_(folder / "slurm"), ports_(1 + nodes) {
  for (const char* program : {"/usr/sbin/slurmctld", "/usr/sbin/slurmd", "/usr/sbin/munged"})
    if (!fs::exists(program)) missing_ = needs::package("munge slurm-wlm");
  if (::getuid() != 0) missing_ = needs::root("to start several slurmd");
  if (!missing_.empty()) return;
  fs::create_directories(folder_ / "state");
  for (int i = 1; i <= nodes; ++i)
    for (const char* part : {"spool-n", "tmp-n"})
      fs::create_directories(folder_ / (part + std::to_string(i)));
  // munged refuses keys that others can read, and folders that others can write.
  ::chmod(folder_.c_str(), 0755);
  std::ofstream(folder_ / "munge.key") << std::string(128, 'k') << ::getpid();
  ::chmod((folder_ / "munge.key").c_str(), 0600);
  std::ofstream(folder_ / "slurm.conf")
      << configuration(folder_, nodes, processors, ports_.first());
  ::setenv("SLURM_CONF", (folder_ / "slurm.conf").c_str(), 1);
  const auto in = [this](const char* name) { return (folder_ / name).string(); };
  start("munged", {"/usr/sbin/munged", "--foreground", "--force", "--key-file=" + in("munge.key"),
                   "--socket=" + in("munge.sock"), "--pid-file=" + in("munge.pid"),
                   "--log-file=" + in("munge.log"), "--seed-file=" + in("munge.seed")});
  if (!eventually([&] { return fs::exists(folder_ / "munge.sock"); }))
    missing_ = needs::repair("munged: " + read_file_or_empty(folder_ / "munge.log"));
  start("slurmctld", {"/usr/sbin/slurmctld", "-D"});
  for (int i = 1; i <= nodes; ++i) {
    const std::string name = "n" + std::to_string(i);
    start(name, {"/usr/sbin/slurmd", "-D", "-N", name});
  }
  const bool idle = eventually(
      [&] {
        const std::string states =
            ask({"sinfo", "--noheader", "--Node", "--partition=main", "--format=%N|%T"}).out;
        int ready = 0;
        for (const auto line : split(states, '\n')) ready += line.ends_with("|idle") ? 1 : 0;
        return ready == nodes;
      },
      std::chrono::seconds(90));
  if (!idle) broken_ = needs::repair("Slurm: " + read_file_or_empty(folder_ / "slurmctld.log"));
}

SlurmCluster::~SlurmCluster() {
  // slurmd leaves its steps' daemons alone when it is killed: they go first.
  for (const std::string& job : jobs()) (void)ask({"scancel", job});
  (void)eventually([] { return jobs().empty(); }, std::chrono::seconds(5));
  for (const auto& [name, pid] : daemons_)
    for (const pid_t child : descendants_of(pid)) ::kill(child, SIGKILL);
  while (!daemons_.empty()) kill(daemons_.begin()->first);
  // Those whose slurmd a test has killed are nobody's children any more.
  for (const pid_t step : processes_with("slurmstepd"))
    if (read_file_or_empty("/proc/" + std::to_string(step) + "/environ")
            .find("SLURM_CONF=" + (folder_ / "slurm.conf").string()) != std::string::npos)
      ::kill(step, SIGKILL);
  ::unsetenv("SLURM_CONF");
}

void SlurmCluster::start(const std::string& name, std::vector<std::string> argv) {
  commands_[name] = argv;
  daemons_[name] = spawn({.argv = std::move(argv),
                          .out = Stream::append(folder_ / (name + ".out"), 0644),
                          .err = Stream::output(),
                          .group = Group::session,
                          .dies_with_parent = false})
                       .release();
}

void SlurmCluster::kill(const std::string& daemon) {
  const auto found = daemons_.find(daemon);
  if (found == daemons_.end()) return;
  ::kill(found->second, SIGKILL);
  ::waitpid(found->second, nullptr, 0);
  daemons_.erase(found);
}

void SlurmCluster::signal(const std::string& daemon, int number) {
  if (const auto found = daemons_.find(daemon); found != daemons_.end())
    ::kill(found->second, number);
}

void SlurmCluster::restart(const std::string& daemon) {
  kill(daemon);
  start(daemon, commands_.at(daemon));
}

std::vector<std::string> SlurmCluster::jobs() {
  std::vector<std::string> ids;
  const std::string out = ask({"squeue", "--noheader", "--format=%i"}).out;
  for (const auto line : split(out, '\n'))
    if (!trim(line).empty()) ids.emplace_back(trim(line));
  return ids;
}

void SlurmTest::SetUp() {
  AssayTest::SetUp();
  if (!cluster_.missing().empty()) GTEST_SKIP() << cluster_.missing();
  if (!cluster_.broken().empty()) GTEST_SKIP() << cluster_.broken();
}

void SlurmTest::TearDown() {
  AssayTest::TearDown();
  if (IsSkipped()) return;
  EXPECT_TRUE(eventually([] { return SlurmCluster::jobs().empty(); }, std::chrono::seconds(30)))
      << "an allocation was left behind";
}

}  // namespace assay::e2e
