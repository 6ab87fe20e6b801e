#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/nodes_file.h"
#include "engine/placed_suite.h"
#include "error_of.h"

namespace assay::engine {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using testing::error_of;
using ::testing::HasSubstr;

constexpr const char* kExample =
    "nodes:\n"
    "  - {name: gpu1, address: 10.0.0.1, port: 2222, vendor: nvidia, device_type: H200, devices: "
    "8}\n"
    "  - {name: cpu1, devices: 4}\n"
    "ssh: {user: train, accept_new_keys: true}\n";

TEST(NodesFile, ListsMachinesThatSshReaches) {
  const NodesFile file = parse_nodes_file(kExample, "nodes.yaml");
  ASSERT_EQ(file.nodes.size(), 2U);
  EXPECT_EQ(file.nodes[0].device_type, "H200");
  EXPECT_EQ(file.nodes[0].devices, 8);
  EXPECT_TRUE(file.nodes[0].remote);
  EXPECT_EQ(file.nodes[1].device_type, "cpu");
  EXPECT_EQ(file.nodes[1].devices, 4);
}

TEST(NodesFile, IsWhatTheSuitesOfJobsGet) {
  const NodesFile file = parse_nodes_file(kExample, "nodes.yaml");
  Order order;
  order.submission.command = "true";
  const PlacedSuite placed = place_suite(order, {file.nodes[0]}, {{"gpu1", {0}}}, file.ssh);
  EXPECT_THAT(
      placed.set,
      Contains("cluster={\"launcher\":\"ssh\",\"hosts\":[{\"name\":\"gpu1\",\"address\":\"10.0.0."
               "1\",\"port\":2222,\"env\":{\"ASSAY_DEVICES\":\"0\"}}],\"ssh\":{\"user\":\"train\","
               "\"accept_new_keys\":true}}"));
}

TEST(NodesFile, SaysWhereItIsWrong) {
  const auto error = [](const std::string& text) {
    return error_of([&] { return parse_nodes_file(text, "nodes.yaml"); });
  };
  EXPECT_THAT(error(""), HasSubstr("nodes.yaml"));
  EXPECT_THAT(error("nodes: []\n"), HasSubstr("there are no nodes"));
  EXPECT_THAT(error("nodes: [{name: a}]\n"), HasSubstr("needs 'devices'"));
  EXPECT_THAT(error("nodes: [{name: a, devices: 0}]\n"), HasSubstr("nodes.yaml:1"));
  EXPECT_THAT(error("nodes: [{name: a, devices: 1}, {name: a, devices: 1}]\n"),
              HasSubstr("listed twice"));
  EXPECT_THAT(error("nodes: [{name: a, devices: 1, user: -oProxyCommand=x}]\n"),
              HasSubstr("user name"));
  EXPECT_THAT(error("nodes: [{name: a, device: 1}]\n"), HasSubstr("devices"));
}

// Its devices would be given away twice.
TEST(NodesFile, RefusesOneMachineAsTwoNodes) {
  const auto error = [](const std::string& text) {
    return error_of([&] { return parse_nodes_file(text, "nodes.yaml"); });
  };
  EXPECT_THAT(error("nodes:\n  - {name: a, address: Host.example, devices: 8}\n"
                    "  - {name: b, address: host.example, user: bench, devices: 8}\n"),
              AllOf(HasSubstr("nodes.yaml:3:5"), HasSubstr("'b' is the machine of 'a'"),
                    HasSubstr("host.example")));
  EXPECT_THAT(error("nodes: [{name: a, devices: 1}, {name: b, address: a, devices: 1}]\n"),
              HasSubstr("nodes.yaml:1:32"));
  EXPECT_THAT(error("nodes: [{name: a, address: h, port: 2222, devices: 1}, {name: b, address: h, "
                    "devices: 1}]\nssh: {port: 2222}\n"),
              HasSubstr("the machine of 'a'"));
  // Two containers with an sshd each, and private networks behind two hosts.
  EXPECT_EQ(
      parse_nodes_file("nodes: [{name: a, address: h, devices: 1}, {name: b, address: h, port: "
                       "2222, devices: 1}, {name: c, address: h, jump: gate, devices: 1}]\n",
                       "nodes.yaml")
          .nodes.size(),
      3U);
}

}  // namespace
}  // namespace assay::engine
