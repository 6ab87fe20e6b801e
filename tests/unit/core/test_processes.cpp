#include <fstream>
#include <set>

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/process.h"
#include "core/process_name.h"
#include "core/process_tree.h"
#include "core/subprocess.h"
#include "core/text.h"
#include "error_of.h"
#include "eventually.h"
#include "send_signal.h"
#include "temporary_folder.h"

namespace assay {
namespace {

using namespace std::chrono_literals;
using testing::eventually;
using ::testing::HasSubstr;

bool gone(pid_t pid) {
  return process_state(pid) == '\0' || process_state(pid) == 'Z';
}

double since_s(std::int64_t before) {
  return static_cast<double>(mono_now_ns() - before) * 1e-9;
}

std::string all_of(UniqueFd& fd) {
  std::string out;
  std::array<char, 4096> buffer;
  for (ssize_t n = 0; (n = ::read(fd.get(), buffer.data(), buffer.size())) > 0;)
    out.append(buffer.data(), static_cast<std::size_t>(n));
  return out;
}

std::string line_of(const UniqueFd& fd) {
  std::string out;
  for (char byte = 0; !out.ends_with('\n') && ::read(fd.get(), &byte, 1) == 1;) out += byte;
  return out;
}

Child shell(const std::string& script, SpawnOptions options = {}) {
  options.argv = {"sh", "-c", script};
  options.out = Stream::pipe();
  return spawn(options);
}

TEST(RunCommand, CapturesOutputAndExitCode) {
  const CommandResult result = run_command({"sh", "-c", "echo out; echo err >&2; exit 3"});
  EXPECT_EQ(result.out, "out\n");
  EXPECT_EQ(result.err, "err\n");
  EXPECT_EQ(result.status.code, 3);
  EXPECT_FALSE(result.timed_out);
}

TEST(RunCommand, IsBoundedAlsoWhenAGrandchildKeepsThePipeOpen) {
  CommandOptions options;
  options.timeout = 200ms;
  const std::int64_t before = mono_now_ns();
  const CommandResult result = run_command({"sh", "-c", "sleep 8 | cat"}, options);
  EXPECT_TRUE(result.timed_out);
  EXPECT_LT(mono_now_ns() - before, 2'000'000'000);
}

TEST(RunCommand, IsBoundedInTotalThoughOutputKeepsComing) {
  CommandOptions options;
  options.timeout = 500ms;
  const std::int64_t before = mono_now_ns();
  const CommandResult result =
      run_command({"sh", "-c", "while :; do echo x; sleep 0.1; done"}, options);
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.status.signal, SIGKILL);
  EXPECT_THAT(result.out, HasSubstr("x\n"));
  EXPECT_LT(since_s(before), 3);
}

TEST(RunCommand, EndsWithItsProgramThoughAGrandchildHoldsThePipe) {
  const std::int64_t before = mono_now_ns();
  const CommandResult result = run_command({"sh", "-c", "sleep 60 & echo $!; exit 4"});
  EXPECT_EQ(result.status.code, 4);
  EXPECT_FALSE(result.timed_out);
  EXPECT_LT(since_s(before), 5);
  EXPECT_TRUE(eventually([&] { return gone(std::stoi(result.out)); }));
}

TEST(RunCommand, ReadsAllThatTheProgramWroteBeforeItsEnd) {
  CommandOptions options;
  options.max_output = 4 << 20;
  const std::string script = "sleep 60 & head -c 3000000 /dev/zero; echo last >&2";
  const CommandResult result = run_command({"sh", "-c", script}, options);
  EXPECT_EQ(result.out.size(), 3'000'000u);
  EXPECT_EQ(result.err, "last\n");
}

TEST(RunCommand, SaysThatAProgramDoesNotExist) {
  EXPECT_TRUE(run_command({"no-such-program-here"}).not_found);
  EXPECT_TRUE(run_command({"/etc/passwd"}).not_found);
  EXPECT_TRUE(run_command({}).not_found);
}

TEST(RunCommand, KeepsOnlyTheAllowedAmountOfOutput) {
  CommandOptions options;
  options.max_output = 1000;
  EXPECT_EQ(run_command({"sh", "-c", "yes | head -c 100000"}, options).out.size(), 1000u);
  EXPECT_EQ(run_command({"sh", "-c", "(yes | head -c 99998; echo) >&2"}, options).err.size(),
            1000u);
}

TEST(RunCommand, AddsToTheEnvironment) {
  CommandOptions options;
  options.env["ASSAY_TEST_VALUE"] = "7";
  EXPECT_EQ(run_command({"sh", "-c", "echo $ASSAY_TEST_VALUE$HOME"}, options).out,
            "7" + std::string(std::getenv("HOME")) + "\n");
}

TEST(ExitStatus, IsShownAsCodeOrSignal) {
  EXPECT_EQ(to_string(ExitStatus{3, std::nullopt}), "exit 3");
  EXPECT_EQ(to_string(ExitStatus{std::nullopt, SIGSEGV}), "SIGSEGV");
}

TEST(Spawn, NamesTheProgramThatCannotBeExecuted) {
  EXPECT_EQ(testing::error_of([] { return spawn({.argv = {"/no/such/program"}}).pid(); }),
            "cannot execute '/no/such/program': No such file or directory");
  EXPECT_THAT(testing::error_of([] { return spawn({.argv = {"/etc/passwd"}}).pid(); }),
              HasSubstr("cannot execute '/etc/passwd': Permission denied"));
}

TEST(Spawn, NamesTheFolderThatCannotBeEntered) {
  EXPECT_EQ(
      testing::error_of([] { return spawn({.argv = {"true"}, .folder = "/no/folder"}).pid(); }),
      "cannot enter the folder '/no/folder': No such file or directory");
}

TEST(Spawn, LeavesNoZombieOfAProgramThatCannotBeExecuted) {
  EXPECT_THROW((void)spawn({.argv = {"/no/such/program"}}), SpawnError);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
}

TEST(Spawn, LooksTheProgramUpInThePathOfTheChild) {
  const testing::TemporaryFolder folder;
  const auto program = folder.path() / "assay-test-program";
  std::ofstream(program) << "#!/bin/sh\necho found\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  Child child = spawn({.argv = {"assay-test-program"},
                       .env = std::vector<std::string>{"PATH=/nowhere:" + folder.path().string()},
                       .out = Stream::pipe()});
  EXPECT_EQ(all_of(child.out), "found\n");
  EXPECT_TRUE(child.wait().ok());
}

TEST(Spawn, RunsAScriptWithoutInterpreterOnlyWhereThatIsAskedFor) {
  const testing::TemporaryFolder folder;
  const auto script = folder.path() / "script";
  std::ofstream(script) << "echo $1\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  SpawnOptions options{.argv = {script.string(), "word"}, .out = Stream::pipe()};
  EXPECT_THAT(testing::error_of([&] { return spawn(options).pid(); }),
              HasSubstr("Exec format error"));
  options.plain_scripts = true;
  Child child = spawn(options);
  EXPECT_EQ(all_of(child.out), "word\n");
}

TEST(Spawn, PassesOnNoDescriptorButTheStreams) {
  const UniqueFd open(::open("/dev/null", O_RDONLY));  // without O_CLOEXEC
  Child child = shell("ls /proc/self/fd");
  const std::string listed = all_of(child.out);
  // 3 is ls's own, of the folder.
  EXPECT_EQ(listed, "0\n1\n2\n3\n");
}

TEST(Spawn, GivesTheChildDefaultSignalsAndAnEmptyMask) {
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  Child child = shell("grep -E 'Sig(Blk|Ign)' /proc/self/status | cut -f2 | sort -u");
  EXPECT_EQ(all_of(child.out), "0000000000000000\n");
  ::signal(SIGPIPE, before);
}

TEST(Spawn, WritesWhereTheStreamsLead) {
  const testing::TemporaryFolder folder;
  const auto log = folder.path() / "log";
  std::ofstream(log) << "old\n";
  for (const char* word : {"one", "two"}) {
    SpawnOptions options{.argv = {"sh", "-c", std::string("echo ") + word + " >&2"},
                         .out = Stream::append(log, 0600),
                         .err = Stream::output()};
    EXPECT_TRUE(spawn(options).wait().ok());
  }
  EXPECT_EQ(read_file(log), "old\none\ntwo\n");
  EXPECT_TRUE(spawn({.argv = {"echo", "new"}, .out = Stream::overwrite(log, 0600)}).wait().ok());
  EXPECT_EQ(read_file(log), "new\n");
}

TEST(Spawn, SetsLimits) {
  SpawnOptions options;
  options.limits = {{RLIMIT_CORE, {0, 0}}, {RLIMIT_NOFILE, {77, 77}}};
  Child child = shell("ulimit -n; ulimit -c", options);
  EXPECT_EQ(all_of(child.out), "77\n0\n");
}

TEST(Spawn, PutsTheChildIntoItsGroupOrSession) {
  const auto group_of = [](Group group) {
    SpawnOptions options;
    options.group = group;
    Child child = shell("read line", [&] {
      options.in = Stream::pipe();
      return options;
    }());
    return std::pair(::getpgid(child.pid()) == child.pid(), ::getsid(child.pid()) == child.pid());
  };
  EXPECT_EQ(group_of(Group::own), std::pair(true, false));
  EXPECT_EQ(group_of(Group::session), std::pair(true, true));
  EXPECT_EQ(group_of(Group::shared), std::pair(false, false));
}

TEST(Spawn, GivesTheChildATerminalWhoseControlCReachesIt) {
  const UniqueFd mine(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  std::array<char, 128> name{};
  ASSERT_TRUE(mine && ::grantpt(mine.get()) == 0 && ::unlockpt(mine.get()) == 0 &&
              ::ptsname_r(mine.get(), name.data(), name.size()) == 0);
  const UniqueFd theirs(::open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  Child child =
      shell("echo ready > /dev/tty; echo up; exec sleep 60",
            {.in = Stream::descriptor(theirs.get()), .group = Group::session, .terminal = true});
  EXPECT_EQ(line_of(child.out), "up\n");
  ASSERT_EQ(::write(mine.get(), "\x03", 1), 1);
  const auto end = child.wait_for(20s);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->signal, SIGINT);
}

TEST(Spawn, RefusesATerminalThatIsNone) {
  EXPECT_THAT(testing::error_of([] {
                return spawn({.argv = {"true"}, .group = Group::session, .terminal = true}).pid();
              }),
              HasSubstr("cannot set up"));
}

TEST(ReplaceProcess, RunsTheProgramInThisProcessWithItsEnvironment) {
  Pipe pipe = make_pipe();
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(pipe.write.get(), STDOUT_FILENO);
    try {
      replace_process({"sh", "-c", "echo $$ $WORD"}, {{"WORD=here", "PATH=/usr/bin:/bin"}});
    } catch (const Error&) {
      ::_exit(1);
    }
  }
  pipe.write.reset();
  EXPECT_EQ(all_of(pipe.read), fmt::format("{} here\n", pid));
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(ExitStatus::from_wait(status).ok());
}

TEST(ReplaceProcess, NamesTheProgramThatCannotBeExecuted) {
  EXPECT_EQ(testing::error_of([] { replace_process({"/no/such/program"}); }),
            "cannot execute '/no/such/program': No such file or directory");
}

TEST(Child, SignalsReachItsWholeGroup) {
  Child child = shell("sleep 60 & echo $!; wait");
  std::string line(16, '\0');
  line.resize(static_cast<std::size_t>(::read(child.out.get(), line.data(), line.size())));
  const pid_t grandchild = std::stoi(line);
  child.signal(SIGTERM);
  EXPECT_EQ(child.wait().signal, SIGTERM);
  EXPECT_TRUE(eventually([&] { return gone(grandchild); }));
}

TEST(Child, IsKilledAndCollectedByTheDestructor) {
  pid_t pid = 0;
  {
    const Child child = shell("trap '' TERM; sleep 60");
    pid = child.pid();
  }
  EXPECT_EQ(process_state(pid), '\0');
}

TEST(Child, GoesOnWhenItIsReleased) {
  Child child = shell("sleep 60");
  const pid_t pid = child.release();
  child = {};
  EXPECT_FALSE(gone(pid));
  ::kill(-pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

TEST(Child, IsWaitedForNoLongerThanAllowed) {
  Child child = shell("sleep 60");
  EXPECT_EQ(child.wait_for(50ms), std::nullopt);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(child.wait_for(1h, stop.get_token()), std::nullopt);
}

TEST(Child, HasAnUnknownStatusWhenSomebodyElseCollectedIt) {
  Child child = shell("exit 3");
  while (::waitpid(child.pid(), nullptr, 0) != child.pid()) {
  }
  const ExitStatus status = child.wait();
  EXPECT_EQ(to_string(status), "unknown");
  EXPECT_FALSE(child.running());
}

// In a process of its own, which is killed without a chance to clean up.
TEST(Child, DiesWithItsParent) {
  Pipe pipe = make_pipe();
  const pid_t parent = ::fork();
  if (parent == 0) {
    const Child child = spawn({.argv = {"sleep", "60"}});
    const pid_t pid = child.pid();
    [[maybe_unused]] const ssize_t n = ::write(pipe.write.get(), &pid, sizeof pid);
    for (;;) ::pause();
  }
  pid_t grandchild = 0;
  ASSERT_EQ(::read(pipe.read.get(), &grandchild, sizeof grandchild), ssize_t{sizeof grandchild});
  EXPECT_FALSE(gone(grandchild));
  send_signal(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  EXPECT_TRUE(eventually([&] { return gone(grandchild); }));
}

TEST(Child, TwoHundredRunAtOnce) {
  std::vector<Child> children;
  std::set<pid_t> pids;
  for (int i = 0; i < 200; ++i) {
    children.push_back(
        shell("read line; echo $line; exit " + std::to_string(i % 7), {.in = Stream::pipe()}));
    pids.insert(children.back().pid());
  }
  EXPECT_EQ(pids.size(), 200u);
  for (std::size_t i = 0; i < children.size(); ++i) {
    write_all(children[i].in.get(), std::to_string(i) + "\n", "stdin");
    EXPECT_EQ(all_of(children[i].out), std::to_string(i) + "\n");
    EXPECT_EQ(children[i].wait().code, static_cast<int>(i % 7));
  }
}

TEST(TellingProcess, IsTheOneThatWasStoppedElseWhatAShellWaitsFor) {
  const Child wrapper = shell("sh -c 'sleep 60; :'; :");
  const auto below = [&] { return descendants(wrapper.pid()); };
  ASSERT_TRUE(eventually([&] { return below().size() == 2; }));
  const pid_t inner = below()[0];
  const pid_t sleeper = below()[1];
  EXPECT_EQ(telling_processes({wrapper.pid()}), std::vector<pid_t>{sleeper});
  send_signal(inner, SIGSTOP);
  ASSERT_TRUE(eventually([&] { return process_state(inner) == 'T'; }));
  EXPECT_EQ(telling_processes({wrapper.pid(), sleeper}), (std::vector<pid_t>{inner, sleeper}));
  for (const pid_t pid : {inner, sleeper}) send_signal(pid, SIGKILL);
}

TEST(TellingProcess, OfOneWithSeveralChildrenIsItself) {
  const Child parent = shell("sleep 60 & sleep 60 & wait");
  ASSERT_TRUE(eventually([&] { return descendants(parent.pid()).size() == 2; }));
  EXPECT_EQ(telling_processes({parent.pid()}), std::vector<pid_t>{parent.pid()});
  for (const pid_t pid : descendants(parent.pid())) send_signal(pid, SIGKILL);
}

TEST(ProcessName, FindsItsProcessUntilThatIsGone) {
  Child child = spawn({.argv = {"sleep", "60"}});
  const std::string name = process_name(child.pid());
  EXPECT_EQ(find_process(name), child.pid());
  child.signal(SIGKILL);
  (void)child.wait();
  EXPECT_EQ(find_process(name), std::nullopt);
  EXPECT_EQ(process_name(child.pid()), "");
}

TEST(ProcessName, IsNotThatOfAnotherBootNamespaceOrStart) {
  const std::string name = process_name(::getpid());
  EXPECT_EQ(find_process(name), ::getpid());
  EXPECT_EQ(find_process(name + "1"), std::nullopt);
  EXPECT_EQ(find_process("1" + name), std::nullopt);
  EXPECT_EQ(find_process(name.substr(name.find(':'))), std::nullopt);
  EXPECT_EQ(find_process(""), std::nullopt);
}

TEST(FindProgram, GivesAnAbsolutePath) {
  EXPECT_THAT(find_program("sh").value_or(""), ::testing::EndsWith("/sh"));
  EXPECT_EQ(find_program("no-such-program-here"), std::nullopt);
  EXPECT_EQ(find_program("/bin/sh"), "/bin/sh");
  EXPECT_EQ(find_program(""), std::nullopt);
}

}  // namespace
}  // namespace assay
