// assay ranktable, assay hostfile and assay import nodes as a user types them, and a round whose
// ranks read what they were given.

#include <gmock/gmock.h>

#include "core/files.h"
#include "e2e/harness.h"

namespace assay::e2e {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class RendezvousCommands : public AssayTest {
 protected:
  static std::string source(const std::string& path) {
    return std::string(ASSAY_SOURCE_DIR) + "/tests/" + path;
  }
  static std::string golden(const std::string& name) {
    return read_file(source("golden/rendezvous/" + name));
  }
  const std::string guide_ = source("fixtures/rendezvous/hccl-2x8-lab.json");
  const std::string guide_suite_ =
      "cluster:\n"
      "  hosts:\n"
      "    - {name: node1, slots: 8, server_id: 192.168.3.6, ib_addr: ib-node1, device_ips: [\n"
      "        192.168.10.1, 192.168.20.1, 192.168.30.1, 192.168.40.1,\n"
      "        192.168.10.2, 192.168.20.2, 192.168.30.2, 192.168.40.2]}\n"
      "    - {name: node2, slots: 8, server_id: 192.168.3.2, ib_addr: ib-node2, device_ips: [\n"
      "        192.168.10.3, 192.168.20.3, 192.168.30.3, 192.168.40.3,\n"
      "        192.168.10.4, 192.168.20.4, 192.168.30.4, 192.168.40.4]}\n";
};

TEST_F(RendezvousCommands, ASuitesRankTableIsTheGuides) {
  const auto suite = write("s.yaml", guide_suite_ + "cases: [{name: c, command: x}]\n").string();
  const CommandResult lab = assay({"ranktable", suite, "--form", "lab"});
  EXPECT_EQ(lab.status.code, 0) << lab.err;
  EXPECT_EQ(parse_json(lab.out, "out"), read_json(guide_));
  EXPECT_EQ(assay({"ranktable", suite}).out, golden("ranktable-1.0.json"));
}

TEST_F(RendezvousCommands, ACasesRankTableHasItsHostsAndDevicesOnly) {
  const auto suite =
      write("s.yaml", guide_suite_ + "cases: [{name: c, procs: 2, command: x}]\n").string();
  const CommandResult table = assay({"ranktable", suite, "--case", "c", "-o", "hccl.json"});
  EXPECT_EQ(table.out, "hccl.json: form 1.0, 1 server, 2 devices, completed\n") << table.err;
  EXPECT_EQ(read_json(folder_ / "hccl.json")["server_list"][0]["device"].size(), 2u);
  EXPECT_EQ(assay({"ranktable", suite, "--case", "d"}).status.code, 2);
}

TEST_F(RendezvousCommands, ARankTableIsMadeOfTheHostsHccnFiles) {
  std::string first, second;
  for (int device = 0; device < 8; ++device) {
    const std::string key = "address_" + std::to_string(device) + "=192.168." +
                            std::to_string(10 * (device % 4 + 1)) + ".";
    first += key + std::to_string(device / 4 + 1) + "\n";
    second += key + std::to_string(device / 4 + 3) + "\n";
  }
  write("n1.conf", first);
  write("n2.conf", second);
  EXPECT_EQ(assay({"ranktable", "--hosts", "192.168.3.6,192.168.3.2", "--hccn-conf", "n1.conf",
                   "--hccn-conf", "n2.conf"})
                .out,
            golden("ranktable-1.0.json"));
  const CommandResult few = assay({"ranktable", "--hosts", "a,b", "--hccn-conf", "n1.conf"});
  EXPECT_EQ(few.status.code, 2);
  EXPECT_THAT(few.err, HasSubstr("1 file for 2 hosts"));
}

TEST_F(RendezvousCommands, ARankTableIsMadeOfDeviceIpsOnTheCommandLine) {
  const CommandResult table =
      assay({"ranktable", "--hosts", "a,b", "--device-ips", "10.0.0.1,10.0.0.2,10.0.0.3,10.0.0.4"});
  const Json json = parse_json(table.out, "out");
  EXPECT_EQ(json["server_list"][1]["device"][0]["device_ip"], "10.0.0.3");
  EXPECT_EQ(json["server_list"][1]["device"][0]["rank_id"], "2");
  EXPECT_EQ(assay({"ranktable", "--hosts", "a,b", "--device-ips", "10.0.0.1"}).status.code, 2);
  EXPECT_EQ(assay({"ranktable", "--hosts", "a,b", "--devices", "2"}).status.code, 2);
  EXPECT_EQ(assay({"ranktable"}).status.code, 2);
}

TEST_F(RendezvousCommands, CheckAcceptsTheGuidesTable) {
  const CommandResult check = assay({"ranktable", "--check", guide_});
  EXPECT_EQ(check.status.code, 0) << check.err;
  EXPECT_THAT(check.out, HasSubstr("valid: form lab, 2 servers, 16 devices, completed"));
}

TEST_F(RendezvousCommands, CheckNamesEveryViolationAndExitsWith2) {
  Json json = read_json(guide_);
  json["group_list"][0]["instance_list"][8]["rank_id"] = "0";
  json["group_list"][0]["instance_list"][9]["devices"][0]["device_ip"] = "192.168.20.1";
  const CommandResult check =
      assay({"ranktable", "--check", write("bad.json", dump_pretty(json)).string()});
  EXPECT_EQ(check.status.code, 2);
  EXPECT_THAT(check.err, HasSubstr("invalid: group_list[0].instance_list[8].rank_id: rank 0"));
  EXPECT_THAT(check.err, HasSubstr("group_list[0].instance_list[9].devices[0].device_ip: "
                                   "192.168.20.1 is also that of"));
  EXPECT_THAT(check.err, HasSubstr("3 violations"));
  EXPECT_THAT(check.out, IsEmpty());
}

TEST_F(RendezvousCommands, AnInitializingTableIsNotReadyUntilItIsCompleted) {
  EXPECT_EQ(
      assay({"ranktable", "--hosts", "a", "--status", "initializing", "-o", "t.json"}).status.code,
      0);
  const CommandResult early = assay({"ranktable", "--check", "t.json"});
  EXPECT_EQ(early.status.code, 3);
  EXPECT_THAT(early.err, HasSubstr("still initializing"));
  EXPECT_EQ(assay({"ranktable", "--hosts", "a", "--devices", "8", "-o", "t.json"}).status.code, 0);
  EXPECT_EQ(assay({"ranktable", "--check", "t.json", "--wait", "5s"}).status.code, 0);
}

TEST_F(RendezvousCommands, ConvertWritesAnotherForm) {
  EXPECT_EQ(assay({"ranktable", "--convert", guide_, "--form", "1.0"}).out,
            golden("ranktable-1.0.json"));
  const CommandResult cloud = assay({"ranktable", "--convert", guide_, "--form", "cloud"});
  EXPECT_EQ(cloud.status.code, 2);
  EXPECT_THAT(cloud.err, HasSubstr("sorts servers by server_id as text"));
  const CommandResult pods = assay({"ranktable", "--convert", guide_, "--form", "1.2"});
  EXPECT_EQ(pods.status.code, 2);
  EXPECT_THAT(pods.err, HasSubstr("has no super-pod"));
  const CommandResult less = assay(
      {"ranktable", "--convert", source("golden/rendezvous/ranktable-1.2.json"), "--form", "1.0"});
  EXPECT_EQ(less.out, golden("ranktable-1.0.json"));
  EXPECT_THAT(less.err, HasSubstr("note: the form 1.0 has no super-pods"));
}

TEST_F(RendezvousCommands, AHostfileIsMadeOfASuiteInEveryForm) {
  const auto suite = write("s.yaml", guide_suite_ + "cases: [{name: c, command: x}]\n").string();
  EXPECT_EQ(assay({"hostfile", suite}).out, golden("hostfile.openmpi"));
  EXPECT_EQ(assay({"hostfile", suite, "--form", "mpich"}).out, golden("hostfile.mpich"));
  EXPECT_EQ(assay({"hostfile", suite, "--form", "horovod"}).out, golden("hostfile.horovod"));
  EXPECT_EQ(assay({"hostfile", suite, "--form", "ib"}).out, golden("ib_config"));
  EXPECT_EQ(assay({"hostfile", suite, "--case", "c"}).out, "node1 slots=1\n");
}

TEST_F(RendezvousCommands, AHostfileIsMadeOfHostsAndConverted) {
  EXPECT_EQ(assay({"hostfile", "--hosts", "node1,node2:8", "--slots", "8"}).out,
            golden("hostfile.openmpi"));
  EXPECT_EQ(assay({"hostfile", "--convert", source("golden/rendezvous/hostfile.mpich"), "--form",
                   "horovod"})
                .out,
            golden("hostfile.horovod"));
  const CommandResult none = assay({"hostfile", "--hosts", "node1"});
  EXPECT_EQ(none.status.code, 2);
  EXPECT_THAT(none.err, HasSubstr("no number of slots"));
  const auto bad = write("hosts", "node1 slots=8\n\nnode2 slots=8\n").string();
  EXPECT_EQ(assay({"hostfile", "--check", bad}).status.code, 0);
  const CommandResult strict = assay({"hostfile", "--check", bad, "--form", "horovod"});
  EXPECT_EQ(strict.status.code, 2);
  EXPECT_THAT(strict.err, HasSubstr("hosts:2: a line without a host"));
}

TEST_F(RendezvousCommands, ANodeFileBecomesTheClusterOfASuite) {
  const auto nodes = write("nodes.json",
                           R"({"cluster": {"10.1.2.3": {"user": "root", "pd": "s3cret"},
                                           "10.1.2.4": {"user": "root"}}})");
  const CommandResult import = assay({"import", "nodes", nodes.string()});
  EXPECT_EQ(import.status.code, 0) << import.err;
  EXPECT_THAT(import.out, HasSubstr("cluster:\n  launcher: ssh\n"));
  EXPECT_THAT(import.err, HasSubstr("password of 10.1.2.3 is not copied"));
  EXPECT_THAT(import.out + import.err, Not(HasSubstr("s3cret")));
  const auto suite = write("s.yaml", import.out + "cases: [{name: c, nodes: 2, command: x}]\n");
  EXPECT_EQ(assay({"hostfile", suite.string(), "--case", "c"}).out,
            "10.1.2.3 slots=1\n10.1.2.4 slots=1\n");
}

TEST_F(RendezvousCommands, ARoundsRanksFindTheFilesThatTheDryRunShowed) {
  const auto suite = write(
      "s.yaml", guide_suite_ +
                    "cases:\n"
                    "  - name: probe\n"
                    "    nodes: 2\n"
                    "    procs: 2\n"
                    "    rendezvous: [torchrun, hccl, dlws]\n"
                    "    shell: true\n"
                    "    command: 'test \"$RANK_TABLE_FILE\" = {ranktable} && cat {ranktable} > "
                    "table-$RANK_ID && cat {hostfile} > hosts-$RANK_ID'\n"
                    "    rules: {min-duration: off, min-steps: off}\n");
  const CommandResult dry = assay({"run", suite.string(), "--dry-run", "--format", "json"});
  ASSERT_EQ(dry.status.code, 0) << dry.err;
  const Json files = parse_json(dry.out, "dry run")["execution"]["rounds"][0]["nodes"][1]["files"];
  (void)assay({"run", suite.string()});
  for (const char* rank : {"0", "1", "2", "3"}) {
    ASSERT_TRUE(fs::exists(folder_ / (std::string("table-") + rank))) << rank;
    EXPECT_EQ(read_json(folder_ / (std::string("table-") + rank)), files["hccl.json"]);
    EXPECT_EQ(read_file(folder_ / (std::string("hosts-") + rank)),
              files["hostfile"].get<std::string>());
  }
  EXPECT_EQ(files["hostfile"], "node1 slots=2\nnode2 slots=2\n");
}

}  // namespace assay::e2e
