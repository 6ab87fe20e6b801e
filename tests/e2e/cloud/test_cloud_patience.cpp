#include <csignal>

#include "e2e/cloud/cloud_run.h"
#include "send_signal.h"

namespace assay::cloud {
namespace {

using e2e::eventually;
using ::testing::AllOf;
using ::testing::HasSubstr;
using std::chrono_literals::operator""s;

TEST_F(CloudRun, GoesOnAfterTheNetworkWasLost) {
  const pid_t pid = start_until(suite(waits_), "started");
  fault({{"kind", "drop-reply"}, {"method", "GET"}, {"count", -1}});
  ASSERT_TRUE(eventually([&] { return said().find("got no answer") != std::string::npos; }, 60s));
  go();
  clear_faults();
  const auto status = wait(pid, 120s);
  ASSERT_TRUE(status) << said();
  EXPECT_EQ(status->code, 0) << said();
  EXPECT_EQ(log_of(0), "started\non\n");
}

TEST_F(CloudRun, ADrippingServiceDoesNotHoldItBeyondItsLimits) {
  write_key({{"stall", "1s"}, {"attempts", 1}});
  const pid_t pid = start_until(suite(waits_, "", "{time: 3s, stall: 60s}"), "started");
  fault({{"kind", "drip"}, {"method", "GET"}, {"delay_ms", 50}, {"count", -1}});
  const auto status = wait(pid, 120s);
  ASSERT_TRUE(status) << said();
  EXPECT_EQ(status->code, 3) << said();
  EXPECT_THAT(said(), AllOf(HasSubstr("which is too slow"), HasSubstr("goes on in the cloud"),
                            HasSubstr(emulator_->url().substr(7))));
}

TEST_F(CloudRun, EndsWhenItIsToldToWhileTheServiceDrips) {
  const pid_t pid = start_until(suite(waits_), "started");
  const std::uint64_t before = requests();  // later, the one that drips may be counted already
  fault({{"kind", "drip"}, {"method", "GET"}, {"delay_ms", 100}, {"count", -1}});
  ASSERT_TRUE(eventually([&] { return requests() > before; }, 30s));
  send_signal(pid, SIGTERM);
  const auto status = wait(pid, 60s);
  ASSERT_TRUE(status) << said();
  EXPECT_EQ(status->code, 5) << said();
  EXPECT_THAT(said(), HasSubstr("goes on in the cloud"));
}

TEST_F(CloudRun, EndsWhenItIsToldToWhileTheServiceDripsBeforeTheStart) {
  const std::string file = suite(kResults);
  fault({{"kind", "drip"}, {"method", "GET"}, {"delay_ms", 200}, {"count", -1}});
  const pid_t pid = start({"run", file});
  ASSERT_TRUE(eventually([&] { return requests() > 0; }, 30s)) << said();
  send_signal(pid, SIGTERM);
  ASSERT_TRUE(wait(pid, 60s)) << said();
}

TEST_F(CloudRun, AServiceThatDripsAtTheStartDoesNotHoldItBeyondItsLimits) {
  const std::string file = suite(kResults, "", "{time: 4s, stall: 60s}");
  fault({{"kind", "drip"}, {"method", "GET"}, {"delay_ms", 200}, {"count", -1}});
  for (const char* command : {"run", "check"}) {
    const CommandResult result = assay({command, file}, 30s);
    EXPECT_EQ(result.status.code, 3) << command << result.out << result.err;
    EXPECT_THAT(result.out + result.err,
                AllOf(HasSubstr(emulator_->url().substr(7) + " has not answered yet"),
                      HasSubstr(emulator_->url().substr(7) + ": GET /bucket-one/ got no answer"),
                      HasSubstr("not answered in 4.00 s")))
        << command;
  }
}

// Each is answered within its own limit.
TEST_F(CloudRun, RequestsThatDripAtTheStartDoNotAddUp) {
  const std::string file = suite(kResults, "    start: 2s");
  fault({{"kind", "drip"}, {"method", "GET"}, {"delay_ms", 5}, {"count", -1}});
  const CommandResult result = assay({"check", file}, 60s);
  EXPECT_EQ(result.status.code, 3) << result.out << result.err;
  EXPECT_THAT(result.out + result.err,
              AllOf(HasSubstr("within 2.00 s (cluster.modelarts.start)"), HasSubstr("looking at "),
                    HasSubstr(emulator_->url().substr(7)), HasSubstr("--resume")));
}

TEST_F(CloudRun, UploadsThatDripDoNotAddUp) {
  write_key({{"parallel", 1}, {"attempts", 1}});
  const std::string file = suite(kResults, "    start: 3s");
  for (int i = 0; i < 11; ++i) write(fmt::format("code/{}.txt", i), "x");
  // One alone is done within a second or two.
  fault({{"kind", "drip"}, {"method", "PUT"}, {"delay_ms", 5}, {"count", -1}});
  const std::int64_t begin = mono_now_ns();
  const CommandResult result = assay({"run", file}, 120s);
  EXPECT_EQ(result.status.code, 3) << result.out << result.err;
  EXPECT_LT(mono_now_ns() - begin, 40'000'000'000) << "6 s are allowed";
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("uploading the code did not work within 6."),
                    HasSubstr("(cluster.modelarts.start: 3.00 s, and what 12 files of "),
                    HasSubstr("PUT /bucket-one/"), HasSubstr("upload less")));
  clear_faults();
  const CommandResult resumed = assay({"run", "--resume", "results/latest"});
  EXPECT_EQ(resumed.status.code, 0) << resumed.out << resumed.err;
}

TEST_F(CloudRun, AServiceThatStaysBusyAtTheStartDoesNotHoldItBeyondIt) {
  const std::string file = suite(kResults, "    start: 3s");
  fault({{"kind", "status"}, {"status", 503}, {"count", -1}});
  const CommandResult run = assay({"run", file}, 120s);
  EXPECT_EQ(run.status.code, 3) << run.out << run.err;
  EXPECT_THAT(run.err, AllOf(HasSubstr("looking at the bucket did not work within 3.00 s"),
                             HasSubstr("503"), HasSubstr("cluster.modelarts.start")));
}

TEST_F(CloudRun, WaitsAtItsStartForAServiceThatIsBusy) {
  const std::string file = suite(kResults);
  fault({{"kind", "status"}, {"status", 503}, {"count", 12}});
  const CommandResult run = assay({"run", file}, 120s);
  EXPECT_EQ(run.status.code, 0) << run.out << run.err;
  EXPECT_THAT(run.out + run.err, HasSubstr("looking at the bucket"));
}

}  // namespace
}  // namespace assay::cloud
