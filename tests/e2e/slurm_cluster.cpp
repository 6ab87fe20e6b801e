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
#include "send_signal.h"

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

/// What slurmctld is told of the accounting. It forgets what has ended as soon as it may.
std::string accounting_lines(const fs::path& folder, int slurmdbd_port) {
  return "AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=127.0.0.1\n"
         // Where munged listens, whatever the key's name says.
         "AccountingStoragePass=" +
         folder.string() + "/munge.sock\nAccountingStoragePort=" + std::to_string(slurmdbd_port) +
         "\nMinJobAge=2\n";
}

std::string slurmdbd_configuration(const fs::path& folder, int database_port, int own_port) {
  const std::string at = folder.string();
  return "AuthType=auth/munge\nAuthInfo=socket=" + at + "/munge.sock\nDbdHost=" + host_name() +
         "\nDbdAddr=127.0.0.1\nDbdPort=" + std::to_string(own_port) +
         "\nSlurmUser=root\nStorageType=accounting_storage/mysql\nStorageHost=127.0.0.1\n"
         "StoragePort=" +
         std::to_string(database_port) + "\nStorageUser=root\nStorageLoc=slurm\nLogFile=" + at +
         "/slurmdbd.log\nPidFile=" + at + "/slurmdbd.pid\n";
}

}  // namespace

SlurmCluster::SlurmCluster(const fs::path& folder, int nodes, int processors, SlurmMemory memory)
    : folder_(folder / "slurm"), ports_(1 + nodes) {
  for (const char* program : {"/usr/sbin/slurmctld", "/usr/sbin/slurmd", "/usr/sbin/munged"})
    if (!fs::exists(program)) missing_ = needs::package("munge slurm-wlm");
  if (memory == SlurmMemory::accounting)
    for (const char* program : {"/usr/sbin/slurmdbd", "/usr/sbin/mariadbd"})
      if (!fs::exists(program)) missing_ = needs::package("slurmdbd mariadb-server");
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
  std::ofstream conf(folder_ / "slurm.conf");
  conf << configuration(folder_, nodes, processors, ports_.first());
  if (memory == SlurmMemory::accounting)
    conf << accounting_lines(folder_, accounting_ports_.emplace(2).first() + 1);
  conf.close();
  ::setenv("SLURM_CONF", (folder_ / "slurm.conf").c_str(), 1);
  const auto in = [this](const char* name) { return (folder_ / name).string(); };
  start("munged", {"/usr/sbin/munged", "--foreground", "--force", "--key-file=" + in("munge.key"),
                   "--socket=" + in("munge.sock"), "--pid-file=" + in("munge.pid"),
                   "--log-file=" + in("munge.log"), "--seed-file=" + in("munge.seed")});
  if (!eventually([&] { return fs::exists(folder_ / "munge.sock"); }))
    missing_ = needs::repair("munged: " + read_file_or_empty(folder_ / "munge.log"));
  if (memory == SlurmMemory::accounting) start_accounting();
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
    for (const pid_t child : descendants_of(pid)) send_signal(child, SIGKILL);
  while (!daemons_.empty()) kill(daemons_.begin()->first);
  // Those whose slurmd a test has killed are nobody's children any more.
  for (const pid_t step : processes_with("slurmstepd"))
    if (read_file_or_empty("/proc/" + std::to_string(step) + "/environ")
            .find("SLURM_CONF=" + (folder_ / "slurm.conf").string()) != std::string::npos)
      send_signal(step, SIGKILL);
  ::unsetenv("SLURM_CONF");
}

void SlurmCluster::start_accounting() {
  const std::string data = (folder_ / "mariadb").string();
  CommandOptions options;
  options.timeout = std::chrono::minutes(2);
  const CommandResult made =
      run_command({"mariadb-install-db", "--no-defaults", "--datadir=" + data, "--user=root",
                   "--skip-test-db", "--auth-root-authentication-method=normal"},
                  options);
  if (!made.ok()) broken_ = needs::repair("mariadb-install-db: " + made.err);
  const int port = accounting_ports_->first();
  start("mariadbd",
        {"/usr/sbin/mariadbd", "--no-defaults", "--user=root", "--datadir=" + data,
         "--socket=" + data + "/socket", "--pid-file=" + data + "/pid", "--bind-address=127.0.0.1",
         "--port=" + std::to_string(port), "--skip-grant-tables", "--innodb-buffer-pool-size=32M"});
  if (!eventually([&] { return fs::exists(data + "/socket"); }, std::chrono::seconds(60)))
    broken_ = needs::repair("mariadbd: " + read_file_or_empty(folder_ / "mariadbd.out"));
  std::ofstream(folder_ / "slurmdbd.conf") << slurmdbd_configuration(folder_, port, port + 1);
  ::chmod((folder_ / "slurmdbd.conf").c_str(), 0600);  // it refuses others
  start("slurmdbd", {"/usr/sbin/slurmdbd", "-D"});
  const bool registered = eventually(
      [] {
        return ask({"sacctmgr", "--immediate", "add", "cluster", "assay"}).ok();
      },
      std::chrono::seconds(90));
  if (!registered)
    broken_ = needs::repair("slurmdbd: " + read_file_or_empty(folder_ / "slurmdbd.log"));
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
  send_signal(found->second, SIGKILL);
  ::waitpid(found->second, nullptr, 0);
  daemons_.erase(found);
}

void SlurmCluster::signal(const std::string& daemon, int number) {
  if (const auto found = daemons_.find(daemon); found != daemons_.end())
    send_signal(found->second, number);
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
