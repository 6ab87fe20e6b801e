#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/time.h"
#include "probe/device_query.h"

namespace assay::probe {
namespace {

const DeviceQuery kNvidia{
    {"nvidia-smi", "-L"}, R"(GPU (\d+): (.+) \(UUID: ([^)]+)\))", {"index", "name", "uuid"}};

TEST(Devices, AreReadFromTheToolsOwnListing) {
  const Json devices = parse_devices(
      "GPU 0: NVIDIA H200 (UUID: GPU-1a)\n"
      "  MIG 1g.18gb     Device  0: (UUID: MIG-77)\n"
      "GPU 1: NVIDIA H200 (UUID: GPU-2b)\n",
      kNvidia);
  EXPECT_EQ(devices, Json::parse(R"([{"index": "0", "name": "NVIDIA H200", "uuid": "GPU-1a"},
                                     {"index": "1", "name": "NVIDIA H200", "uuid": "GPU-2b"}])"));
}

TEST(Devices, AreNoneWhenTheToolIsAbsentFailsOrHangs) {
  using namespace std::chrono_literals;
  DeviceQuery query = kNvidia;
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"no-such-tool"}, {"false"}, {"sleep", "60"}, {}}) {
    query.command = command;
    EXPECT_EQ(list_devices(query, 200ms), Json::array());
  }
}

TEST(Devices, AQuerySaysWhyThereAreNone) {
  using namespace std::chrono_literals;
  const auto of = [](const std::vector<std::string>& command) {
    DeviceQuery query = kNvidia;
    query.command = command;
    return query_devices(query, 5s);
  };
  EXPECT_FALSE(of({"no-such-tool"}).installed);
  EXPECT_EQ(of({"no-such-tool"}).problem, "no-such-tool is not installed");
  const DeviceListing broken = of({"sh", "-c", "echo 'cannot talk to the driver' >&2; exit 9"});
  EXPECT_TRUE(broken.installed);
  EXPECT_THAT(broken.problem, ::testing::HasSubstr("9: cannot talk to the driver"));
  EXPECT_EQ(of({"echo", "No devices were found"}).problem, "echo lists no device");
  const DeviceListing good = of({"echo", "GPU 0: NVIDIA H200 (UUID: GPU-1a)"});
  EXPECT_EQ(good.problem, "");
  EXPECT_EQ(good.devices.size(), 1U);
  DeviceQuery slow = kNvidia;
  slow.command = {"sleep", "60"};
  EXPECT_THAT(query_devices(slow, 200ms).problem, ::testing::HasSubstr("did not answer"));
}

TEST(Devices, ANonsensicalQueryGivesNoneInsteadOfAnError) {
  EXPECT_EQ(parse_devices("GPU 0: x", {{"x"}, "([", {"index"}}), Json::array());
  const DeviceQuery query = device_query_from_json(Json::parse(R"({"command": 3, "fields": [1]})"));
  EXPECT_TRUE(query.command.empty());
  EXPECT_TRUE(query.fields.empty());
}

TEST(Devices, AQueryTravelsAsJson) {
  const DeviceQuery back = device_query_from_json(to_json(kNvidia));
  EXPECT_EQ(back.command, kNvidia.command);
  EXPECT_EQ(back.pattern, kNvidia.pattern);
  EXPECT_EQ(back.fields, kNvidia.fields);
}

}  // namespace
}  // namespace assay::probe
