// Every rule of rank tables: broken on purpose, and named with its place.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "rendezvous/rank_table.h"

namespace assay::rendezvous {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Json table(const std::string& form) {
  const std::string file = form == "lab" ? "/tests/fixtures/rendezvous/hccl-2x8-lab.json"
                                         : "/tests/golden/rendezvous/ranktable-" + form + ".json";
  return parse_json(read_file(ASSAY_SOURCE_DIR + file), file);
}

/// "path: message" of everything that is not a note.
std::vector<std::string> violations(const Json& json, const CheckOptions& options = {}) {
  std::vector<std::string> out;
  for (const Finding& finding : read_rank_table(json, options).findings)
    if (finding.severity != Finding::Severity::note) out.push_back(to_string(finding));
  return out;
}

/// The violations after the value at a JSON pointer was replaced (or removed, without a value).
std::vector<std::string> after(const std::string& form, const std::string& pointer,
                               std::optional<Json> value) {
  Json json = table(form);
  const Json::json_pointer at(pointer);
  if (value)
    json[at] = *value;
  else
    json[at.parent_pointer()].erase(at.back());
  return violations(json);
}

const std::string kDevice = "/server_list/1/device/3/";

TEST(RankTableRules, HoldForTheValidTables) {
  for (const char* form : {"1.0", "1.2", "cloud", "lab"}) {
    EXPECT_THAT(violations(table(form)), IsEmpty()) << form;
  }
}

TEST(RankTableRules, RanksAreUnique) {
  EXPECT_THAT(after("1.0", kDevice + "rank_id", "2"),
              ElementsAre(HasSubstr("server_list[1].device[3].rank_id: rank 2 is also at "
                                    "server_list[0].device[2].rank_id"),
                          HasSubstr("no device has rank 11")));
}

TEST(RankTableRules, RanksAreConsecutiveFromZero) {
  EXPECT_THAT(after("1.0", kDevice + "rank_id", "16"),
              ElementsAre(HasSubstr("server_list[1].device[3].rank_id: is 16, but 16 devices have "
                                    "the ranks 0 to 15"),
                          HasSubstr("no device has rank 11")));
}

TEST(RankTableRules, RanksAreDecimalNumbers) {
  for (const char* bad : {"-1", "1.5", "x", "", "0x1", " 1", "99999999999"}) {
    EXPECT_THAT(after("1.0", kDevice + "rank_id", bad),
                ElementsAre(HasSubstr("server_list[1].device[3].rank_id: must be a whole number")))
        << bad;
  }
}

TEST(RankTableRules, ARankIsNeeded) {
  EXPECT_THAT(after("1.0", kDevice + "rank_id", std::nullopt),
              ElementsAre("server_list[1].device[3].rank_id: is missing"));
}

TEST(RankTableRules, NumbersAreText) {
  const auto found = after("1.0", kDevice + "device_id", 3);
  EXPECT_THAT(found, ElementsAre(HasSubstr("device_id: is the number 3, HCCL wants text")));
  Json json = table("1.0");
  json[Json::json_pointer(kDevice + "device_id")] = 3;
  EXPECT_TRUE(read_rank_table(json).readable());  // what is meant is clear
  EXPECT_FALSE(read_rank_table(json).valid());
}

TEST(RankTableRules, ServerCountIsThatOfTheList) {
  EXPECT_THAT(after("1.0", "/server_count", "3"),
              ElementsAre(HasSubstr("server_count: is 3, but there are 2 servers")));
  EXPECT_THAT(after("1.0", "/server_count", std::nullopt), IsEmpty());  // it is optional
}

TEST(RankTableRules, ServersAreUniqueAndNamed) {
  EXPECT_THAT(after("1.0", "/server_list/1/server_id", "192.168.3.6"),
              ElementsAre(HasSubstr(
                  "server_list[1].server_id: \"192.168.3.6\" is also that of server_list[0]")));
  EXPECT_THAT(after("1.0", "/server_list/1/server_id", ""),
              ElementsAre("server_list[1].server_id: is empty"));
  EXPECT_THAT(after("1.0", "/server_list/1/server_id", std::string(64, 'x')),
              ElementsAre(HasSubstr("has 64 characters, at most 63 are allowed")));
}

TEST(RankTableRules, DeviceIdsAreInRange) {
  EXPECT_THAT(after("1.0", kDevice + "device_id", "8"),
              ElementsAre(HasSubstr("server_list[1].device[3].device_id: is 8, it must be from 0 "
                                    "to 7 (for servers with more devices: --max-devices N)")));
  Json json = table("1.0");
  json[Json::json_pointer(kDevice + "device_id")] = "8";
  CheckOptions sixteen;
  sixteen.max_devices = 16;
  EXPECT_THAT(violations(json, sixteen), IsEmpty());
}

TEST(RankTableRules, DeviceIdsOfAServerAreUnique) {
  EXPECT_THAT(after("1.0", kDevice + "device_id", "2"),
              ElementsAre(HasSubstr("device 2 of the server \"192.168.3.2\" is also at "
                                    "server_list[1].device[2].device_id")));
}

TEST(RankTableRules, DeviceIpsAreAddresses) {
  for (const char* bad : {"192.168.300.1", "192.168.1", "host", "192.168.010.1", "1.2.3.4,"}) {
    EXPECT_THAT(after("1.0", kDevice + "device_ip", bad),
                ::testing::Contains(HasSubstr("server_list[1].device[3].device_ip: ")))
        << bad;
  }
  EXPECT_THAT(after("1.0", kDevice + "device_ip", "fe80::1"), IsEmpty());
}

TEST(RankTableRules, DeviceIpsAreUnique) {
  EXPECT_THAT(after("1.0", kDevice + "device_ip", "192.168.10.1"),
              ElementsAre(HasSubstr("192.168.10.1 is also that of "
                                    "server_list[0].device[0].device_ip")));
}

TEST(RankTableRules, EveryDeviceHasAsManyIps) {
  EXPECT_THAT(after("1.0", kDevice + "device_ip", "10.0.0.1,10.0.0.2"),
              ElementsAre(HasSubstr("has 2 IPs, the first device has 1")));
}

TEST(RankTableRules, DeviceIpsAreNeededWithSeveralServersUnlessTheHostHasOne) {
  EXPECT_THAT(after("1.0", kDevice + "device_ip", std::nullopt),
              ElementsAre(HasSubstr("device_ip: is missing: with more than one server")));
  Json json = table("1.0");
  for (Json& server : json["server_list"]) {
    server["host_ip"] = server["server_id"];
    for (Json& device : server["device"]) device.erase("device_ip");
  }
  EXPECT_THAT(violations(json), IsEmpty());
}

TEST(RankTableRules, ServersHaveAsManyDevices) {
  Json json = table("1.0");
  json["server_list"][1]["device"].erase(7);
  EXPECT_THAT(violations(json),
              ElementsAre(HasSubstr("server_list[1]: the server \"192.168.3.2\" has 7 devices, "
                                    "\"192.168.3.6\" has 8")));
}

TEST(RankTableRules, AServerHasDevices) {
  EXPECT_THAT(after("1.0", "/server_list/1/device", Json::array()),
              ElementsAre("server_list[1].device: has no devices",
                          HasSubstr("has 0 devices, \"192.168.3.6\" has 8")));
}

TEST(RankTableRules, StatusIsCompletedOrInitializing) {
  EXPECT_THAT(after("1.0", "/status", "done"),
              ElementsAre(HasSubstr("status: must be completed or initializing, got \"done\"")));
  EXPECT_THAT(after("1.0", "/status", std::nullopt), ElementsAre("status: is missing"));
}

TEST(RankTableRules, OtherVersionsAreNamed) {
  EXPECT_THAT(after("1.0", "/version", "1.1"), ElementsAre(HasSubstr("heterogeneous")));
  EXPECT_THAT(after("1.0", "/version", "2.0"), ElementsAre(HasSubstr("\"2.0\" is not known")));
  EXPECT_THAT(after("1.0", "/version", std::nullopt),
              ElementsAre(HasSubstr("add \"version\": \"1.0\"")));
}

TEST(RankTableRules, PortsAndProtocolsAreChecked) {
  EXPECT_THAT(after("1.0", kDevice + "device_port", "65536"),
              ElementsAre(HasSubstr("device_port: must be a whole number from 0 to 65535")));
  EXPECT_THAT(after("1.0", kDevice + "host_port", "0"),
              ElementsAre(HasSubstr("host_port: must be a port from 1")));
  EXPECT_THAT(after("1.0", kDevice + "net_protocol", "udp"),
              ElementsAre(HasSubstr("net_protocol: must be rdma or tcp")));
  EXPECT_THAT(after("1.0", kDevice + "backup_device_ip", "x"),
              ElementsAre(HasSubstr("backup_device_ip: \"x\" is not an IP")));
  EXPECT_THAT(after("1.0", "/server_list/0/host_ip", "x"),
              ElementsAre(HasSubstr("server_list[0].host_ip: \"x\" is not an IP")));
}

TEST(RankTableRules, EveryServerIsInOneSuperPod) {
  EXPECT_THAT(after("1.2", "/super_pod_list/1/server_list/0/server_id", "192.168.3.6"),
              ElementsAre(HasSubstr("super_pod_list[1].server_list[0].server_id: the server "
                                    "\"192.168.3.6\" is in super-pod \"pod0\" already"),
                          HasSubstr("server_list[1]: the server \"192.168.3.2\" is in no")));
  EXPECT_THAT(after("1.2", "/super_pod_list/1/server_list/0/server_id", "nobody"),
              ElementsAre(HasSubstr("\"nobody\" is not in the table's server_list"),
                          HasSubstr("is in no super-pod")));
  EXPECT_THAT(after("1.2", "/super_pod_list", std::nullopt),
              ::testing::Contains("super_pod_list: is missing"));
}

TEST(RankTableRules, SuperDeviceIdsAreUniqueInTheirPod) {
  EXPECT_THAT(after("1.2", kDevice + "super_device_id", "101"),
              ElementsAre(HasSubstr("server_list[1].device[3].super_device_id: 101 is also that "
                                    "of server_list[1].device[1].super_device_id")));
  // 0 … 7 are those of the other super-pod.
  EXPECT_THAT(after("1.2", kDevice + "super_device_id", "1"), IsEmpty());
  EXPECT_THAT(after("1.2", kDevice + "super_device_id", std::nullopt),
              ElementsAre("server_list[1].device[3].super_device_id: is missing"));
}

TEST(RankTableRules, CountsOfTheCloudFormFit) {
  EXPECT_THAT(after("cloud", "/group_count", "2"),
              ElementsAre(HasSubstr("group_count: is 2, but there are 1 groups")));
  EXPECT_THAT(after("cloud", "/group_list/0/instance_count", "16"),
              ElementsAre(HasSubstr("group_list[0].instance_count: is 16, but there are 2")));
  EXPECT_THAT(after("cloud", "/group_list/0/device_count", "8"),
              ElementsAre(HasSubstr("group_list[0].device_count: is 8, but there are 16")));
}

TEST(RankTableRules, PodNamesAreUnique) {
  EXPECT_THAT(after("cloud", "/group_list/0/instance_list/1/pod_name", "job-worker-0"),
              ElementsAre(HasSubstr("instance_list[1].pod_name: \"job-worker-0\" is there twice")));
}

TEST(RankTableRules, CloudDevicesNeedIpsWithSeveralInstances) {
  EXPECT_THAT(
      after("cloud", "/group_list/0/instance_list/0/devices/4/device_ip", std::nullopt),
      ElementsAre(HasSubstr("group_list[0].instance_list[0].devices[4].device_ip: is missing")));
}

TEST(RankTableRules, CountsOfTheLabFormFit) {
  EXPECT_THAT(after("lab", "/group_list/0/device_num", "8"),
              ElementsAre(HasSubstr("group_list[0].device_num: is 8, but there are 16")));
  EXPECT_THAT(after("lab", "/group_list/0/server_num", "1"),
              ElementsAre(HasSubstr("group_list[0].server_num: is 1, but there are 2 servers")));
  EXPECT_THAT(after("lab", "/para_plane_nic_num", "4"),
              ElementsAre(HasSubstr("para_plane_nic_num: is 4, but there are 8 names")));
}

TEST(RankTableRules, TheNicNumberMayBeANumber) {
  EXPECT_THAT(after("lab", "/para_plane_nic_num", 8), IsEmpty());
}

TEST(RankTableRules, LabNicsAreThoseOfTheDevices) {
  EXPECT_THAT(after("lab", "/para_plane_nic_location", "host"),
              ElementsAre(HasSubstr("para_plane_nic_location: must be \"device\"")));
}

TEST(RankTableRules, ALabInstanceIsOneDevice) {
  const Json two = Json::array({{{"device_id", "0"}, {"device_ip", "10.0.0.1"}},
                                {{"device_id", "1"}, {"device_ip", "10.0.0.2"}}});
  EXPECT_THAT(after("lab", "/group_list/0/instance_list/0/devices", two),
              ElementsAre(HasSubstr("instance_list[0].devices: has 2 devices, it must have 1")));
}

TEST(RankTableRules, LabDevicesAreSpreadEvenly) {
  EXPECT_THAT(after("lab", "/group_list/0/instance_list/8/server_id", "192.168.3.6"),
              ::testing::Contains(HasSubstr("has 7 devices, \"192.168.3.6\" has 9")));
}

TEST(RankTableRules, WrongTypesAreFindingsNotCrashes) {
  EXPECT_THAT(violations(Json::array()), ElementsAre("a rank table is a JSON object"));
  EXPECT_THAT(after("1.0", "/server_list", "none"),
              ElementsAre(HasSubstr("server_list: must be a list")));
  EXPECT_THAT(after("1.0", "/server_list/1", 7),
              ::testing::Contains(HasSubstr("server_list[1]: must be an object, got 7")));
  EXPECT_THAT(after("1.0", kDevice + "device_ip", Json::object()),
              ::testing::Contains(HasSubstr("device_ip: must be text, got an object")));
}

TEST(RankTableNotes, NameUnknownKeysAndOddHabits) {
  Json json = table("1.0");
  json["server_list"][0]["sever_id"] = "x";
  const TableReading reading = read_rank_table(json);
  EXPECT_TRUE(reading.valid());
  ASSERT_EQ(reading.findings.size(), 1u);
  EXPECT_THAT(to_string(reading.findings[0]),
              HasSubstr("server_list[0].sever_id: is not a key that HCCL knows here (did you mean "
                        "'server_id'?)"));
}

TEST(RankTableNotes, WarnOfDevicesInBothMeshes) {
  RankTable straddling = make_rank_table({{"s", {}}}, 2);
  straddling.servers[0].devices[1].id = 4;
  const TableReading reading = read_rank_table(render_rank_table(straddling, TableForm::v1_0));
  EXPECT_TRUE(reading.valid());
  ASSERT_EQ(reading.findings.size(), 1u);
  EXPECT_THAT(reading.findings[0].message, HasSubstr("separate meshes"));
}

}  // namespace
}  // namespace assay::rendezvous
