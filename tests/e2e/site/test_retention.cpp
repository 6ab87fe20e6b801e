// What is kept no longer really goes, and what is said about it.

#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "core/files.h"
#include "core/text.h"
#include "core/time.h"
#include "database/database.h"
#include "e2e/tester/tester_process.h"
#include "eventually.h"

namespace assay::serve {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

constexpr std::int64_t kDayNs = 24 * 3600 * 1'000'000'000LL;

class Retention : public TesterTest {
 protected:
  void SetUp() override {
    TesterTest::SetUp();
    start_tester();
    const Reply made = as_admin("POST", "/api/v1/jobs", {{"name", "a"}, {"command", "echo hello"}});
    ASSERT_EQ(made.status, 201) << made.response.body;
    ASSERT_TRUE(testing::eventually(
        [&] { return as_admin("GET", "/api/v1/jobs/1").json["state"] == "finished"; }, 120s));
    before_ = as_admin("GET", "/api/v1/jobs/1").json;
    result_ = as_admin("GET", "/api/v1/jobs/1/result").response.body;
    report_ = as_admin("GET", "/api/v1/jobs/1/report").response.body;
    EXPECT_TRUE(tester().end().ok());
  }
  Reply as_admin(const std::string& method, const std::string& path, const Json& body = {}) {
    http::Headers headers;
    if (!body.is_null()) headers.emplace_back("Content-Type", "application/json");
    return ask(method, path, body.is_null() ? std::string() : dump_line(body), headers,
               std::string(trim(read_file(data_ / "admin.token"))));
  }
  // As if the job had ended so long ago.
  void age(int days) const {
    database::Database jobs(data_ / "jobs.db");
    jobs.prepare("UPDATE jobs SET ended_ns = ?1").bind(1, wall_now_ns() - days * kDayNs).run();
  }
  void keep(int logs_days, int jobs_days) const {
    write_file_atomic(
        data_ / "cluster.json",
        dump_line({{"queues", Json::array()},
                   {"teams", Json::array()},
                   {"reservations", Json::array()},
                   {"drains", Json::object()},
                   {"retention", {{"logs_days", logs_days}, {"jobs_days", jobs_days}}}}));
  }
  [[nodiscard]] std::set<std::string> files() const {
    std::set<std::string> out;
    const fs::path folder = data_ / "jobs/1";
    if (!fs::exists(folder)) return out;
    for (const fs::directory_entry& one : fs::recursive_directory_iterator(folder))
      if (!one.is_directory()) out.insert(one.path().lexically_relative(folder).string());
    return out;
  }
  // As docs/platform.md has it: attempt-1/work/…, attempt-1/tensorboard/…, and of a run
  // (attempt-1/run/RUN) all folders but mllog.
  [[nodiscard]] static bool goes(const fs::path& file) {
    const std::vector<fs::path> parts(file.begin(), file.end());
    if (parts.size() > 2 && (parts[1] == "work" || parts[1] == "tensorboard")) return true;
    return parts.size() > 4 && parts[1] == "run" && parts[3] != "mllog";
  }

  Json before_;
  std::string result_;
  std::string report_;
};

TEST_F(Retention, LogsGoWhenItWasSaidAndWhatCameOutStays) {
  keep(1, 0);
  age(2);
  const std::set<std::string> all = files();
  start_tester({"--upkeep-every", "5s"});
  EXPECT_THAT(tester().said(),
              AllOf(HasSubstr("0 jobs and the logs of 1 job will be removed at 20")));
  EXPECT_EQ(files(), all) << "nothing goes before its time";
  EXPECT_EQ(as_admin("GET", "/api/v1/jobs/1/log").status, 200);
  ASSERT_TRUE(testing::eventually(
      [&] { return tester().said_later().find("were removed") != std::string::npos; }, 60s));

  std::set<std::string> expected{"logs-removed.json"};
  for (const std::string& file : all)
    if (!goes(file)) expected.insert(file);
  EXPECT_EQ(files(), expected);
  EXPECT_LT(expected.size(), all.size());
  EXPECT_THAT(files(), IsSupersetOf({"attempt-1/controller.log", "attempt-1/suite.yaml"}));

  const Json job = as_admin("GET", "/api/v1/jobs/1").json;
  EXPECT_EQ(job["verdict"], before_["verdict"]);
  EXPECT_THAT(job["logs_removed"].get<std::string>(), HasSubstr("T"));
  EXPECT_TRUE(before_["logs_removed"].is_null());
  EXPECT_EQ(as_admin("GET", "/api/v1/jobs/1/result").response.body, result_);
  EXPECT_EQ(as_admin("GET", "/api/v1/jobs/1/report").response.body, report_);
  for (const char* what : {"log", "log/stream", "log/download", "metrics", "metrics/stream"}) {
    const Reply gone = as_admin("GET", fmt::format("/api/v1/jobs/1/{}", what));
    EXPECT_EQ(gone.status, 410) << what;
    EXPECT_THAT(gone.response.body, HasSubstr("were removed")) << what;
  }
  EXPECT_THAT(assay({"job", "1"}).out, HasSubstr("removed"));
  EXPECT_THAT(assay({"job", "1", "--logs"}).err, HasSubstr("the logs of job 1 were removed"));
}

TEST_F(Retention, AServerThatIsKilledInTheMiddleGoesOn) {
  keep(1, 0);
  age(2);
  const fs::path work = data_ / "jobs/1/attempt-1/work";
  for (int folder = 0; folder < 100; ++folder) {
    fs::create_directories(work / std::to_string(folder));
    for (int file = 0; file < 200; ++file)
      write_file_atomic(work / std::to_string(folder) / std::to_string(file), "x", false);
  }
  start_tester({"--upkeep-every", "1s"});
  ASSERT_TRUE(
      testing::eventually([&] { return fs::exists(data_ / "jobs/1/logs-removed.json"); }, 60s));
  kill_tester();
  start_tester({"--upkeep-every", "1s"});
  // Whatever was left: nobody is shown half of a log, and what came out is there.
  EXPECT_EQ(as_admin("GET", "/api/v1/jobs/1/log").status, 410);
  EXPECT_EQ(as_admin("GET", "/api/v1/jobs/1/report").response.body, report_);
  EXPECT_TRUE(testing::eventually([&] { return !fs::exists(work); }, 60s));
  EXPECT_EQ(as_admin("GET", "/api/v1/jobs/1/result").response.body, result_);
}

TEST_F(Retention, OldJobsGoAsAWhole) {
  keep(0, 1);
  age(2);
  start_tester({"--upkeep-every", "1s"});
  EXPECT_THAT(tester().said(), HasSubstr("1 job and the logs of 0 jobs will be removed at"));
  EXPECT_TRUE(
      testing::eventually([&] { return as_admin("GET", "/api/v1/jobs/1").status == 404; }, 60s));
  EXPECT_TRUE(testing::eventually([&] { return files().empty(); }, 30s));
}

}  // namespace
}  // namespace assay::serve
