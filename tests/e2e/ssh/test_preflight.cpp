// `assay check` over a cluster: hosts on loopback, and hosts in network namespaces.

#include <cmath>
#include <fstream>
#include <map>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/files.h"
#include "core/text.h"
#include "e2e/net_namespaces.h"
#include "e2e/ssh_hosts.h"
#include "needs.h"
#include "send_signal.h"

namespace assay::e2e {

using ::testing::HasSubstr;
using ::testing::Not;

namespace {

/// The check `id` of the host, or an empty object.
Json check_of(const Json& report, const std::string& host, const std::string& id) {
  for (const Json& node : report["nodes"])
    if (node["host"] == host)
      for (const Json& check : node["checks"])
        if (check["id"] == id) return check;
  return Json::object();
}

std::string level_of(const Json& report, const std::string& host, const std::string& id) {
  return check_of(report, host, id).value("level", "none");
}

std::string seen_of(const Json& report, const std::string& host, const std::string& id) {
  return check_of(report, host, id).value("seen", "");
}

/// A port that somebody listens on.
class TakenPort {
 public:
  TakenPort() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    socklen_t length = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(fd_.get(), generic, length), 0);
    EXPECT_EQ(::listen(fd_.get(), 1), 0);
    ::getsockname(fd_.get(), generic, &length);
    port_ = ntohs(address.sin_port);
  }
  [[nodiscard]] int port() const { return port_; }

 private:
  UniqueFd fd_;
  int port_ = 0;
};

constexpr const char* kTwoNodes = "cases:\n  - {case: 'null:native:cpu:2:1:1'}\n";
constexpr const char* kThreeNodes = "cases:\n  - {case: 'null:native:cpu:3:1:1'}\n";

}  // namespace

class Preflight : public SshTest {
 protected:
  fs::path suite(int hosts, const std::string& rest) {
    return write("suite.yaml", "name: s\n" + sshd_.cluster(hosts) + rest);
  }
  /// The report of `assay check --format json` and its exit code.
  Json check(const fs::path& file, int code) {
    const CommandResult run = assay({"check", file.string(), "--format", "json"});
    EXPECT_EQ(run.status.code, code) << run.out << run.err;
    return parse_json(run.out, "assay check");
  }
};

TEST_F(Preflight, AHostThatCannotBeReachedFailsAloneAndTheOthersAreChecked) {
  std::string text = read_file(suite(3, kThreeNodes));
  text.replace(text.find(SshDaemon::host(2)), SshDaemon::host(2).size(),
               "{name: " + SshDaemon::host(2) + ", port: 1}");
  const Json report = check(write("suite.yaml", text), 3);
  EXPECT_EQ(level_of(report, SshDaemon::host(2), "reach"), "FAIL");
  EXPECT_THAT(seen_of(report, SshDaemon::host(2), "reach"), HasSubstr("refused"));
  for (const int other : {1, 3}) {
    EXPECT_EQ(level_of(report, SshDaemon::host(other), "reach"), "PASS");
    EXPECT_EQ(level_of(report, SshDaemon::host(other), "connect"), "PASS");
    EXPECT_NE(level_of(report, SshDaemon::host(other), "memory"), "none");
  }
  EXPECT_EQ(level_of(report, SshDaemon::host(2), "memory"), "none");
}

TEST_F(Preflight, SeveralHostsAreATableWithTheirProblemsBelow) {
  std::string text = read_file(suite(2, kTwoNodes));
  text.replace(text.find(SshDaemon::host(2)), SshDaemon::host(2).size(),
               "{name: " + SshDaemon::host(2) + ", port: 1}");
  const CommandResult run = assay({"check", write("suite.yaml", text).string()});
  EXPECT_EQ(run.status.code, 3) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("\nhost       all   reach"));
  EXPECT_THAT(run.out, HasSubstr("\n127.1.0.2  FAIL  FAIL"));
  EXPECT_THAT(run.out, HasSubstr("127.1.0.2: "));
  EXPECT_THAT(run.out, Not(HasSubstr("\x1b[")));
}

TEST_F(Preflight, AProgramThatIsMissingAndAFolderThatIsNotThereFailOnEveryNodeOfTheirCase) {
  const Json report =
      check(suite(2,
                  "cases:\n  - {name: fine, nodes: 2, command: 'true'}\n"
                  "  - {name: alone, command: no-such-trainer, workdir: /tmp}\n"
                  "  - {name: lost, nodes: 2, command: ./train.sh, workdir: /no/such/folder}\n"),
            3);
  EXPECT_EQ(level_of(report, SshDaemon::host(1), "program"), "FAIL");
  EXPECT_EQ(seen_of(report, SshDaemon::host(1), "program"),
            "no-such-trainer is not in the PATH (case alone)");
  EXPECT_EQ(level_of(report, SshDaemon::host(2), "program"), "PASS");
  for (const int host : {1, 2})
    EXPECT_EQ(seen_of(report, SshDaemon::host(host), "workdir"),
              "/no/such/folder does not exist (case lost)");
}

TEST_F(Preflight, ClocksOfOneMachineAgreeWithinTheUncertainty) {
  const Json report = check(suite(2, kTwoNodes), 0);
  for (const Json& node : report["nodes"]) {
    const double offset = node["clock"]["offset_s"].get<double>();
    const double uncertainty = node["clock"]["uncertainty_s"].get<double>();
    EXPECT_LE(std::abs(offset), uncertainty + 1e-4) << dump_line(node["clock"]);
    EXPECT_GT(uncertainty, 0);
    EXPECT_EQ(level_of(report, node["host"], "clock-skew"), "PASS");
  }
}

TEST_F(Preflight, TheDiskIsLookedAtWhereTheHostWrites) {
  const Json report = check(suite(2, kTwoNodes), 0);
  for (const int host : {1, 2})
    EXPECT_THAT(seen_of(report, SshDaemon::host(host), "disk"),
                HasSubstr((sshd_.cache() / SshDaemon::host(host)).string()));
}

TEST_F(Preflight, MissingDataFailsOnTheHostsThatNeedIt) {
  const Json report = check(
      suite(2, "cases:\n  - {case: 'null:native:cpu:1:1:1', data: " +
                   (folder_ / "nowhere").string() + "}\n  - {case: 'null:native:cpu:2:1:1'}\n"),
      3);
  EXPECT_EQ(level_of(report, SshDaemon::host(1), "data"), "FAIL");
  EXPECT_THAT(seen_of(report, SshDaemon::host(1), "data"), HasSubstr("does not exist"));
  EXPECT_EQ(level_of(report, SshDaemon::host(2), "data"), "none");
}

TEST_F(Preflight, ATakenRendezvousPortFails) {
  const TakenPort taken;
  std::string text = read_file(suite(2, kTwoNodes));
  text.insert(text.find("  hosts:"), "  master_port: " + std::to_string(taken.port()) + "\n");
  const Json report = check(write("suite.yaml", text), 3);
  EXPECT_EQ(level_of(report, SshDaemon::host(1), "port"), "FAIL");
  EXPECT_THAT(seen_of(report, SshDaemon::host(1), "port"), HasSubstr("in use"));
}

// Nothing moves the clock of one host alone, so the way to it lies: "ssh" runs the command here,
// and the second host's answers carry a time that is years ahead.
TEST_F(Preflight, AClockThatIsWrongFailsTheCheckAndIsWarnedOfInARun) {
  const fs::path bin = folder_ / "bin";
  fs::create_directories(bin);
  std::ofstream(bin / "ssh")
      << "#!/bin/bash\nfor command; do :; done\ncase \"$*\" in *' -O exit '*) exit 0;; esac\n"
         "case \"$*\" in *127.1.0.2*) lie='s/(\"wall_ns\":)1/\\12/';; *) lie='';; esac\n"
         "/bin/sh -c \"$command\" | sed -u -E \"/\\\"type\\\":\\\"clock\\\"/{$lie\n}\"\n";
  fs::permissions(bin / "ssh", fs::perms::owner_all);
  const std::string path = ::getenv("PATH");
  ::setenv("PATH", (bin.string() + ":" + path).c_str(), 1);
  const fs::path file =
      suite(2, "cases:\n  - {case: 'null:native:cpu:2:1:1', config: {steps: 60}}\n");
  const Json report = check(file, 3);
  EXPECT_EQ(level_of(report, SshDaemon::host(1), "clock-skew"), "PASS");
  EXPECT_EQ(level_of(report, SshDaemon::host(2), "clock-skew"), "FAIL");
  EXPECT_THAT(seen_of(report, SshDaemon::host(2), "clock-skew"), HasSubstr("ahead of"));
  const CommandResult run = assay({"run", file.string()});
  ::setenv("PATH", path.c_str(), 1);
  EXPECT_THAT(run.out + run.err, HasSubstr("warning: the clock of 127.1.0.2 is"));
  EXPECT_THAT(run.out + run.err, Not(HasSubstr("the clock of 127.1.0.1")));
  std::map<std::string, double> offsets;
  const std::string journal = read_file(latest() / "journal.jsonl");
  for (const auto line : split(journal, '\n'))
    if (const Json event = parse_json_or_null(line);
        event.is_object() && event.value("event", "") == "clock_offset")
      offsets[event["host"]] = event["offset_s"].get<double>();
  EXPECT_NEAR(offsets.at("127.1.0.1"), 0, 1);
  EXPECT_NEAR(offsets.at("127.1.0.2"), 1e9, 1);
}

// A vendor whose tool is a script.
class FakeVendor : public AssayTest {
 protected:
  void SetUp() override {
    AssayTest::SetUp();
    const std::string tool = (folder_ / "acme-smi").string();
    std::ofstream(conf() / "vendors/acme.yaml")
        << "name: acme\nquery: {command: ['" << tool
        << "'], pattern: '^(\\d+),', fields: [index]}\n"
        << "samples:\n  - {mode: once, format: csv, command: ['" << tool
        << "'], fields: [index, 'util:%', 'mem_used_bytes:MiB', 'mem_total_bytes:MiB']}\n";
  }
  Json check_with(const std::string& lines) {
    const fs::path tool = folder_ / "acme-smi";
    std::ofstream(tool) << "#!/bin/sh\nprintf '" << lines << "'\n";
    fs::permissions(tool, fs::perms::owner_all);
    const fs::path file = write("suite.yaml",
                                "name: s\nvendor: acme\ncluster: {hosts: [here]}\n"
                                "cases:\n  - {name: x, procs: 2, command: 'true'}\n");
    const CommandResult run = assay({"check", file.string(), "--format", "json"});
    EXPECT_EQ(run.status.code, 0) << run.out << run.err;
    return parse_json(run.out, "assay check");
  }
};

TEST_F(FakeVendor, IdleDevicesPass) {
  const Json report = check_with("0, 0, 300, 32768\\n1, 3, 300, 32768\\n");
  EXPECT_EQ(level_of(report, "here", "devices"), "PASS");
  EXPECT_EQ(level_of(report, "here", "idle"), "PASS") << dump_line(report);
}

TEST_F(FakeVendor, ADeviceThatSomebodyElseUsesIsNamed) {
  const Json report = check_with("0, 0, 300, 32768\\n1, 97, 16384, 32768\\n");
  EXPECT_EQ(level_of(report, "here", "idle"), "WARN");
  EXPECT_EQ(seen_of(report, "here", "idle"), "device 1: 97 % busy, 16.00 GiB of 32.00 GiB in use");
}

class DropCaches : public AssayTest {};

TEST_F(DropCaches, BeforeARoundAreRecordedForTheNode) {
  if (::getuid() != 0 || ::access("/proc/sys/vm/drop_caches", W_OK) != 0)
    GTEST_SKIP() << needs::root("to drop caches");
  const fs::path file = write("suite.yaml",
                              "name: s\ncases:\n  - {case: 'null:native:cpu:1:1:1', drop_caches: "
                              "true, config: {steps: 60}}\n");
  const CommandResult run = assay({"run", file.string()});
  EXPECT_EQ(run.status.code, 0) << run.out << run.err;
  bool recorded = false;
  const std::string journal = read_file(latest() / "journal.jsonl");
  for (const auto line : split(journal, '\n'))
    if (const Json event = parse_json_or_null(line);
        event.is_object() && event.value("event", "") == "caches") {
      recorded = true;
      EXPECT_EQ(event["round"], 1);
      EXPECT_EQ(event["done"], true) << line;
    }
  EXPECT_TRUE(recorded);
  EXPECT_THAT(run.out, Not(HasSubstr("page caches")));
}

// The machine's own sync is quick; this one takes as long as a file exists.
TEST_F(DropCaches, DoNotHoldUpAUserWhoStopsTheRun) {
  const fs::path bin = folder_ / "bin";
  fs::create_directories(bin);
  const std::string hold = (folder_ / "hold").string();
  std::ofstream(hold) << "on";
  std::ofstream(bin / "sync") << "#!/bin/sh\ntouch '" << (folder_ / "begun").string()
                              << "'\nwhile [ -e '" << hold << "' ]; do sleep 0.1; done\n";
  fs::permissions(bin / "sync", fs::perms::owner_all);
  const fs::path file = write("suite.yaml",
                              "name: s\ncases:\n  - {case: 'null:native:cpu:1:1:1', drop_caches: "
                              "true}\n");
  const std::string path = ::getenv("PATH");
  ::setenv("PATH", (bin.string() + ":" + path).c_str(), 1);
  const pid_t pid = start({"run", file.string()});
  ::setenv("PATH", path.c_str(), 1);
  EXPECT_TRUE(eventually([this] { return fs::exists(folder_ / "begun"); }));
  send_signal(pid, SIGINT);
  const auto status = wait(pid, std::chrono::seconds(30));
  fs::remove(hold);
  ASSERT_TRUE(status) << read_file_or_empty(folder_ / "assay.log");
  EXPECT_EQ(status->code, 5);
  const Json round = result()["cases"][0]["rounds"][0];
  EXPECT_EQ(round["status"], "interrupted") << dump_line(round);
  EXPECT_TRUE(round["ranks"].empty());
}

class Namespaces : public AssayTest {
 protected:
  void SetUp() override {
    AssayTest::SetUp();
    if (!hosts_.missing().empty()) GTEST_SKIP() << hosts_.missing();
  }
  void TearDown() override {
    AssayTest::TearDown();
    EXPECT_TRUE(eventually([this] { return processes_with(hosts_.cache().string()).empty(); }));
  }
  fs::path suite(const std::string& rest) const {
    return write("suite.yaml", "name: s\n" + hosts_.cluster() + rest);
  }
  Json check(const fs::path& file, int code) {
    const CommandResult run = assay({"check", file.string(), "--format", "json"});
    EXPECT_EQ(run.status.code, code) << run.out << run.err;
    return parse_json(run.out, "assay check");
  }

  NamespaceHosts hosts_{folder_, 3};
};

TEST_F(Namespaces, HostsInNamespacesRunASuite) {
  const CommandResult run =
      assay({"run",
             suite("cases:\n  - {case: 'null:native:cpu:3:1:1', config: {steps: 60}}\n").string()});
  EXPECT_EQ(run.status.code, 0) << run.out << run.err;
}

TEST_F(Namespaces, AFirewallBetweenTwoHostsNamesBothEnds) {
  hosts_.net().drop(2, 3);
  hosts_.net().refuse(3, 1);
  const Json report = check(suite(kThreeNodes), 3);
  EXPECT_EQ(level_of(report, "n1", "connect"), "FAIL");  // answers to n1 have no way back
  EXPECT_EQ(seen_of(report, "n2", "connect"), "n2 → n3: timed out");
  EXPECT_THAT(seen_of(report, "n3", "connect"), HasSubstr("n3 → n1: No route to host"));
  hosts_.net().allow(2, 3);
  hosts_.net().allow(3, 1);
  const Json again = check(suite(kThreeNodes), 0);
  for (const char* host : {"n1", "n2", "n3"})
    EXPECT_EQ(level_of(again, host, "connect"), "PASS") << dump_line(again);
}

TEST_F(Namespaces, AHostWhoseDataDifferFromTheOthersIsNamed) {
  for (const int host : {1, 2, 3}) {
    fs::create_directories(hosts_.own_of(host) / "train");
    std::ofstream(hosts_.own_of(host) / "train/a") << "1234";
  }
  std::ofstream(hosts_.own_of(3) / "train/a") << "12345";
  const std::string cases =
      "cases:\n  - {case: 'null:native:cpu:3:1:1', data: " + hosts_.own().string() + "}\n";
  const Json report = check(suite(cases), 3);
  EXPECT_EQ(level_of(report, "n1", "data"), "PASS");
  EXPECT_EQ(level_of(report, "n2", "data"), "PASS");
  EXPECT_EQ(level_of(report, "n3", "data"), "FAIL");
  EXPECT_THAT(seen_of(report, "n3", "data"), HasSubstr("on n1"));
  std::ofstream(hosts_.own_of(3) / "train/a") << "1234";
  EXPECT_EQ(level_of(check(suite(cases), 0), "n3", "data"), "PASS");
}

TEST_F(Namespaces, ACutLinkMakesTheHostUnreachable) {
  hosts_.net().cut(2);
  std::string text = read_file(suite(kThreeNodes));
  text.insert(text.find("ssh: {") + 6, "connect_timeout: 2s, ");
  const CommandResult run =
      assay({"check", write("suite.yaml", text).string(), "--format", "json"});
  EXPECT_EQ(run.status.code, 3) << run.out << run.err;
  // What takes its time is told, and not among the results.
  EXPECT_THAT(run.err, HasSubstr("starting the agents of 3 hosts\n"));
  const Json report = parse_json(run.out, "assay check");
  EXPECT_EQ(level_of(report, "n2", "reach"), "FAIL");
  EXPECT_EQ(level_of(report, "n1", "connect"), "PASS");
  hosts_.net().restore(2);
  EXPECT_EQ(level_of(check(suite(kThreeNodes), 0), "n2", "reach"), "PASS");
}

}  // namespace assay::e2e
