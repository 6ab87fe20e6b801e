#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cloud/modelarts.h"
#include "cloud/service_error.h"
#include "cloud/training_jobs_v1.h"

namespace assay::cloud {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

http::Response reply(int status, const std::string& body) {
  http::Response response;
  response.status = status;
  response.body = body;
  return response;
}

TEST(Refusal, IsReadFromEveryFormOfTheServices) {
  const Refusal obs = read_refusal(
      reply(403,
            "<?xml version=\"1.0\"?>\n<Error><Code>AccessDenied</Code><Message>a &amp; b</Message>"
            "<RequestId>42</RequestId></Error>"));
  EXPECT_EQ(obs.code, "AccessDenied");
  EXPECT_EQ(obs.message, "a & b");
  EXPECT_EQ(obs.request_id, "42");
  const Refusal v2 = read_refusal(reply(400, R"({"error_msg":"m","error_code":"ModelArts.2751"})"));
  EXPECT_EQ(v2.code, "ModelArts.2751");
  const Refusal v1 = read_refusal(
      reply(200, R"({"is_success":false,"error_message":"m","error_code":"ModelArts.0105"})"));
  EXPECT_EQ(v1.code, "ModelArts.0105");
  EXPECT_EQ(v1.message, "m");
  const Refusal iam =
      read_refusal(reply(401, R"({"error":{"code":401,"message":"m","title":"Unauthorized"}})"));
  EXPECT_EQ(iam.message, "m");
  EXPECT_FALSE(read_refusal(reply(502, "<html><body>Bad gateway</body></html>")).understood);
  EXPECT_FALSE(read_refusal(reply(502, "<Error><Code>cut")).understood);
}

TEST(Refusal, OfAPageSaysThatTheEndpointIsWrong) {
  const http::Client client;
  EXPECT_THAT(
      service_error(client, reply(502, "<html>\x1b[31mBad gateway</html>"), "GET x", "host").what(),
      AllOf(HasSubstr("host: GET x was refused: 502"), HasSubstr("Bad gateway"),
            HasSubstr("check it, and the proxy"), Not(HasSubstr("\x1b"))));
}

TEST(Refusal, NamesTheClockOnlyWhenItMayBeTheCause) {
  const http::Client client;
  http::Response response = reply(403, "<Error><Code>AccessDenied</Code></Error>");
  response.clock_offset = -std::chrono::minutes(20);
  EXPECT_THAT(service_error(client, response, "GET x", "host").what(),
              HasSubstr("this machine's clock is 20 min 00 s ahead of the server's"));
  response.clock_offset = std::chrono::seconds(20);
  EXPECT_THAT(service_error(client, response, "GET x", "host").what(), Not(HasSubstr("clock")));
}

TEST(Jobs, AreReadFromAnswersThatLackNearlyAll) {
  EXPECT_EQ(training_job_from_json(Json()).phase, JobPhase::unknown);
  EXPECT_EQ(training_job_from_json(Json::parse(R"({"status":{"phase":7,"tasks":"x"}})")).id, "");
  EXPECT_EQ(old_job_from_json(Json::parse(R"({"status":"8","job_id":"3043"})")).phase,
            JobPhase::running);
}

TEST(Jobs, HaveEndedInTheStatesOfTheDocuments) {
  for (const int waiting : {0, 1, 2, 4, 7, 8, 15, 18, 19, 20})
    EXPECT_FALSE(has_ended(phase_from_v1(waiting))) << waiting;
  for (const int over : {3, 5, 6, 10, 11, 12, 13, 14, 16, 17, 21, 22})
    EXPECT_TRUE(has_ended(phase_from_v1(over))) << over;
  EXPECT_EQ(phase_from_v1(10), JobPhase::completed);
  EXPECT_EQ(v1_status_name(8), "JOBSTAT_RUNNING");
  EXPECT_EQ(v1_status_name(21), "JOBSTAT_CHECK_FAILED");
  EXPECT_EQ(v1_status_name(99), "JOBSTAT_99");
  EXPECT_FALSE(has_ended(phase_from_v2("SomethingNew")));
  EXPECT_EQ(phase_from_v2("Abnormal"), JobPhase::failed);
}

TEST(Jobs, AreAskedForAsTheDocumentsSay) {
  TrainingJobSpec spec;
  spec.name = "n";
  spec.code_dir = "/b/code/";
  spec.boot_file = "/b/code/train.py";
  spec.engine_name = "E";
  spec.engine_version = "1";
  spec.parameters = {{"p", "1"}};
  spec.inputs = {{"data_url", "/b/data/"}};
  spec.outputs = {{"train_url", "/b/out/"}};
  spec.environment = {{"K", "v"}};
  spec.flavor_id = "f";
  spec.node_count = 2;
  spec.log_url = "/b/log/";
  spec.auto_stop_hours = 3;
  spec.volumes = {{"server:/share", "/nas", true}};
  EXPECT_EQ(to_json(spec), Json::parse(R"({
    "kind": "job", "metadata": {"name": "n"},
    "algorithm": {"code_dir": "/b/code/", "boot_file": "/b/code/train.py",
      "engine": {"engine_name": "E", "engine_version": "1"},
      "parameters": [{"name": "p", "value": "1"}],
      "inputs": [{"name": "data_url", "remote": {"obs": {"obs_url": "/b/data/"}}}],
      "outputs": [{"name": "train_url", "remote": {"obs": {"obs_url": "/b/out/"}}}],
      "environments": {"K": "v"}},
    "spec": {"resource": {"flavor_id": "f", "node_count": 2},
      "volumes": [{"nfs": {"nfs_server_path": "server:/share", "local_path": "/nas", "read_only": true}}],
      "log_export_path": {"obs_url": "/b/log/"},
      "auto_stop": {"time_unit": "HOURS", "duration": 3}}})"));
}

}  // namespace
}  // namespace assay::cloud
