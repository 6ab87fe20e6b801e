// What programs print: numbers read from it, a terminal whose size changes, rounds run again.

#include <array>
#include <fstream>
#include <optional>

#include <gmock/gmock.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "core/files.h"
#include "core/text.h"
#include "e2e/harness.h"
#include "send_signal.h"

namespace assay::e2e {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

class Output : public AssayTest {};

TEST_F(Output, AProgressBarGivesItsLastSpeed) {
  const fs::path suite = script_suite(
      "printf 'it/s=1\\rit/s=2\\rit/s=3\\n'\n"
      "printf '  0%%|    | 0/4 [00:00<?, ?it/s]\\r 50%%|##  | 2/4 [00:04<00:04,  2.00s/it]\\r'"
      " >&2\n"
      "printf '100%%|####| 4/4 [00:05<00:00, \\033[32m1.60it/s\\033[0m]\\n' >&2\n",
      "    procs: 2\n"
      "    metrics:\n"
      "      last: {match: 'it/s=([0-9]+)'}\n"
      "      total: {match: 'it/s=([0-9]+)', reduce: sum, across: sum}\n"
      "      first: {match: 'it/s=([0-9]+)', reduce: first, across: rank0}\n"
      "      speed: {match: '([0-9.?]+(?:it/s|s/it))', kind: speed, unit: it/s, reduce: min}\n");
  const CommandResult run = assay({"run", suite.string()});
  EXPECT_EQ(run.status.code, 0) << run.out << run.err;
  const Json metrics = result()["cases"][0]["rounds"][0]["metrics"];
  EXPECT_EQ(metrics["last"]["value"], 3);
  EXPECT_EQ(metrics["total"]["value"], 12);
  EXPECT_EQ(metrics["first"]["value"], 1);
  EXPECT_EQ(metrics["speed"]["value"], 0.5);
}

TEST_F(Output, ANumberThatCanMeanTwoThingsIsNotGuessed) {
  const fs::path suite = script_suite("echo rate: 7\necho rate: 1,5\n",
                                      "    metrics: {rate: {match: 'rate: (\\S+)'}}\n");
  const CommandResult run = assay({"run", suite.string()});
  EXPECT_EQ(run.status.code, 5) << run.out << run.err;
  const Json round = result()["cases"][0]["rounds"][0];
  EXPECT_EQ(round["validity"], "INCOMPLETE");
  EXPECT_THAT(round["findings"].dump(), HasSubstr("1 match of output metrics cannot be read as a "
                                                  "number (rate: '1,5' at "));
  EXPECT_THAT(round["findings"].dump(), HasSubstr("rank0.out.log:2"));
}

TEST_F(Output, FailedRoundsAreRunAgainOnlyWhenAskedFor) {
  const fs::path suite = script_suite("test $ASSAY_ROUND = 2 && test ! -e " +
                                          (folder_ / "mended").string() + " && exit 3\nexit 0\n",
                                      "    repeats: 3\n");
  CommandResult run = assay({"run", suite.string()});
  EXPECT_EQ(run.status.code, 5) << run.out << run.err;
  EXPECT_THAT(result()["cases"][0]["rounds"][1]["findings"].dump(),
              HasSubstr("'assay run --resume RUN --failed' runs the round again"));
  const std::string path = latest().string();
  std::ofstream(folder_ / "mended") << "yes";

  run = assay({"run", "--resume", path});
  EXPECT_EQ(run.status.code, 5) << "a failed round is a result";
  EXPECT_EQ(result()["cases"][0]["rounds"][1]["status"], "failed");

  const auto touched = fs::last_write_time(latest() / "probe/round1");
  run = assay({"run", "--resume", path, "--failed"});
  EXPECT_EQ(run.status.code, 0) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("1 failed round to run again"));
  EXPECT_EQ(fs::last_write_time(latest() / "probe/round1"), touched);
  const Json rounds = result()["cases"][0]["rounds"];
  for (const Json& round : rounds) EXPECT_EQ(round["status"], "completed");
  EXPECT_THAT(rounds[1]["findings"].dump(),
              HasSubstr("the round was begun 1 time before (failed: 1)"));
  EXPECT_TRUE(fs::exists(latest() / "probe/round2.interrupted-1"));
  EXPECT_THAT(read_file(latest() / "journal.jsonl"), HasSubstr("\"round_reopened\""));

  run = assay({"run", "--resume", path, "--failed"});
  EXPECT_EQ(run.status.code, 0) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("0 failed rounds to run again"));
}

// Reads what the terminal gets until it holds `text` behind `from`, or gives up.
bool read_until(int terminal, std::string& all, std::string_view text, std::size_t from) {
  return eventually([&] {
    pollfd ready{terminal, POLLIN, 0};
    std::array<char, 4096> part{};
    while (::poll(&ready, 1, 0) > 0) {
      const ssize_t n = ::read(terminal, part.data(), part.size());
      if (n <= 0) return true;
      all.append(part.data(), static_cast<std::size_t>(n));
    }
    return all.find(text, from) != std::string::npos;
  });
}

TEST_F(Output, TheLineOfARunFitsTheTerminalWhenItIsResized) {
  const std::string go = (folder_ / "go").string();
  const fs::path suite = script_suite("until test -e " + go + "; do sleep 0.1; done\n");
  winsize wide{30, 150, 0, 0};
  int terminal = -1;
  const pid_t pid = ::forkpty(&terminal, nullptr, nullptr, &wide);
  if (pid == 0) {
    ::setenv("TERM", "xterm", 1);
    ::unsetenv("NO_COLOR");
    if (::chdir(folder_.c_str()) == 0)
      ::execl((std::string(ASSAY_BIN_DIR) + "/assay").c_str(), "assay", "run", suite.c_str(),
              nullptr);
    ::_exit(127);
  }
  ASSERT_GT(pid, 0);
  std::string all;
  EXPECT_TRUE(read_until(terminal, all, "1 rank", 0)) << all;
  const std::size_t before = all.size();
  const winsize narrow{30, 40, 0, 0};
  ASSERT_EQ(::ioctl(terminal, TIOCSWINSZ, &narrow), 0);
  EXPECT_TRUE(read_until(terminal, all, "\x1b[J", before))
      << "the rows of the wide line are erased";
  const std::size_t after = all.find("\x1b[J", before) + 3;
  EXPECT_TRUE(read_until(terminal, all, "\r\x1b[K", after));
  const std::string line = all.substr(after, all.find('\r', after) - after);
  EXPECT_LT(code_points(line), 40U) << line;
  std::ofstream(go) << "yes";
  EXPECT_TRUE(read_until(terminal, all, "report.html", after)) << all;
  int status = 0;
  ::close(terminal);
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
}

// `assay top` of a run on a terminal of its own.
class TopOnATerminal {
 public:
  TopOnATerminal(const fs::path& folder, unsigned short columns) {
    winsize size{12, columns, 0, 0};
    pid_ = ::forkpty(&terminal_, nullptr, nullptr, &size);
    if (pid_ != 0) return;
    ::setenv("TERM", "xterm", 1);
    if (::chdir(folder.c_str()) == 0)
      ::execl((std::string(ASSAY_BIN_DIR) + "/assay").c_str(), "assay", "top", nullptr);
    ::_exit(127);
  }
  TopOnATerminal(const TopOnATerminal&) = delete;
  TopOnATerminal& operator=(const TopOnATerminal&) = delete;
  ~TopOnATerminal() {
    if (!ended_) send_signal(pid_, SIGKILL);
    ::close(terminal_);
    if (!ended_) ::waitpid(pid_, nullptr, 0);
  }

  bool shows(std::string_view text) { return read_until(terminal_, all_, text, 0); }
  void press(char key) const { EXPECT_EQ(::write(terminal_, &key, 1), 1); }
  void resize(std::size_t columns) const {
    const winsize size{12, static_cast<unsigned short>(columns), 0, 0};
    EXPECT_EQ(::ioctl(terminal_, TIOCSWINSZ, &size), 0);
  }
  void signal(int number) const { send_signal(pid_, number); }
  /// Its exit status, as of waitpid().
  std::optional<int> ended() {
    int status = 0;
    ended_ = eventually([&] {
      (void)read_until(terminal_, all_, "", 0);
      return ::waitpid(pid_, &status, WNOHANG) == pid_;
    });
    return ended_ ? std::optional(status) : std::nullopt;
  }
  /// Whether the terminal is as a shell left it.
  [[nodiscard]] bool cooked() const {
    termios now{};
    return ::tcgetattr(terminal_, &now) == 0 && (now.c_lflag & ICANON) != 0 &&
           (now.c_lflag & ECHO) != 0;
  }
  /// The columns of the widest line of a screen that is begun from now on.
  [[nodiscard]] std::size_t widest() {
    std::size_t from = all_.size();
    for (int screens = 0; screens < 2; ++screens) {  // the first may have been under way
      if (!read_until(terminal_, all_, "\x1b[H", from)) return 9999;
      from = all_.find("\x1b[H", from) + 3;
    }
    if (!read_until(terminal_, all_, "\x1b[J", from)) return 9999;
    std::size_t most = 0;
    const std::string screen = all_.substr(from, all_.find("\x1b[J", from) - from);
    for (const std::string_view line : split(screen, '\n'))
      most = std::max(most, code_points(printable(trim(line))));
    return most;
  }
  [[nodiscard]] const std::string& all() const { return all_; }

 private:
  pid_t pid_ = -1;
  int terminal_ = -1;
  bool ended_ = false;
  std::string all_;
};

TEST_F(Output, TopHasKeysAndFitsTheTerminal) {
  const fs::path suite = script_suite("while :; do sleep 0.1; done\n");
  const pid_t run = start({"run", suite.string(), "--set", "limits.time=1h"});
  ASSERT_TRUE(eventually([&] {
    return fs::exists(folder_ / "results/latest") && fs::exists(latest() / "live.json");
  }));
  {
    TopOnATerminal top(folder_, 120);
    EXPECT_TRUE(top.shows("MEMORY")) << top.all();
    EXPECT_TRUE(top.shows("limits.time")) << "what bounds a first round: " << top.all();
    EXPECT_TRUE(top.shows("q quit, h help"));
    EXPECT_FALSE(top.cooked());
    top.press('h');
    EXPECT_TRUE(top.shows("j k or arrows")) << top.all();
    for (const std::size_t columns : {40UL, 20UL}) {
      top.resize(columns);
      EXPECT_LE(top.widest(), columns) << top.all();
    }
    top.press('q');
    EXPECT_EQ(top.ended(), 0) << top.all();
    EXPECT_TRUE(top.cooked());
  }
  {
    TopOnATerminal top(folder_, 80);
    EXPECT_TRUE(top.shows("q quit"));
    top.signal(SIGTERM);
    const auto status = top.ended();
    ASSERT_TRUE(status);
    EXPECT_TRUE(WIFSIGNALED(*status) && WTERMSIG(*status) == SIGTERM);
    EXPECT_TRUE(top.cooked()) << "also when a signal ends it";
  }
  EXPECT_EQ(assay({"stop", "results/latest"}).status.code, 0);
  EXPECT_TRUE(wait(run, 10s));
}

}  // namespace assay::e2e
