// The platform on the embedded engine: real jobs, and servers that are killed.

#include <csignal>
#include <cstdlib>
#include <thread>

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/files.h"
#include "core/time.h"
#include "e2e/harness.h"
#include "engine/embedded_engine.h"
#include "needs.h"
#include "platform/platform.h"
#include "send_signal.h"

namespace assay::e2e {
namespace {

using jobs::EventKind;
using jobs::State;
using ::testing::HasSubstr;

class PlatformProcess : public AssayTest {
 protected:
  [[nodiscard]] std::unique_ptr<platform::Platform> serve() const {
    engine::EmbeddedOptions options;
    options.nodes = {{.name = "node1", .devices = 2}};
    options.bindir = ASSAY_BIN_DIR;
    auto made = std::make_unique<platform::Platform>(
        platform::Options{.data = folder_ / "data"},
        std::make_unique<engine::EmbeddedEngine>(std::move(options)));
    made->start();
    return made;
  }
  [[nodiscard]] static jobs::NewJob job(const std::string& command) {
    jobs::NewJob job;
    job.owner = "alice";
    job.team = "vision";
    job.submission.name = "train";
    job.submission.command = command;
    return job;
  }
  [[nodiscard]] static bool becomes(platform::Platform& platform, jobs::JobId id, State state) {
    return eventually([&] { return platform.find(id)->job.life.state == state; },
                      std::chrono::seconds(60));
  }
  /// A command that writes a line and goes on until there is the file "go".
  [[nodiscard]] std::string until_told() const {
    return "echo >> " + (folder_ / "ran").string() + "; while [ ! -e " + (folder_ / "go").string() +
           " ]; do sleep 0.05; done";
  }
  [[nodiscard]] std::size_t runs() const {
    const std::string text = read_file_or_empty(folder_ / "ran");
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }
};

TEST_F(PlatformProcess, AJobIsARunWithItsVerdictAndReport) {
  const auto platform = serve();
  const jobs::JobId id = platform->submit(job("date +%s%N")).front();
  const std::int64_t submitted_ns = platform->find(id)->job.life.submitted_ns;
  ASSERT_TRUE(becomes(*platform, id, State::finished));
  const fs::path run = platform->run_of(id);
  EXPECT_TRUE(fs::exists(run / "report.html"));
  EXPECT_NE(platform->find(id)->job.life.verdict, jobs::Verdict::none);
  std::string printed;
  for (const auto& entry : fs::recursive_directory_iterator(run))
    if (entry.path().filename() == "rank0.out.log") printed = read_file(entry.path());
  const std::int64_t exec_ns = std::atoll(printed.c_str());
  ASSERT_GT(exec_ns, submitted_ns);
  RecordProperty("submit_to_exec_ms", static_cast<int>((exec_ns - submitted_ns) / 1'000'000));
}

TEST_F(PlatformProcess, ASuiteThatIsWrongIsRefusedWithItsPlace) {
  const auto platform = serve();
  jobs::NewJob wrong = job("");
  wrong.submission.suite = "name: a\ncases:\n  - {name: main, modle: m}\n";
  try {
    (void)platform->submit(wrong);
    FAIL() << "it was taken";
  } catch (const platform::Refused& refused) {
    ASSERT_EQ(refused.problems().size(), 1U);
    EXPECT_EQ(refused.problems().front().path, "suite");
    EXPECT_THAT(refused.problems().front().message, HasSubstr("suite.yaml:3:"));
  }
}

TEST_F(PlatformProcess, JobsOutliveAServerThatIsKilled) {
  const pid_t server = ::fork();
  ASSERT_GE(server, 0);
  if (server == 0) {
    const auto platform = serve();
    (void)platform->submit(job(until_told()));
    for (;;) ::pause();
  }
  const bool ran = eventually([&] { return runs() == 1; }, std::chrono::seconds(60));
  send_signal(server, SIGKILL);
  ::waitpid(server, nullptr, 0);
  ASSERT_TRUE(ran);
  const auto platform = serve();
  ASSERT_TRUE(becomes(*platform, 1, State::running));
  EXPECT_EQ(platform->nodes().front().uses.front().indices, std::vector<int>{0});
  write("go", "");
  EXPECT_TRUE(becomes(*platform, 1, State::finished));
  EXPECT_EQ(runs(), 1U);
  EXPECT_EQ(platform->find(1)->job.life.attempt, 1);
}

// At whatever moment: in the end the job was done, and never twice at a time.
TEST_F(PlatformProcess, NothingIsLostOrRunTwiceWhateverTheMomentOfTheKill) {
  write("go", "");
  for (int i = 0; i < 10; ++i) {
    const fs::path ran = folder_ / ("ran" + std::to_string(i));
    const fs::path busy = folder_ / "busy";
    const pid_t server = ::fork();
    ASSERT_GE(server, 0);
    if (server == 0) {
      const auto platform = serve();
      (void)platform->submit(job("mkdir " + busy.string() + " || exit 9; echo >> " + ran.string() +
                                 "; sleep 0.1; rmdir " + busy.string()));
      for (;;) ::pause();
    }
    ::usleep(static_cast<useconds_t>(i * i) * 6'000);
    send_signal(server, SIGKILL);
    ::waitpid(server, nullptr, 0);
    const auto platform = serve();
    const std::int64_t submitted = platform->list({}).total;
    for (jobs::JobId id = 1; id <= submitted; ++id)
      ASSERT_TRUE(becomes(*platform, id, State::finished))
          << to_text(platform->find(id)->job.life.state) << " "
          << platform->find(id)->job.life.message;
    const std::string text = read_file_or_empty(ran);
    EXPECT_LE(text.size(), 1U) << "after " << i;
  }
}

TEST_F(PlatformProcess, TwoJobsOfOneProcessorEachDoNotShareIt) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << needs::system("two processors");
  const auto platform = serve();
  const auto show = [&](const char* file) {
    return job("grep Cpus_allowed_list /proc/self/status > " + (folder_ / file).string() + "; " +
               until_told());
  };
  const jobs::JobId first = platform->submit(show("first")).front();
  const jobs::JobId second = platform->submit(show("second")).front();
  ASSERT_TRUE(eventually([&] { return runs() == 2; }, std::chrono::seconds(60)));
  write("go", "");
  EXPECT_TRUE(becomes(*platform, first, State::finished));
  EXPECT_TRUE(becomes(*platform, second, State::finished));
  const std::string of_first = read_file(folder_ / "first");
  EXPECT_NE(of_first, read_file(folder_ / "second"));
  EXPECT_EQ(of_first.find_first_of(",-"), std::string::npos) << of_first;
}

TEST_F(PlatformProcess, KillsAndPausesWhatRuns) {
  const auto platform = serve();
  const jobs::JobId id = platform->submit(job(until_told())).front();
  ASSERT_TRUE(eventually([&] { return runs() == 1; }, std::chrono::seconds(60)));
  (void)platform->ask(id, EventKind::pause_asked, "alice");
  ASSERT_TRUE(becomes(*platform, id, State::paused));
  (void)platform->ask(id, EventKind::resume_asked, "alice");
  ASSERT_TRUE(eventually([&] { return runs() == 2; }, std::chrono::seconds(60)));
  (void)platform->ask(id, EventKind::kill_asked, "alice");
  ASSERT_TRUE(becomes(*platform, id, State::killed));
  EXPECT_EQ(platform->find(id)->job.life.attempt, 2);
}

}  // namespace
}  // namespace assay::e2e
