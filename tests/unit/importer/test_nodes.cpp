#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/files.h"
#include "error_of.h"
#include "importer/nodes.h"
#include "plan/suite.h"
#include "temporary_folder.h"

namespace assay::importer {
namespace {

using assay::testing::error_of;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Property;

class NodeFiles : public ::testing::Test {
 protected:
  NodesImport import(const std::string& content, const std::string& name = "nodes.json") {
    write_file_atomic(folder_.path() / name, content);
    return import_nodes(folder_.path() / name, {"localhost"});
  }
  /// The cluster that a suite with the imported part has.
  static plan::Cluster cluster(const NodesImport& import) {
    return plan::parse_suite(import.cluster_yaml + "cases: [{name: c, command: x}]\n", "s.yaml")
        .cluster;
  }
  static std::vector<std::string> diagnostics(const NodesImport& import) {
    std::vector<std::string> out;
    for (const Diagnostic& diagnostic : import.diagnostics) out.push_back(to_string(diagnostic));
    return out;
  }
  assay::testing::TemporaryFolder folder_;
};

TEST_F(NodeFiles, OfVersion1BecomeACluster) {
  const NodesImport nodes = import(
      "{\"cluster\": {\n\t\"10.1.2.4\": {\"user\": \"root\", \"port\": 8000},\n"
      "\t\"10.1.2.3\": {\"user\": \"root\", \"port\": \"8000\"}}}");
  EXPECT_EQ(nodes.format, "ais-bench v1");
  const plan::Cluster made = cluster(nodes);
  EXPECT_EQ(made.launcher, "ssh");
  ASSERT_EQ(made.hosts.size(), 2u);
  EXPECT_EQ(made.hosts[0].name, "10.1.2.4");  // the order of the file is that of the rank table
  EXPECT_EQ(made.hosts[1].name, "10.1.2.3");
  EXPECT_EQ(made.options, (Json{{"user", "root"}, {"port", 8000}}));
  EXPECT_TRUE(nodes.diagnostics.empty());
}

TEST_F(NodeFiles, OfVersion1MayHaveNothingButAddresses) {
  const plan::Cluster made = cluster(import(R"({"cluster": {"10.1.2.3": {}, "10.1.2.4": {}}})"));
  EXPECT_EQ(made.hosts.size(), 2u);
  EXPECT_TRUE(made.options.empty());
}

TEST_F(NodeFiles, NeverGiveTheirPasswordsAway) {
  const NodesImport nodes =
      import("{\"cluster\": {\"10.1.2.3\":\n  {\"user\": \"root\", \"pd\": \"s3cret\"}}}");
  EXPECT_THAT(nodes.cluster_yaml, Not(HasSubstr("s3cret")));
  EXPECT_THAT(diagnostics(nodes),
              Contains(HasSubstr("nodes.json:2:20: warning: the password of 10.1.2.3 is not "
                                 "copied")));
  for (const std::string& text : diagnostics(nodes)) EXPECT_THAT(text, Not(HasSubstr("s3cret")));
}

TEST_F(NodeFiles, OfVersion2AreInTheOrderOfTheirIds) {
  const NodesImport nodes = import(
      R"({"1": {"ip": "10.1.2.4", "user": "u", "port": 22, "work_path": "/w"},
          "0": {"ip": "10.1.2.9", "user": "u", "port": 22, "work_path": "/w"}})");
  EXPECT_EQ(nodes.format, "ais-bench v2");
  const plan::Cluster made = cluster(nodes);
  EXPECT_EQ(made.hosts[0].name, "10.1.2.9");
  EXPECT_EQ(made.hosts[1].name, "10.1.2.4");
  EXPECT_THAT(diagnostics(nodes),
              Contains(HasSubstr("work_path of 10.1.2.4 has no place in 'cluster'")));
}

TEST_F(NodeFiles, ThatContradictThemselvesAreRefused) {
  const auto error = [&](const char* text) { return error_of([&] { return import(text); }); };
  EXPECT_THAT(error("{\"0\": {\"ip\": \"10.1.2.3\"},\n \"0\": {\"ip\": \"10.1.2.4\"}}"),
              HasSubstr("nodes.json:2:2"));  // the id twice: others take the last silently
  EXPECT_THAT(error(R"({"0": {"ip": "10.1.2.3"}, "2": {"ip": "10.1.2.4"}})"),
              HasSubstr("the node 1 is missing"));
  EXPECT_THAT(error(R"({"0": {"ip": "10.1.2.3"}, "1": {"ip": "10.1.2.3"}})"),
              HasSubstr("the host 10.1.2.3 is there twice, first at"));
  EXPECT_THAT(error(R"({"cluster": {"10.1.2.3": {}}, "0": {"ip": "10.1.2.3"}})"),
              HasSubstr("both 'cluster'"));
  EXPECT_THAT(error(R"({"00": {"ip": "10.1.2.3"}})"), HasSubstr("leading zeros"));
}

TEST_F(NodeFiles, ThatAreWrongAreRefusedWithTheirPlace) {
  const auto error = [&](const char* text) { return error_of([&] { return import(text); }); };
  EXPECT_THAT(error(R"({"0": {"user": "x"}})"), HasSubstr("nodes.json:1:2: the node 0 has no ip"));
  EXPECT_THAT(error(R"({"0": {"ip": "node-a"}})"), HasSubstr("not an IP address: 'node-a'"));
  EXPECT_THAT(error(R"({"cluster": {"10.1.2.3": {"port": 70000}}})"),
              HasSubstr("expected a port from 1 to 65535"));
  EXPECT_THAT(error(R"({"cluster": {"10.1.2.3": {"user": "-oProxyCommand=x"}}})"),
              HasSubstr("not a user name"));
  EXPECT_THAT(error(R"({"cluster": {"-x": {}}})"), HasSubstr("not a host: '-x'"));
  EXPECT_THAT(error(R"({"cluster": {}})"), HasSubstr("'cluster' must be an object"));
  EXPECT_THAT(error(R"({"hosts": []})"), HasSubstr("not a node file"));
  EXPECT_THAT(error("[1]"), HasSubstr("a node file is a JSON object"));
  EXPECT_THAT(error("{\"cluster\": "), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_of([&] { return import_nodes(folder_.path() / "none.json"); }),
              HasSubstr("there is no such file"));
}

TEST_F(NodeFiles, HaveTheirUnknownFieldsNamed) {
  EXPECT_THAT(diagnostics(import("{\"cluster\": {\"10.1.2.3\": {\"usr\": \"root\"}},\n\"x\": 1}")),
              ::testing::ElementsAre(HasSubstr("nodes.json:2:1: warning: 'x' is not a field"),
                                     HasSubstr("nodes.json:1:27: warning: 'usr' of 10.1.2.3")));
}

TEST_F(NodeFiles, WithDifferentUsersGiveEachHostItsOwn) {
  const NodesImport nodes = import(
      R"({"cluster": {"10.1.2.3": {"user": "a"}, "10.1.2.4": {"user": "b", "port": 8000}}})");
  const plan::Cluster made = cluster(nodes);
  EXPECT_TRUE(made.options.empty());
  EXPECT_EQ(made.hosts[0].ssh, (Json{{"user", "a"}}));
  EXPECT_EQ(made.hosts[1].ssh, (Json{{"user", "b"}, {"port", 8000}}));
}

TEST_F(NodeFiles, OfThisMachineAloneAreLocal) {
  EXPECT_EQ(cluster(import(R"({"cluster": {"localhost": {}}})")).launcher, "local");
}

TEST_F(NodeFiles, OfFlagPerfAreReadToo) {
  const NodesImport nodes = import(
      "HOSTS = [\"10.1.2.3\", \"10.1.2.4\"]\nHOSTS_PORTS = [\"2222\"]\nMASTER_PORT = \"29501\"\n"
      "SSH_PORT = \"8022\"\nSSH_PROT = 1\n",
      "cluster_conf.py");
  const plan::Cluster made = cluster(nodes);
  EXPECT_EQ(made.hosts.size(), 2u);
  EXPECT_EQ(made.master_port, 29501);
  EXPECT_EQ(made.options, (Json{{"port", 8022}}));
  EXPECT_THAT(diagnostics(nodes),
              Contains(HasSubstr("cluster_conf.py:5:1: note: SSH_PROT is not")));
  EXPECT_THAT(diagnostics(nodes), Contains(HasSubstr("HOSTS_PORTS (2222) has no place")));
}

}  // namespace
}  // namespace assay::importer
