#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/error.h"
#include "core/files.h"
#include "error_of.h"
#include "rendezvous/device_addresses.h"
#include "temporary_folder.h"

namespace assay::rendezvous {
namespace {

using assay::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(HccnConf, GivesTheAddressOfEveryDevice) {
  const auto addresses = parse_hccn_conf(
      "# RoCE\naddress_0=192.168.10.1\nnetmask_0=255.255.255.0\nnetdetect_0=192.168.10.9\n"
      "address_1 = 192.168.20.1\r\ngateway_1=192.168.20.254\nsend_arp_status_0=1\n",
      "hccn.conf");
  EXPECT_THAT(device_list(addresses, 2, "x"), ElementsAre("192.168.10.1", "192.168.20.1"));
  EXPECT_THAT(device_list(addresses, 0, "x"), ElementsAre("192.168.10.1", "192.168.20.1"));
}

TEST(HccnConf, ErrorsNameTheLine) {
  const auto error = [](const char* text) {
    return error_of([&] { return parse_hccn_conf(text, "hccn.conf"); });
  };
  EXPECT_THAT(error("address_0=192.168.10.1\naddress_1=192.168.20\n"),
              HasSubstr("hccn.conf:2: the address of device 1 is not an IP address: '192.168.20'"));
  EXPECT_THAT(error("address_x=192.168.10.1\n"), HasSubstr("hccn.conf:1: 'address_x' does not"));
  EXPECT_THAT(error("address_0\n"), HasSubstr("hccn.conf:1: the setting has no value"));
  EXPECT_THAT(error("address_0=10.0.0.1\naddress_0=10.0.0.2\n"),
              HasSubstr("hccn.conf:2: device 0 has two addresses, 10.0.0.1 and 10.0.0.2"));
  EXPECT_THAT(error("netmask_0=255.255.255.0\n"), HasSubstr("hccn.conf: there is no device"));
}

TEST(HccnConf, WithoutADeviceIsNamed) {
  EXPECT_THAT(error_of([] {
                return device_list({{0, "10.0.0.1"}, {2, "10.0.0.3"}}, 3, "f");
              }),
              HasSubstr("f: there is no address of device 1"));
}

TEST(HccnTool, ShowsTheAddress) {
  EXPECT_EQ(parse_hccn_tool("ipaddr:192.168.10.1\nnetmask:255.255.255.0\n", "x"), "192.168.10.1");
  EXPECT_EQ(parse_hccn_tool(" ipaddr : 10.0.0.1 \r\n", "x"), "10.0.0.1");
}

TEST(HccnTool, WithoutAnAddressIsQuoted) {
  EXPECT_THAT(error_of([] { return parse_hccn_tool("Cmd execute failed!\n", "hccn_tool -i 3"); }),
              HasSubstr("hccn_tool -i 3: it shows no device IP: 'Cmd execute failed!'"));
}

class FakeHccnTool : public ::testing::Test {
 protected:
  std::string script(const std::string& body) {
    const auto path = folder_.path() / "hccn_tool";
    write_file_atomic(path, "#!/bin/sh\n" + body);
    ::chmod(path.c_str(), 0755);
    return path.string();
  }
  assay::testing::TemporaryFolder folder_;
};

TEST_F(FakeHccnTool, IsAskedForEveryDevice) {
  const std::string tool =
      script("[ \"$1 $3 $4\" = '-i -ip -g' ] && echo \"ipaddr:192.168.10.$2\"\n");
  EXPECT_THAT(query_hccn_tool(3, tool),
              ElementsAre("192.168.10.0", "192.168.10.1", "192.168.10.2"));
}

TEST_F(FakeHccnTool, ThatHangsIsEndedInTime) {
  const std::string tool = script("sleep 60\n");
  EXPECT_THAT(error_of([&] { return query_hccn_tool(1, tool, std::chrono::milliseconds(300)); }),
              HasSubstr("no answer within"));
}

TEST_F(FakeHccnTool, ThatFailsOrIsMissingIsNamed) {
  const std::string tool = script("echo broken >&2; exit 3\n");
  EXPECT_THAT(error_of([&] { return query_hccn_tool(1, tool); }),
              HasSubstr("failed with exit 3: broken"));
  EXPECT_THAT(error_of([] { return query_hccn_tool(1, "/nowhere/hccn_tool"); }),
              HasSubstr("the program is not there"));
}

}  // namespace
}  // namespace assay::rendezvous
