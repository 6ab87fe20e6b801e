#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"
#include "telemetry/ipmi.h"

namespace assay::telemetry {
namespace {

using testing::HasSubstr;

constexpr const char* kDcmi =
    "\n    Instantaneous power reading:                   226 Watts\n"
    "    Minimum during sampling period:                  3 Watts\n"
    "    Power reading state is:                   activated\n\n";

TEST(Ipmi, ReadsTheDcmiPower) {
  EXPECT_EQ(parse_dcmi_power(kDcmi), 226);
  EXPECT_EQ(parse_dcmi_power("    Instantaneous power reading:    0 Watts\n"), std::nullopt);
  EXPECT_EQ(parse_dcmi_power("DCMI request failed\n"), std::nullopt);
}

TEST(Ipmi, TakesTheLargestSensorInWatts) {
  EXPECT_EQ(parse_sdr_power("CPU Temp  | 45 degrees C | ok\nPSU1 Power | 120 Watts | ok\n"
                            "Total Power | 240.5 Watts | ok\nFan Power | no reading | ns\n"),
            240.5);
  EXPECT_EQ(parse_sdr_power("CPU Temp | 45 degrees C | ok\n"), std::nullopt);
}

struct Observer {
  asio::io_context loop;
  std::vector<double> watts;
  std::vector<Gap> gaps;

  Ipmi make(const TemporaryFolder& root) {
    RecorderConfig config;
    config.root = root.path();
    return Ipmi(loop, config,
                {[this](double w, const Instant&) { watts.push_back(w); },
                 [this](const Gap& gap) { gaps.push_back(gap); }});
  }
};

TEST(Ipmi, FallsBackToTheSensorListWhenThereIsNoDcmi) {
  const TemporaryFolder root;
  root.write("dev/ipmi0", "");
  root.write_program("usr/bin/ipmitool",
                     "#!/bin/sh\n[ $1 = sdr ] && echo 'Total Power | 240 Watts | ok' || exit 1\n");
  Observer run;
  Ipmi ipmi = run.make(root);
  ipmi.tick(1);
  EXPECT_TRUE(run_until(run.loop, [&] {
    ipmi.tick(2);
    return !run.watts.empty();
  }));
  EXPECT_EQ(run.watts.front(), 240);
  EXPECT_TRUE(run.gaps.empty());
}

TEST(Ipmi, AToolThatKeepsFailingIsGivenUpOnce) {
  const TemporaryFolder root;
  root.write("dev/ipmi0", "");
  root.write_program("usr/bin/ipmitool", "#!/bin/sh\necho 'no BMC' >&2\nexit 1\n");
  Observer run;
  Ipmi ipmi = run.make(root);
  std::int64_t time = 1;
  EXPECT_TRUE(run_until(run.loop, [&] {
    ipmi.tick(time += 11'000'000'000);
    return !run.gaps.empty();
  }));
  EXPECT_THAT(run.gaps.front().reason, HasSubstr("no BMC"));
  ipmi.tick(time += 11'000'000'000);
  EXPECT_TRUE(ipmi.pids().empty());
}

TEST(Ipmi, NothingIsRunWithoutTheDevice) {
  const TemporaryFolder root;
  root.write_program("usr/bin/ipmitool", "#!/bin/sh\necho\n");
  Observer run;
  Ipmi ipmi = run.make(root);
  ipmi.tick(1);
  EXPECT_TRUE(ipmi.pids().empty());
  EXPECT_TRUE(run.gaps.empty());
}

}  // namespace
}  // namespace assay::telemetry
