// Ranks in real containers, from an image that the tests make of busybox.

#include <fstream>

#include <gmock/gmock.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/files.h"
#include "core/text.h"
#include "e2e/harness.h"
#include "needs.h"
#include "send_signal.h"

namespace assay::e2e {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

class Containers : public AssayTest {
 protected:
  // Tests run side by side: each knows its own processes.
  const std::string marker_ = "78." + std::to_string(::getpid());
  bool docker_ = false;  // suites ask for docker, which has podman's options already

  void SetUp() override {
    AssayTest::SetUp();
    if (!find_program("podman") || !find_program("runc") || !fs::exists("/bin/busybox"))
      GTEST_SKIP() << needs::package("podman runc busybox-static");
    const fs::path root = folder_ / "image";
    fs::create_directories(root / "bin");
    fs::copy_file("/bin/busybox", root / "bin/busybox");
    for (const char* name : {"sh", "sleep", "echo", "touch", "test"})
      fs::create_symlink("busybox", root / "bin" / name);
    (void)run_command({"tar", "-C", root.string(), "-cf", (folder_ / "image.tar").string(), "."});
    if (!podman({"import", (folder_ / "image.tar").string(), "localhost/assay-test:1"})
             .status.ok() ||
        !podman({"run", "--rm", "--network=host", "--ulimit", "nofile=1024:1024", "--ulimit",
                 "nproc=512:512", "localhost/assay-test:1", "/bin/echo", "works"})
             .status.ok())
      GTEST_SKIP() << needs::system("podman cannot run a container");
  }
  void TearDown() override {
    AssayTest::TearDown();
    if (IsSkipped()) return;
    // podman removes them beside us.
    const auto left = [this] { return podman({"ps", "--all", "--quiet"}).out; };
    EXPECT_TRUE(eventually([&] { return left().empty(); }, 30s))
        << "a container was left behind:\n"
        << podman({"ps", "--all", "--format", "{{.Names}} {{.Status}}"}).out
        << read_file_or_empty(latest() / "journal.jsonl");
    EXPECT_TRUE(processes_with("sleep " + marker_).empty());
  }
  [[nodiscard]] CommandResult podman(const std::vector<std::string>& args) const {
    std::vector<std::string> argv{"podman"};
    for (const std::string& option : options()) argv.push_back(option);
    argv.insert(argv.end(), args.begin(), args.end());
    CommandOptions options;
    options.timeout = 30s;
    return run_command(argv, options);
  }
  // podman's own `--rm` needs conmon, the container's supervisor, to live; here it is killed as
  // well, as when a whole session is killed: only the removal by name after the agent's loss is
  // left.
  void kill_agent_and_supervisors(pid_t pid) const {
    const std::vector<pid_t> agents = agents_of(pid);
    ASSERT_EQ(agents.size(), 1u);
    send_signal(agents[0], SIGSTOP);  // it must not see its ranks' clients end
    int supervisors = 0;
    for (const pid_t conmon : processes_with(folder_.string())) {
      if (read_file_or_empty("/proc/" + std::to_string(conmon) + "/comm") != "conmon\n") continue;
      send_signal(conmon, SIGKILL);
      ++supervisors;
    }
    ASSERT_EQ(supervisors, 2);
    send_signal(agents[0], SIGKILL);
  }
  // How many ranks sleep inside containers: podman's own command lines name the command too. Suites
  // say /bin/sleep: some builds of busybox run a plain "sleep" inside the shell.
  [[nodiscard]] std::size_t sleeping() const {
    std::size_t count = 0;
    for (const pid_t pid : processes_with("sleep " + marker_))
      if (read_file_or_empty("/proc/" + std::to_string(pid) + "/comm") == "sleep\n") ++count;
    return count;
  }
  [[nodiscard]] std::vector<std::string> options() const {
    return {"--runtime=runc", "--cgroup-manager=cgroupfs", "--storage-driver=vfs",
            "--root=" + (folder_ / "storage").string(), "--runroot=" + (folder_ / "run").string(),
            // Its state too: tests beside this one must not share it.
            "--tmpdir=" + (folder_ / "state").string()};
  }
  fs::path suite(const std::string& command, const std::string& more = {},
                 const std::string& image = "localhost/assay-test:1") const {
    std::string text = "name: c\ncontainer:\n  image: " + image + "\n";
    if (docker_) {
      text += "  runtime: docker\n  runtime_options: [";
    } else {
      text += "  runtime_options: [";
      for (const std::string& option : options()) text += "'" + option + "', ";
    }
    return write("suite.yaml", text +
                                   "]\n  options: ['--ulimit=nofile=1024:1024', "
                                   "'--ulimit=nproc=512:512']\ncases:\n  - name: probe\n"
                                   "    procs: 2\n    command: [/bin/sh, -c, '" +
                                   command +
                                   "']\n    rules: {min-steps: off, min-duration: off, "
                                   "perflog-present: off}\n" +
                                   more);
  }
};

TEST_F(Containers, RanksRunInsideWithTheirEnvironmentAndAreRemoved) {
  const CommandResult run = assay(
      {"run", suite("echo rank $RANK of $WORLD_SIZE; test -e /etc/debian_version || echo inside")
                  .string()});
  ASSERT_EQ(run.status.code, 0) << run.out << run.err;
  std::string log;
  for (const auto& entry : fs::recursive_directory_iterator(latest()))
    if (entry.path().filename() == "rank1.out.log") log = read_file(entry.path());
  EXPECT_THAT(log, HasSubstr("rank 1 of 2"));
  EXPECT_THAT(log, HasSubstr("inside"));
}

TEST_F(Containers, TheRecordOfWhatRanNamesTheImageAndTheProgramInIt) {
  const CommandResult run = assay({"run", suite("echo ran").string()});
  ASSERT_EQ(run.status.code, 0) << run.out << run.err;
  const Json ran = result()["cases"][0]["rounds"][0]["executed"][0];
  const std::string id(
      trim(podman({"image", "inspect", "--format", "{{.Id}}", "localhost/assay-test:1"}).out));
  ASSERT_EQ(id.size(), 64U) << id;
  EXPECT_THAT(ran["image"].get<std::string>(), HasSubstr(id));
  EXPECT_EQ(ran["program"]["path"], "/bin/sh");
  EXPECT_EQ(ran["program"]["problem"], "in the image");
  const std::string command = ran["command"].dump();
  EXPECT_THAT(command, HasSubstr("localhost/assay-test:1"));
  EXPECT_THAT(command, HasSubstr("echo ran"));
  EXPECT_EQ(ran["given"]["RANK"], "0");
}

// The same name with other content is another image, in the record too.
TEST_F(Containers, AnImageThatChangesBetweenRunsHasAnotherIdInTheRecord) {
  const auto image = [&] {
    EXPECT_EQ(assay({"run", suite("echo ran").string()}).status.code, 0);
    return result()["cases"][0]["rounds"][0]["executed"][0]["image"].get<std::string>();
  };
  const std::string first = image();
  write("image/changed", "since\n");
  (void)run_command(
      {"tar", "-C", (folder_ / "image").string(), "-cf", (folder_ / "image.tar").string(), "."});
  ASSERT_TRUE(
      podman({"import", (folder_ / "image.tar").string(), "localhost/assay-test:1"}).status.ok());
  EXPECT_NE(image(), first);
}

TEST_F(Containers, ACaseWhoseNameHasColonsFindsItsFolder) {
  std::string text = read_file(suite("echo ran"));
  text.replace(text.find("name: probe"), 11, "case: 'mine:native:cpu:1:2:1'");
  text.erase(text.find("    procs: 2\n"), 13);
  const CommandResult run = assay({"run", write("suite.yaml", text).string()});
  EXPECT_EQ(run.status.code, 0) << run.out << run.err;
}

TEST_F(Containers, AHangingContainerIsEndedAndRemoved) {
  const CommandResult run = assay(
      {"run", suite("/bin/sleep " + marker_, "    limits: {time: 1s, grace: 300ms}\n").string()});
  EXPECT_EQ(run.status.code, 5) << run.out << run.err;
  EXPECT_EQ(result()["cases"][0]["rounds"][0]["status"], "timed_out");
}

TEST_F(Containers, AKilledAgentLeavesNoContainer) {
  const fs::path file = suite("/bin/sleep " + marker_, "    limits: {grace: 300ms}\n");
  const pid_t pid = start({"run", file.string()});
  ASSERT_TRUE(eventually([this] { return sleeping() == 2; }, 20s));
  kill_agent_and_supervisors(pid);
  ASSERT_TRUE(wait(pid, 60s));
  EXPECT_EQ(result()["cases"][0]["rounds"][0]["status"], "lost");
}

// The controller and its agent: nobody is left to remove the containers, whose names stay taken.
TEST_F(Containers, ARunWhoseControllerAndAgentWereKilledResumes) {
  const fs::path file = suite("/bin/sleep " + marker_, "    limits: {grace: 300ms}\n");
  const pid_t pid = start({"run", file.string()});
  ASSERT_TRUE(eventually([this] { return sleeping() == 2; }, 20s));
  send_signal(pid, SIGSTOP);
  const std::vector<pid_t> guardians = agents_of(pid, "assay-guardian");
  for (const pid_t one : guardians) send_signal(one, SIGSTOP);
  kill_agent_and_supervisors(pid);
  for (const pid_t one : guardians) send_signal(one, SIGKILL);
  send_signal(pid, SIGKILL);
  ASSERT_TRUE(wait(pid, 20s));

  const pid_t resumed = start({"run", "--resume", latest().string()});
  const auto running = [&] {
    const std::string journal = read_file_or_empty(latest() / "journal.jsonl");
    const auto resumed_at = journal.find("run_resume");
    return resumed_at != std::string::npos &&
           journal.find("rank_start", resumed_at) != std::string::npos && sleeping() == 2;
  };
  EXPECT_TRUE(eventually(running, 60s)) << read_file_or_empty(folder_ / "assay.log");
  EXPECT_EQ(assay({"stop", latest().string()}).status.code, 0);
  EXPECT_TRUE(wait(resumed, 30s));
  EXPECT_EQ(sleeping(), 0u);
}

TEST_F(Containers, AContainerKilledFromOutsideIsNamedAndTheOthersAreRemoved) {
  const fs::path file = suite("/bin/sleep " + marker_, "    limits: {grace: 300ms}\n");
  const pid_t pid = start({"run", file.string()});
  ASSERT_TRUE(eventually([this] { return sleeping() == 2; }, 20s));
  const std::string names = podman({"ps", "--format", "{{.Names}}", "--sort", "names"}).out;
  const std::string last(trim(names.substr(names.find('\n') + 1)));
  ASSERT_TRUE(podman({"kill", last}).status.ok()) << names;
  const auto status = wait(pid, 60s);
  ASSERT_TRUE(status) << "assay still waits for a container that was killed";
  EXPECT_EQ(status->code, 5);
  const Json round = result()["cases"][0]["rounds"][0];
  EXPECT_EQ(round["status"], "failed");
  EXPECT_THAT(round["reason"].get<std::string>(), HasSubstr("rank 1 on "));
  EXPECT_THAT(round["reason"].get<std::string>(), HasSubstr("137"));
}

TEST_F(Containers, AMissingImageFailsTheLaunchAndIsNamed) {
  const fs::path file = suite("echo never", "", "localhost/no-such-image:1");
  std::string text = read_file(file);
  text.insert(text.find("  image:"), "  pull: never\n");
  write("suite.yaml", text);
  const CommandResult run = assay({"run", file.string()});
  EXPECT_EQ(run.status.code, 4) << run.out << run.err;
  EXPECT_THAT(run.err, HasSubstr("localhost/no-such-image:1 is not available"));
}

// What is rendered for docker is really executed: its commands are podman's, too.
class DockerContainers : public Containers {
 protected:
  void SetUp() override {
    Containers::SetUp();
    if (IsSkipped()) return;
    fs::create_directories(folder_ / "shim");
    std::string script =
        "#!/bin/sh\necho \"$*\" >> " + (folder_ / "docker.log").string() + "\nexec podman";
    for (const std::string& option : options()) script += " '" + option + "'";
    const fs::path shim = write("shim/docker", script + " \"$@\"\n");
    fs::permissions(shim, fs::perms::owner_all);
    ::setenv("PATH", ((folder_ / "shim").string() + ":" + path_).c_str(), 1);
    docker_ = true;
  }
  void TearDown() override {
    ::setenv("PATH", path_.c_str(), 1);
    Containers::TearDown();
  }

 private:
  const std::string path_ = ::getenv("PATH");
};

TEST_F(DockerContainers, RunWithDockersCommandLineAndAreRemoved) {
  const CommandResult run =
      assay({"run", suite("echo rank $RANK of $WORLD_SIZE; test -e /etc/debian_version || "
                          "echo inside")
                        .string()});
  ASSERT_EQ(run.status.code, 0) << run.out << run.err << read_file(folder_ / "docker.log");
  std::string log;
  for (const auto& entry : fs::recursive_directory_iterator(latest()))
    if (entry.path().filename() == "rank1.out.log") log = read_file(entry.path());
  EXPECT_THAT(log, HasSubstr("rank 1 of 2"));
  EXPECT_THAT(log, HasSubstr("inside"));
  const std::string asked = read_file(folder_ / "docker.log");
  EXPECT_THAT(asked, HasSubstr("image inspect --format"));
  EXPECT_THAT(asked, HasSubstr("run --rm --name assay-"));
}

TEST_F(DockerContainers, AKilledAgentLeavesNone) {
  const fs::path file = suite("/bin/sleep " + marker_, "    limits: {grace: 300ms}\n");
  const pid_t pid = start({"run", file.string()});
  ASSERT_TRUE(eventually([this] { return sleeping() == 2; }, 20s));
  kill_agent_and_supervisors(pid);
  ASSERT_TRUE(wait(pid, 60s));
  EXPECT_EQ(result()["cases"][0]["rounds"][0]["status"], "lost");
  EXPECT_THAT(read_file(folder_ / "docker.log"), HasSubstr("rm --force assay-"));
}

class SlowRuntime : public AssayTest {};

// A docker whose first removal hangs, and whose containers fail at once.
TEST_F(SlowRuntime, AnAgentThatIsKilledWhileItRemovesAContainerLeavesThatToTheController) {
  const std::string removals = (folder_ / "removals").string();
  fs::create_directory(folder_ / "bin");
  const fs::path docker = write(
      "bin/docker", "#!/bin/sh\ncase \"$1\" in\nrun) exit 3 ;;\nrm)\n  echo $$ >> " + removals +
                        "\n  [ $(wc -l < " + removals + ") -gt 1 ] || exec sleep 60 ;;\nesac\n");
  fs::permissions(docker, fs::perms::owner_all);
  ::setenv("PATH", (docker.parent_path().string() + ":" + ::getenv("PATH")).c_str(), 1);
  const pid_t pid = start({"run", write("suite.yaml", R"(name: c
container: {runtime: docker, image: any}
cases:
  - name: probe
    procs: 1
    command: [/bin/true]
)")
                                      .string()});
  ASSERT_TRUE(eventually([&] { return !read_file_or_empty(removals).empty(); }, 30s));
  const std::vector<pid_t> agents = agents_of(pid);
  ASSERT_EQ(agents.size(), 1U);
  send_signal(agents[0], SIGKILL);
  const auto end = wait(pid, 60s);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, 5) << read_file(folder_ / "assay.log");
  const std::string tried = read_file(removals);
  const auto pids = split(trim(tried), '\n');
  ASSERT_EQ(pids.size(), 2U) << tried;
  EXPECT_FALSE(fs::exists("/proc/" + std::string(pids[0]))) << "the removal that hung";
}

}  // namespace assay::e2e
