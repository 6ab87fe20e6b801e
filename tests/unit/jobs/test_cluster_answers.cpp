#include <gtest/gtest.h>

#include "core/any_fields.h"
#include "jobs/cluster_answers.h"

namespace assay::jobs {
namespace {

TEST(ClusterAnswers, ANodeIsWrittenWithAllOfItsFields) {
  const NodesAnswer answer{
      .nodes = {{.name = "n1",
                 .device_type = "h200",
                 .devices = 8,
                 .available = true,
                 .uses = {{.job = 7, .owner = "ann", .devices = 2, .indices = {0, 1}}},
                 .readings = NodeReadings{.age_s = 1.5, .devices = {{.util = 0.5}}}}}};
  EXPECT_EQ(
      dump_line(fields_to_json(answer)),
      R"({"nodes":[{"name":"n1","device_type":"h200","devices":8,"available":true,)"
      R"("drained":false,"drained_by":"","reason":"","lost":false,"state":"","uses":[{"job":7,)"
      R"("owner":"ann","devices":2,"indices":[0,1]}],"readings":{"age_s":1.5,"node":{"util":null,)"
      R"("mem_used_bytes":null,"mem_total_bytes":null,"power_w":null,"temp_c":null},"devices":[)"
      R"({"util":0.5,"mem_used_bytes":null,"mem_total_bytes":null,"power_w":null,"temp_c":null}]}}],)"
      R"("trouble":""})");
}

TEST(ClusterAnswers, AnAnswerOfAnotherVersionIsReadAsFarAsItIsKnown) {
  const Json json = parse_json(
      R"({"nodes":[{"name":"n1","devices":"many","uses":[{"job":7,"devices":2},3],"more":1}]})",
      "answer");
  const auto answer = fields_from_any<NodesAnswer>(json);
  ASSERT_EQ(answer.nodes.size(), 1U);
  EXPECT_EQ(answer.nodes[0].name, "n1");
  EXPECT_EQ(answer.nodes[0].devices, 0);
  EXPECT_EQ(answer.nodes[0].used(), 2);
  EXPECT_FALSE(answer.nodes[0].readings);
}

TEST(ClusterAnswers, UseThatNobodyMeasuredIsNull) {
  EXPECT_EQ(dump_line(fields_to_json(UsageAnswer{{{.user = "ann", .jobs = 1, .device_hours = 2}}})),
            R"({"usage":[{"user":"ann","team":"","month":"","device_type":"","jobs":1,)"
            R"("device_hours":2.0,"idle_device_hours":null,"energy_kwh":null,)"
            R"("unmetered_device_hours":0.0,"unwatched_device_hours":0.0}]})");
}

}  // namespace
}  // namespace assay::jobs
