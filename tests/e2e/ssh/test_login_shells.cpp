// Hosts whose login shell does not run what it is given, or gives it too little
// (docs/reliability.md).

#include <fstream>

#include <gmock/gmock.h>
#include <signal.h>

#include "core/files.h"
#include "e2e/ssh_hosts.h"
#include "send_signal.h"

namespace assay::e2e {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

class LoginShells : public SshTest {
 protected:
  /// What the login shell reads on every host, before the command.
  void set_profile(const std::string& text) {
    fs::create_directories(folder_ / "home");
    std::ofstream(folder_ / "home/.bashrc") << text;
    std::ofstream(folder_ / "sshd/sshd_config", std::ios::app)
        << "SetEnv HOME=" << (folder_ / "home").string() << "\n";
    send_signal(sshd_.pid(), SIGHUP);
    ASSERT_TRUE(eventually([this] { return takes_connections("127.0.0.1", sshd_.port()); }, 20s));
  }
  [[nodiscard]] CommandResult run(const std::string& cases) {
    return assay({"run", write("suite.yaml", "name: s\n" + sshd_.cluster(1, "connect_timeout: 1s") +
                                                 "cases:\n" + cases)
                             .string()},
                 120s);
  }
};

struct Profile {
  const char* name;
  const char* text;
};

std::string name_of(const ::testing::TestParamInfo<Profile>& with) {
  return with.param.name;
}

class LoginShellsThatFail : public LoginShells, public ::testing::WithParamInterface<Profile> {};

TEST_P(LoginShellsThatFail, AreNamedAsTheCause) {
  set_profile(GetParam().text);
  const CommandResult run = this->run("  - {case: 'null:native:cpu:1:1:1'}\n");
  EXPECT_EQ(run.status.code, 4) << run.out << run.err;
  EXPECT_THAT(run.err, AllOf(HasSubstr(SshDaemon::host(1)), HasSubstr("login shell")));
}

INSTANTIATE_TEST_SUITE_P(OfEveryKind, LoginShellsThatFail,
                         ::testing::Values(Profile{"Exit", "exit 1\n"},
                                           Profile{"Error", "set -e; false\n"},
                                           Profile{"ExitWell", "exit 0\n"},
                                           Profile{"NoOutput", "exec > /dev/null\n"},
                                           Profile{"Hang", "exec sleep 1000\n"}),
                         name_of);

TEST_F(LoginShells, ThatLeaveTooFewDescriptorsMakeARoundIncompleteByThatCause) {
  set_profile("ulimit -n 24\n");
  const CommandResult run =
      this->run("  - {name: probe, procs: 12, command: [/bin/sh, -c, 'sleep 1']}\n");
  ASSERT_EQ(run.status.code, 4) << run.out << run.err;
  const Json round = result()["cases"][0]["rounds"][0];
  EXPECT_EQ(round["validity"], "INCOMPLETE") << round["findings"];
  EXPECT_EQ(round["findings"][0]["rule"], "launch-failed");
  EXPECT_THAT(round["findings"][0]["reason"].get<std::string>(), HasSubstr("Too many open files"));
  EXPECT_THAT(round["findings"].dump(), Not(HasSubstr("evidence-known")));
}

}  // namespace assay::e2e
