#include <ctime>

#include <gtest/gtest.h>

#include "aisbench/record.h"
#include "core/json.h"
#include "unit/aisbench/local_time.h"

namespace assay::aisbench {
namespace {

TEST(TrainResultInfo, IsThePublishedBlock) {
  TrainRecord record;
  record.throughput = 450.58182754928634;
  record.accuracy = 0.7138610482215881;
  record.total = {local(2022, 7, 13, 11, 27, 19), local(2022, 7, 13, 13, 24, 43)};
  EXPECT_EQ(train_result_info(record), R"({
   "accuracy" : "0.7138610482215881",
   "average_power" : 0,
   "dataload_end_time" : "2020-01-30 14:16:00",
   "dataload_start_time" : "2020-01-30 14:16:00",
   "efficientcy" : 0,
   "energy_consumption" : 0,
   "max_power" : 0,
   "prepare_end_time" : "2020-01-30 14:16:00",
   "prepare_start_time" : "2020-01-30 14:16:00",
   "proc_end_time" : "2020-01-30 14:16:00",
   "proc_start_time" : "2020-01-30 14:16:00",
   "resource_util_ratio" : 0,
   "throughput_ratio" : "450.58182754928634",
   "total_end_time" : "2022-07-13 13:24:43",
   "total_start_time" : "2022-07-13 11:27:19"
})");
}

TEST(TrainResultInfo, HasWhatWasMeasuredAsNumbers) {
  TrainRecord record;
  record.average_power = 310.5;
  record.max_power = 400;
  record.energy_consumption = 1.5e6;
  record.efficiency = 0.25;
  record.resource_util_ratio = 97;
  record.proc.start_ns = local(2022, 7, 13, 1, 2, 3);
  const Json json = parse_json(train_result_info(record), "record");
  EXPECT_EQ(json["average_power"], 310.5);
  EXPECT_EQ(json["max_power"], 400);
  EXPECT_EQ(json["energy_consumption"], 1.5e6);
  EXPECT_EQ(json["efficientcy"], 0.25);
  EXPECT_EQ(json["resource_util_ratio"], 97);
  EXPECT_EQ(json["proc_start_time"], "2022-07-13 01:02:03");
  EXPECT_TRUE(json["throughput_ratio"].is_string());
  EXPECT_EQ(json.size(), 15U);
}

}  // namespace
}  // namespace assay::aisbench
