#include <gtest/gtest.h>

#include "core/json.h"
#include "launch/http/http_job_json.h"

namespace assay::launch {
namespace {

using cloud::JobPhase;

std::optional<ServiceJob> job(const std::string& text) {
  return http_job_from_json(parse_json_or_null(text));
}

TEST(HttpJobJson, AsksForARoundAsTheContractSays) {
  plan::Plan plan;
  plan.run_id = "run20261117T101500Z-3f2a";
  plan::CasePlan fit;
  fit.name = "fit";
  fit.nodes = 2;
  fit.procs = 4;
  fit.command = {"python3", "train.py"};
  fit.env = {{"GREETING", "hello"}};
  fit.limits.time = std::chrono::minutes(2);
  plan::HttpOptions options;
  options.bucket = "bench";
  options.image = "torch:2";
  options.resources = {{"gpus", "4"}};
  const Json body = http_job_request(options, round_job(options, plan, fit, "assay-c0-r1", "abc"));
  EXPECT_EQ(body, parse_json(R"({"key": "assay-c0-r1",
    "description": "assay run20261117T101500Z-3f2a", "instances": 2, "processes": 4,
    "command": ["python3", "train.py"], "environment": {"GREETING": "hello"},
    "code": "s3://bench/assay/assay/code/abc/",
    "output": "s3://bench/assay/run20261117T101500Z-3f2a/assay-c0-r1/out/",
    "image": "torch:2", "resources": {"gpus": "4"}, "time_limit_s": 120.0})",
                             "expected"));
}

TEST(HttpJobJson, ReadsAJobThatHasEnded) {
  const auto ended = job(R"({"id": "j1", "key": "k", "state": "failed", "message": "out of memory",
    "created_ms": 1000, "started_ms": 2000, "ended_ms": 5500,
    "instances": [{"exit_code": 0, "log_bytes": 7}, {"exit_code": 137, "log_bytes": 0}]})");
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->phase, JobPhase::failed);
  EXPECT_FALSE(ended->taken);
  EXPECT_EQ(ended->message, "out of memory");
  EXPECT_EQ(ended->duration_ms, 3500);
  EXPECT_EQ(ended->exit_codes.at(1), 137);
  EXPECT_EQ(ended->log_bytes.at(0), 7U);
}

TEST(HttpJobJson, AJobThatWasTakenAwayHasNoResult) {
  EXPECT_TRUE(job(R"({"id": "j", "state": "lost"})")->taken);
}

TEST(HttpJobJson, AStateThatIsNotKnownHasNotEnded) {
  EXPECT_EQ(job(R"({"id": "j", "state": "hibernating"})")->phase, JobPhase::unknown);
}

TEST(HttpJobJson, TimesThatCannotBeAreNotTold) {
  const auto odd = job(R"({"id": "j", "state": "succeeded", "created_ms": -5,
    "started_ms": 9000, "ended_ms": 8000})");
  EXPECT_EQ(odd->created_ms, 0);
  EXPECT_EQ(odd->started_ms, 9000);
  EXPECT_EQ(odd->duration_ms, 0);
  EXPECT_EQ(job(R"({"id": "j", "state": "x", "started_ms": 1e300})")->started_ms, 0);
}

TEST(HttpJobJson, WhatIsNoJobIsNotTakenForOne) {
  for (const char* text :
       {"", "null", "[]", "\"j\"", "{}", R"({"id": "j"})", R"({"id": 7, "state": "running"})",
        R"({"id": "../x", "state": "running"})", R"({"id": "a/b", "state": "running"})"})
    EXPECT_FALSE(job(text)) << text;
  EXPECT_TRUE(job(R"({"id": "j", "state": "running", "instances": [null, {"log_bytes": -1}, 3]})")
                  ->log_bytes.empty());
}

}  // namespace
}  // namespace assay::launch
