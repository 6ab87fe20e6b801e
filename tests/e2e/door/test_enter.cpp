// Programs beside the ranks of real jobs: 'assay ssh', and a plain ssh.

#include <csignal>
#include <cstdlib>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <unistd.h>

#include "e2e/door/door_test.h"
#include "e2e/ssh_hosts.h"
#include "needs.h"
#include "send_signal.h"

namespace assay::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class EnterJob : public DoorTest {};

TEST_F(EnterJob, ACommandHasTheRanksEnvironmentAndFolder) {
  serve();
  const long id = running("", {"--procs", "2", "--env", "FLAVOR=sweet pea"});
  const CommandResult result = shell(fmt::format(
      "assay ssh --rank 1 {} -- 'echo rank=$RANK job=$ASSAY_JOB_ID; echo \"$FLAVOR\"; pwd; "
      "echo mark=$ASSAY_ROUND_ID; echo to-err >&2; exit 7'",
      id));
  EXPECT_EQ(result.status.code, 7) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr(fmt::format("rank=1 job={}\n", id)), HasSubstr("sweet pea\n"),
                    HasSubstr("/work\n"), HasSubstr("mark=\n")));
  EXPECT_EQ(result.err, "to-err\n");
}

TEST_F(EnterJob, StandardInputArrivesAsItIs) {
  serve();
  const long id = running("");
  const CommandResult result = shell(fmt::format(
      "head -c 3000000 /dev/urandom > in && assay ssh {} -- 'cat; echo done >&2' < in > out && "
      "cmp in out && echo same",
      id));
  EXPECT_EQ(result.out, "same\n") << result.err;
  EXPECT_EQ(result.err, "done\n");
}

TEST_F(EnterJob, AProgramMaySayMuchBeforeItListens) {
  serve();
  const long id = running("");
  const CommandResult result =
      shell(fmt::format("head -c 20000000 /dev/zero | assay ssh {} -- 'head -c 20000000 /dev/zero; "
                        "wc -c >&2' | wc -c",
                        id));
  EXPECT_EQ(result.out, "20000000\n");
  EXPECT_EQ(result.err, "20000000\n");
}

TEST_F(EnterJob, ATerminalIsOne) {
  serve();
  const long id = running("");
  const CommandResult result = shell(
      fmt::format("TERM=xterm assay ssh -t {} -- 'tty; stty size; echo $TERM' < /dev/null", id));
  EXPECT_EQ(result.status.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("/dev/pts/"), HasSubstr("24 80"), HasSubstr("xterm")));
}

TEST_F(EnterJob, WhoLeavesEndsWhatTheyHaveStarted) {
  serve();
  const long id = running("");
  const std::string mark = fmt::format("sleep 98{}", ::getpid());
  const pid_t client = start({"ssh", std::to_string(id), "--", mark + "; true"});
  ASSERT_TRUE(eventually([&] { return !processes_with(mark).empty(); }));
  send_signal(client, SIGKILL);
  EXPECT_TRUE(eventually([&] { return processes_with(mark).empty(); }, std::chrono::seconds(30)));
}

TEST_F(EnterJob, NobodyInsideKeepsAJobFromEnding) {
  serve();
  const std::string go = (folder_ / "go").string();
  const long id = running("while [ ! -e " + go + " ]; do sleep 0.1; done");
  const pid_t client = start({"ssh", std::to_string(id), "--", "sleep 1000; true"});
  ASSERT_TRUE(eventually([&] { return processes_with("sleep 1000; true").size() >= 2; }));
  const auto before = std::chrono::steady_clock::now();
  write("go", "");
  EXPECT_TRUE(eventually([&] { return state(id) == "finished"; }, std::chrono::seconds(120)));
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(18))
      << "agents have 20 s when a controller is gone: this is none of them";
  const auto end = wait(client, std::chrono::seconds(30));
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, 4);
}

TEST_F(EnterJob, AJobThatDoesNotRunCannotBeEntered) {
  serve();
  const CommandResult submitted =
      assay({"submit", "--no-code", "--command", "true", "--follow"}, std::chrono::seconds(120));
  ASSERT_EQ(submitted.status.code, 0) << submitted.err;
  const CommandResult result = assay({"ssh", "1", "--", "true"});
  EXPECT_EQ(result.status.code, 2);
  EXPECT_THAT(result.err, HasSubstr("job 1"));
  EXPECT_EQ(assay({"ssh", "99", "--", "true"}).status.code, 2);
  const long id = running("");
  const CommandResult rank = assay({"ssh", "--rank", "5", std::to_string(id), "--", "true"});
  EXPECT_EQ(rank.status.code, 2);
  EXPECT_THAT(rank.err, HasSubstr("rank 5"));
}

TEST_F(EnterJob, OnlyTheOwnerAndWhomTheyShareItWithComeIn) {
  serve();
  const long id = running("");
  const std::string eve = make_member("eve");
  const auto enter = [&] {
    return shell(fmt::format("ASSAY_SERVER={} ASSAY_TOKEN={} assay ssh {} -- echo inside",
                             server().url(), eve, id));
  };
  EXPECT_EQ(enter().status.code, 2) << "a job of another is not there";
  ASSERT_EQ(api("PATCH", fmt::format("/jobs/{}", id), R"({"shared_with":["eve"]})").status, 200);
  EXPECT_EQ(enter().out, "inside\n");
  const Reply audit = api("GET", "/audit?limit=20");
  EXPECT_THAT(audit.body, HasSubstr("enter_job"));
}

TEST_F(EnterJob, AShellEndsWithTheTokenThatItWasEnteredWith) {
  serve();
  const long id = running("");
  const std::string eve = make_member("eve");
  ASSERT_EQ(api("PATCH", fmt::format("/jobs/{}", id), R"({"shared_with":["eve"]})").status, 200);
  const auto enter = [&](const std::string& token) {
    UniqueFd fd = connect();
    write_all(fd.get(),
              fmt::format("GET /api/v1/jobs/{}/enter HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n"
                          "Connection: Upgrade\r\nUpgrade: assay-entry\r\n"
                          "Authorization: Bearer {}\r\n\r\n",
                          id, server().port(), token),
              "server");
    EXPECT_THAT(read_until(fd.get(), "\r\n\r\n"), HasSubstr(" 101 "));
    return fd;
  };
  const UniqueFd shell = enter(eve);
  const UniqueFd stays = enter(admin_token());
  const UniqueFd events = connect();
  write_all(events.get(),
            fmt::format("GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n"
                        "Authorization: Bearer {}\r\n\r\n",
                        server().port(), eve),
            "server");
  EXPECT_THAT(read_until(events.get(), "listening"), HasSubstr("listening"));
  ASSERT_EQ(api("DELETE", "/tokens/test", "", eve).status, 200);
  const auto ends = [](int fd, std::chrono::milliseconds limit) {
    return eventually(
        [fd] {
          char bytes[4096];
          pollfd ready{fd, POLLIN, 0};
          return ::poll(&ready, 1, 0) > 0 && ::read(fd, bytes, sizeof bytes) <= 0;
        },
        limit);
  };
  EXPECT_TRUE(ends(events.get(), std::chrono::seconds(10)));
  EXPECT_TRUE(ends(shell.get(), std::chrono::seconds(30)));
  pollfd quiet{stays.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&quiet, 1, 0), 0) << "who has another token stays";
}

TEST_F(EnterJob, APlainSshAndScpGoThroughTheDoor) {
  if (!missing_for_ssh().empty()) GTEST_SKIP() << missing_for_ssh();
  serve();
  const long id = running("", {"--env", "FLAVOR=sweet"});
  const CommandResult config = shell(fmt::format("assay ssh --print-config {} > config", id));
  ASSERT_EQ(config.status.code, 0) << config.err;
  const CommandResult result =
      shell(fmt::format("cd home && ssh -F ../config job-{0} 'echo $FLAVOR; exit 3'; echo code=$?; "
                        "head -c 500000 /dev/urandom > a; "
                        "scp -q -F ../config a job-{0}:{1}/b && cmp a ../b && echo copied",
                        id, folder_.string()));
  EXPECT_EQ(result.out, "sweet\ncode=3\ncopied\n") << result.err;
  // All of them begin where the rank does: scp by sftp and by a command of its own, and a shell.
  const std::string place = shell(fmt::format("assay ssh -T {} -- pwd", id)).out;
  const CommandResult places = shell(
      fmt::format("cd home && scp -q -F ../config a job-{0}:here && scp -q -O -F ../config "
                  "job-{0}:here ../c && cmp a ../c && ssh -F ../config job-{0} 'pwd; ls here' "
                  "&& echo pwd | ssh -F ../config job-{0}",
                  id));
  EXPECT_EQ(places.out, place + "here\n" + place) << places.err;
}

TEST_F(EnterJob, AConfigurationForSshNamesTheServerOfTheEnvironment) {
  if (!missing_for_ssh().empty()) GTEST_SKIP() << missing_for_ssh();
  serve();
  const long id = running("");
  const CommandResult config =
      shell(fmt::format("cd home && ASSAY_SERVER={} ASSAY_TOKEN=$(cat ../tester/admin.token) "
                        "assay ssh --print-config {}",
                        server().url(), id));
  ASSERT_EQ(config.status.code, 0) << config.err;
  EXPECT_THAT(config.out, HasSubstr(" --server " + server().url() + " --stdio"));
  EXPECT_THAT(config.err, HasSubstr("ASSAY_TOKEN"));
}

TEST_F(EnterJob, NodesThatSshReachesAreEnteredTheSameWay) {
  SshDaemon sshd(folder_);
  if (!sshd.missing().empty()) GTEST_SKIP() << sshd.missing();
  write("nodes.yaml", "nodes:\n  - {name: " + sshd.host(1) +
                          ", devices: 2}\n  - {name: " + sshd.host(2) + ", devices: 2}\n" +
                          ssh_settings(folder_ / "sshd", sshd.port(), sshd.cache()));
  serve({"--nodes", (folder_ / "nodes.yaml").string()});
  const long id = running("", {"--nodes", "2"});
  const CommandResult result = shell(fmt::format(
      "assay ssh --rank 1 {} -- 'echo rank=$RANK $NODE_RANK; cat; exit 5' < nodes.yaml", id));
  EXPECT_EQ(result.status.code, 5) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("rank=1 1\n"), HasSubstr("device")));
}

// A page of Jupyter is thirty such ways, and stays empty when one of them fails.
TEST_F(EnterJob, AWayThatFailsForAMomentIsTriedAgain) {
  SshDaemon sshd(folder_);
  if (!sshd.missing().empty()) GTEST_SKIP() << sshd.missing();
  const auto ssh = find_program("ssh");
  ASSERT_TRUE(ssh);
  // Refuses a session as an sshd does that has too many, for each line of the file.
  fs::create_directories(folder_ / "bin");
  fs::permissions(write("bin/ssh", fmt::format("#!/bin/sh\n"
                                               "case \"$*\" in *--enter*)\n"
                                               "  if [ -s {0}/refuse ]; then\n"
                                               "    sed -i 1d {0}/refuse\n"
                                               "    echo 'Session open refused by peer' >&2\n"
                                               "    exit 255\n"
                                               "  fi ;;\n"
                                               "esac\n"
                                               "exec {1} \"$@\"\n",
                                               folder_.string(), *ssh)),
                  fs::perms::owner_all);
  ::setenv("PATH", ((folder_ / "bin").string() + ":" + ::getenv("PATH")).c_str(), 1);
  write("nodes.yaml", "nodes:\n  - {name: " + sshd.host(1) + ", devices: 2}\n" +
                          ssh_settings(folder_ / "sshd", sshd.port(), sshd.cache()));
  serve({"--nodes", (folder_ / "nodes.yaml").string()});
  const long id = running("");
  const std::string enter = fmt::format("assay ssh -T {} -- 'echo inside'", id);
  write("refuse", "once\ntwice\n");
  EXPECT_EQ(shell(enter).out, "inside\n");
  write("refuse", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
  const CommandResult refused = shell(enter);
  EXPECT_EQ(refused.out, "");
  EXPECT_THAT(refused.err, HasSubstr("the node cannot be entered"));
}

}  // namespace
}  // namespace assay::e2e
