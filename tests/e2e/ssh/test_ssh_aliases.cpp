// Hosts whose names are aliases of ssh_config, which nobody but this machine knows.

#include <gmock/gmock.h>

#include "core/files.h"
#include "core/text.h"
#include "e2e/ssh_hosts.h"

namespace assay::e2e {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

class SshAliases : public SshTest {
 protected:
  /// A suite on alpha and beta, which are SshDaemon::host(1) and (2).
  [[nodiscard]] std::string suite(const std::string& script) {
    const fs::path files = folder_ / "sshd";
    std::string config;
    for (const int number : {1, 2})
      config += "Host " + std::string(number == 1 ? "alpha" : "beta") + "\n  HostName " +
                SshDaemon::host(number) + "\n";
    config += "Host *\n  Port " + std::to_string(sshd_.port()) + "\n  IdentityFile " +
              (files / "user_key").string() + "\n  UserKnownHostsFile " +
              (files / "known_hosts").string() + "\n";
    write("ssh_config", config);
    write("rank.sh", script);
    return write("suite.yaml",
                 "name: s\ntelemetry: {prometheus: {listen: '0.0.0.0:9400'}}\n"
                 "cluster:\n  launcher: ssh\n  hosts: [alpha, beta]\n  ssh: {config: " +
                     (folder_ / "ssh_config").string() + ", cache: '" +
                     (sshd_.cache() / "{host}").string() +
                     "'}\ncases:\n  - name: probe\n    nodes: 2\n"
                     "    rendezvous: [mpi, dlws]\n    command: [/bin/sh, " +
                     (folder_ / "rank.sh").string() +
                     ", '{hostfile}', '{hosts}']\n    rules: {min-steps: off, min-duration: off, "
                     "perflog-present: off}\n")
        .string();
  }
  [[nodiscard]] static std::string first() { return SshDaemon::host(1); }
  [[nodiscard]] static std::string second() { return SshDaemon::host(2); }
};

TEST_F(SshAliases, RanksAreToldAddressesThatTheirNodesKnow) {
  // The second rank stays until the first has been there.
  const std::string done = (folder_ / "done").string();
  const std::string file = suite("[ $RANK = 0 ] || { until [ -e " + done +
                                 " ]; do sleep 0.1; done; exit; }\n"
                                 "cat $1; echo all $2; echo worker1 at $DLWS_SD_worker1_IP\n"
                                 "ssh beta echo by alias; ssh " +
                                 second() + " echo by address\ntouch " + done + "\n");
  const CommandResult run = assay({"run", file}, 120s);
  ASSERT_EQ(run.status.code, 0) << run.out << run.err;
  const std::string log = read_file(latest() / "probe/round1/alpha_noderank0/rank0.out.log");
  EXPECT_THAT(log, HasSubstr(first() + " slots=1\n" + second() + " slots=1\n"));
  EXPECT_THAT(log, AllOf(HasSubstr("all " + first() + "," + second()),
                         HasSubstr("worker1 at " + second())));
  EXPECT_THAT(log, AllOf(HasSubstr("by alias"), HasSubstr("by address")));
}

TEST_F(SshAliases, FilesForOthersHaveAddresses) {
  const std::string file = suite("true\n");
  EXPECT_EQ(assay({"hostfile", file, "--slots", "2"}).out,
            first() + " slots=2\n" + second() + " slots=2\n");
  ASSERT_EQ(assay({"prometheus", file, "-o", "monitoring"}).status.code, 0);
  EXPECT_THAT(read_file(folder_ / "monitoring/prometheus.yml"),
              AllOf(HasSubstr(first() + ":9400"), HasSubstr(second() + ":9400"),
                    Not(HasSubstr("alpha:9400"))));
}

TEST_F(SshAliases, OfATunnelOrOfOneAddressStay) {
  const std::string file = suite("true\n");
  write("ssh_config", "Host alpha\n  HostName localhost\n  Port 2201\nHost beta\n  Port 2202\n");
  EXPECT_EQ(assay({"hostfile", file, "--slots", "2"}).out, "alpha slots=2\nbeta slots=2\n");
  write("ssh_config", "Host alpha beta\n  HostName 10.1.2.3\n");
  EXPECT_EQ(assay({"hostfile", file, "--slots", "2"}).out, "alpha slots=2\nbeta slots=2\n");
}

}  // namespace assay::e2e
