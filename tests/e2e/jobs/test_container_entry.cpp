// Entering a job whose ranks run in containers, from an image that the test makes of busybox.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "core/json_access.h"
#include "core/process.h"
#include "e2e/door/door_test.h"
#include "needs.h"
#include "send_signal.h"

namespace assay::e2e {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class ContainerEntry : public DoorTest {
 protected:
  void SetUp() override {
    DoorTest::SetUp();
    if (!find_program("podman") || !find_program("runc") || !fs::exists("/bin/busybox"))
      GTEST_SKIP() << needs::package("podman runc busybox-static");
    const fs::path root = folder_ / "image";
    fs::create_directories(root / "bin");
    fs::create_directories(root / "tmp");
    fs::copy_file("/bin/busybox", root / "bin/busybox");
    for (const char* name : {"sh", "sleep", "echo", "cat", "test", "tty", "stty"})
      fs::create_symlink("busybox", root / "bin" / name);
    write("image/inside", "the image\n");
    (void)run_command({"tar", "-C", root.string(), "-cf", (folder_ / "image.tar").string(), "."});
    if (!podman({"import", (folder_ / "image.tar").string(), "localhost/assay-entry:1"}).ok() ||
        !podman({"run", "--rm", "--network=host", "--ulimit", "nofile=1024:1024", "--ulimit",
                 "nproc=512:512", "localhost/assay-entry:1", "/bin/echo", "works"})
             .ok())
      GTEST_SKIP() << needs::system("podman cannot run a container");
  }
  [[nodiscard]] CommandResult podman(std::vector<std::string> args) const {
    std::vector<std::string> argv{"podman"};
    for (const std::string& option : options()) argv.push_back(option);
    argv.insert(argv.end(), args.begin(), args.end());
    return run_command(argv, {.timeout = 60s, .env = {}});
  }
  [[nodiscard]] std::vector<std::string> options() const {
    return {"--runtime=runc",
            "--cgroup-manager=cgroupfs",
            "--storage-driver=vfs",
            "--root=" + (folder_ / "storage").string(),
            "--runroot=" + (folder_ / "run").string(),
            "--tmpdir=" + (folder_ / "state").string()};
  }
  [[nodiscard]] long submit_contained(const std::string& command,
                                      const std::vector<std::string>& more = {}) {
    std::string text =
        "name: contained\ncontainer:\n  image: localhost/assay-entry:1\n"
        "  runtime_options: [";
    for (const std::string& option : options()) text += "'" + option + "', ";
    write("suite.yaml", text +
                            "]\n  options: ['--ulimit=nofile=1024:1024', "
                            "'--ulimit=nproc=512:512']\ncases:\n  - name: probe\n    procs: 1\n"
                            "    limits: {stall: off}\n    command: [/bin/sh, -c, '" +
                            command + "']\n");
    std::vector<std::string> words{"submit", (folder_ / "suite.yaml").string(), "--no-code",
                                   "--format", "json"};
    words.insert(words.end(), more.begin(), more.end());
    const CommandResult made = assay(words);
    EXPECT_EQ(made.status.code, 0) << made.err;
    const Json answer = parse_json_or_null(made.out);
    const Json& jobs = list_at(answer, "jobs");
    const long id = jobs.empty() ? 0 : static_cast<long>(integer_at(jobs[0], "id", 0));
    EXPECT_TRUE(eventually(
        [&] {
          return assay({"ssh", "-T", std::to_string(id), "--", "true"}).status.code == 0;
        },
        120s))
        << assay({"job", std::to_string(id)}).out
        << assay({"job", std::to_string(id), "--logs"}).out;
    return id;
  }
};

TEST_F(ContainerEntry, ACommandRunsInsideWithTheRanksEnvironment) {
  serve();
  const long id = submit_contained("echo begun; exec /bin/sleep 1000");
  const CommandResult inside = assay({"ssh", "-T", std::to_string(id), "--",
                                      "cat /inside; echo rank $RANK of $WORLD_SIZE; "
                                      "test -e /etc/debian_version || echo nothing else; exit 5"});
  EXPECT_EQ(inside.status.code, 5) << inside.err;
  EXPECT_EQ(inside.out, "the image\nrank 0 of 1\nnothing else\n");
  const CommandResult echoed =
      shell(fmt::format("head -c 300000 /dev/zero | assay ssh -T {} -- cat | wc -c", id));
  EXPECT_THAT(echoed.out, HasSubstr("300000"));
}

// The runtime is told its name alone.
TEST_F(ContainerEntry, ASecretIsInsideAndOnNoCommandLine) {
  serve();
  const fs::path value = write("value", "hunter2 and\n\"more\" $HOME");
  ASSERT_EQ(assay({"secret", "set", "key", "--file", value.string()}).status.code, 0);
  const long id = submit_contained("exec /bin/sleep 1000", {"--secret", "key=KEY"});
  EXPECT_THAT(processes_with("hunter2"), ::testing::IsEmpty());
  const CommandResult inside = assay({"ssh", "-T", std::to_string(id), "--", "printf %s \"$KEY\""});
  EXPECT_EQ(inside.out, read_file(value)) << inside.err;
}

TEST_F(ContainerEntry, WhatSomebodyStartedInsideEndsWhenTheyLeave) {
  serve();
  const long id = submit_contained("exec /bin/sleep 1000");
  const std::string mark = fmt::format("sleep 4242{}", ::getpid());
  const pid_t client = start({"ssh", std::to_string(id), "--", "/bin/" + mark + "; true"});
  const auto there = [&] {
    for (const pid_t pid : processes_with(mark))
      if (read_file_or_empty("/proc/" + std::to_string(pid) + "/comm") == "sleep\n") return true;
    return false;
  };
  ASSERT_TRUE(eventually(there, 60s));
  send_signal(client, SIGKILL);
  EXPECT_TRUE(eventually([&] { return !there(); }, 60s));
  EXPECT_EQ(state(id), "running") << "the job does not care";
}

}  // namespace
}  // namespace assay::e2e
