#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "error_of.h"
#include "golden_text.h"
#include "rendezvous/rank_table.h"
#include "temporary_folder.h"

namespace assay::rendezvous {
namespace {

using assay::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kSource = ASSAY_SOURCE_DIR;
/// The two-server, 16-NPU table of the Apulis platform's training guide.
const std::string kGuide = kSource + "/tests/fixtures/rendezvous/hccl-2x8-lab.json";

RankTable guide_table() {
  TableReading reading = load_rank_table(kGuide);
  EXPECT_TRUE(reading.valid());
  return reading.table;
}

/// The guide's devices, from its address plan: device n is in 192.168.{10,20,30,40}.x, n and n + 4
/// share a subnet.
std::vector<ServerSpec> guide_servers() {
  std::vector<ServerSpec> servers{{"192.168.3.6", {}}, {"192.168.3.2", {}}};
  for (int server = 0; server < 2; ++server)
    for (int device = 0; device < 8; ++device)
      servers[static_cast<std::size_t>(server)].device_ips.push_back(
          "192.168." + std::to_string(10 * (device % 4 + 1)) + "." +
          std::to_string(2 * server + device / 4 + 1));
  return servers;
}

TEST(RankTable, OfTwoServersIsTheGuidesFieldByField) {
  const Json expected = parse_json(read_file(kGuide), kGuide);
  const Json made = render_rank_table(make_rank_table(guide_servers(), 8), TableForm::lab);
  EXPECT_EQ(made, expected);  // ordered: the same keys, values and order
}

TEST(RankTable, NumbersRanksByServerTimesDevicesPlusDevice) {
  const RankTable table = make_rank_table(guide_servers(), 8);
  EXPECT_EQ(table.servers[1].devices[0].rank, 8);
  EXPECT_EQ(table.servers[1].devices[7].rank, 15);
}

TEST(RankTable, RecognisesEveryForm) {
  EXPECT_EQ(load_rank_table(kGuide).form, TableForm::lab);
  for (const auto& [file, form] : {std::pair{"ranktable-1.0.json", TableForm::v1_0},
                                   std::pair{"ranktable-1.2.json", TableForm::v1_2},
                                   std::pair{"ranktable-cloud.json", TableForm::cloud}}) {
    const TableReading reading = parse_rank_table(golden(file), file);
    EXPECT_EQ(reading.form, form) << file;
    EXPECT_TRUE(reading.findings.empty()) << file << ": " << to_string(reading.findings.front());
    EXPECT_EQ(reading.table.device_count(), 16u);
  }
}

TEST(RankTable, ConvertsTheGuideToForm10) {
  EXPECT_EQ(dump_pretty(render_rank_table(guide_table(), TableForm::v1_0)),
            golden("ranktable-1.0.json"));
}

TEST(RankTable, ConvertsToForm12OnceSuperPodsAreKnown) {
  RankTable table = guide_table();
  for (int server = 0; server < 2; ++server) {
    TableServer& one = table.servers[static_cast<std::size_t>(server)];
    one.super_pod = "pod" + std::to_string(server);
    for (TableDevice& device : one.devices)
      device.super_device_id = std::to_string(100 * server + device.id);
  }
  EXPECT_EQ(dump_pretty(render_rank_table(table, TableForm::v1_2)), golden("ranktable-1.2.json"));
}

TEST(RankTable, WithoutSuperPodsCannotBecomeForm12) {
  const std::string error =
      error_of([] { return render_rank_table(guide_table(), TableForm::v1_2, {}, "hccl.json"); });
  EXPECT_THAT(error, HasSubstr("hccl.json"));
  EXPECT_THAT(error, HasSubstr("192.168.3.6' has no super-pod"));
  EXPECT_THAT(error, HasSubstr("use the form 1.0"));
}

// The guide lists 192.168.3.6 first; without ranks in the file HCCL would begin with 192.168.3.2.
TEST(RankTable, CannotBecomeCloudFormWhenHcclWouldNumberOtherwise) {
  const std::string error =
      error_of([] { return render_rank_table(guide_table(), TableForm::cloud); });
  EXPECT_THAT(error, HasSubstr("device 0 of the server '192.168.3.6' the rank 8"));
  EXPECT_THAT(error, HasSubstr("sorts servers by server_id as text"));
}

TEST(RankTable, BecomesCloudFormInHcclsOrder) {
  std::vector<ServerSpec> servers = guide_servers();
  std::swap(servers[0], servers[1]);
  EXPECT_EQ(dump_pretty(render_rank_table(make_rank_table(servers, 8), TableForm::cloud)),
            golden("ranktable-cloud.json"));
}

TEST(RankTable, OfTheCloudFormGetsHcclsRanks) {
  const RankTable table = read_rank_table(parse_json(R"({"status":"completed","group_count":"1",
    "group_list":[{"group_name":"g","device_count":"4","instance_count":"2","instance_list":[
      {"pod_name":"a","server_id":"10.0.0.9","devices":[
        {"device_id":"1","device_ip":"10.9.0.1"},{"device_id":"0","device_ip":"10.9.0.2"}]},
      {"pod_name":"b","server_id":"10.0.0.10","devices":[
        {"device_id":"0","device_ip":"10.9.0.3"},{"device_id":"1","device_ip":"10.9.0.4"}]}]}]})",
                                                     "x"))
                              .table;
  // "10.0.0.10" < "10.0.0.9" as text.
  EXPECT_EQ(table.servers[1].devices[0].rank, 0);
  EXPECT_EQ(table.servers[1].devices[1].rank, 1);
  EXPECT_EQ(table.servers[0].devices[1].rank, 2);  // device 0
  EXPECT_EQ(table.servers[0].devices[0].rank, 3);  // device 1
}

TEST(RankTable, SurvivesTheWayThroughEveryForm) {
  for (const char* file : {"ranktable-1.0.json", "ranktable-1.2.json", "ranktable-cloud.json"}) {
    const TableReading reading = parse_rank_table(golden(file), file);
    EXPECT_EQ(dump_pretty(render_rank_table(reading.table, reading.form)), golden(file));
  }
  EXPECT_EQ(render_rank_table(guide_table(), TableForm::lab),
            parse_json(read_file(kGuide), kGuide));
}

TEST(RankTable, KeepsTheOptionalFieldsOfForm10) {
  const Json json = parse_json(R"({"version":"1.0","server_count":"1","server_list":[
    {"server_id":"s","host_ip":"10.0.0.1","container_ip":"10.0.0.2","device":[
      {"device_id":"0","device_ip":"10.1.0.1","rank_id":"0","backup_device_ip":"10.1.0.9",
       "device_port":"16666","net_protocol":"rdma"}]}],"status":"completed"})",
                               "x");
  const TableReading reading = read_rank_table(json);
  ASSERT_TRUE(reading.valid());
  EXPECT_EQ(render_rank_table(reading.table, TableForm::v1_0), json);
  EXPECT_THAT(lost_in(reading.table, TableForm::lab),
              ElementsAre("host_ip", "container_ip", "ports, protocols and backup IPs of devices"));
}

TEST(RankTable, OfOneServerNeedsNoDeviceIps) {
  const Json json = render_rank_table(make_rank_table({{"here", {}}}, 8), TableForm::v1_0);
  EXPECT_FALSE(json["server_list"][0]["device"][0].contains("device_ip"));
  EXPECT_EQ(json["server_list"][0]["device"][7]["rank_id"], "7");
}

TEST(RankTable, OfTwoServersWithoutDeviceIpsIsRefused) {
  const std::string error = error_of([] {
    return render_rank_table(make_rank_table({{"a", {}}, {"b", {}}}, 1), TableForm::v1_0);
  });
  EXPECT_THAT(error, HasSubstr("server_list[1].device[0].device_ip: is missing"));
  EXPECT_THAT(error, HasSubstr("/etc/hccn.conf"));
}

TEST(RankTable, WithTooFewDeviceIpsIsRefused) {
  EXPECT_THAT(error_of([] {
                return make_rank_table({{"a", {"10.0.0.1"}}}, 2);
              }),
              HasSubstr("'a' has 1 device IPs for 2 devices"));
}

TEST(RankTable, ThatIsInitializingMayBeEmptyInEveryForm) {
  RankTable table;
  table.completed = false;
  for (const TableForm form :
       {TableForm::v1_0, TableForm::v1_2, TableForm::cloud, TableForm::lab}) {
    const TableReading reading = read_rank_table(render_rank_table(table, form));
    EXPECT_EQ(reading.form, form);
    EXPECT_TRUE(reading.valid());
    EXPECT_FALSE(reading.table.completed);
  }
  EXPECT_TRUE(read_rank_table(Json{{"status", "initializing"}}).readable());
}

TEST(LoadRankTable, WaitsUntilTheTableIsCompleted) {
  const testing::TemporaryFolder folder;
  const auto path = folder.path() / "hccl.json";
  write_file_atomic(path, "{\"status\": \"initializing\"}");
  EXPECT_FALSE(load_rank_table(path).table.completed);
  std::thread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    write_file_atomic(path, golden("ranktable-1.0.json"));
  });
  const TableReading reading = load_rank_table(path, {}, std::chrono::seconds(20));
  writer.join();
  EXPECT_TRUE(reading.table.completed);
  EXPECT_EQ(reading.table.device_count(), 16u);
}

TEST(LoadRankTable, GivesUpWaitingInTime) {
  const testing::TemporaryFolder folder;
  const auto path = folder.path() / "hccl.json";
  write_file_atomic(path, "{\"status\": \"initializing\"}");
  const std::int64_t before = mono_now_ns();
  EXPECT_FALSE(load_rank_table(path, {}, std::chrono::milliseconds(500)).table.completed);
  EXPECT_LT(mono_now_ns() - before, 5'000'000'000);
  EXPECT_THAT(error_of([&] { return load_rank_table(folder.path() / "none"); }),
              HasSubstr("there is no such file"));
}

TEST(ParseRankTable, RefusesAKeyThatIsThereTwice) {
  EXPECT_THAT(error_of([] {
                return parse_rank_table(R"({"status":"completed","status":"initializing"})", "t");
              }),
              HasSubstr("'status' is there twice"));
}

TEST(ParseRankTable, RefusesWhatIsNotJsonOrTooDeep) {
  EXPECT_THAT(error_of([] { return parse_rank_table("{\"status\": ", "t.json"); }),
              HasSubstr("t.json:1:12: not valid JSON: it ends too early"));
  EXPECT_THAT(error_of([] { return parse_rank_table(std::string(100'000, '['), "t"); }),
              HasSubstr("nested too deeply"));
}

}  // namespace
}  // namespace assay::rendezvous
