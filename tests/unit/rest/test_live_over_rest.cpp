#include <chrono>
#include <mutex>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "core/files.h"
#include "engine/execution_folder.h"
#include "plan/plan.h"
#include "report/json_report.h"
#include "rest_world.h"

namespace assay::rest {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// A stream whose reader takes what comes.
class Sink : public serve::HttpStream {
 public:
  bool write(std::string_view bytes) override {
    const std::scoped_lock hold(lock_);
    text_ += bytes;
    return true;
  }
  [[nodiscard]] std::size_t room() const override { return serve::kStreamBuffer; }
  [[nodiscard]] bool gone() const override { return false; }
  void end() override {
    const std::scoped_lock hold(lock_);
    ended_ = true;
  }
  /// Everything, once the stream has ended.
  [[nodiscard]] std::string all() {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (std::chrono::steady_clock::now() < limit) {
      {
        const std::scoped_lock hold(lock_);
        if (ended_) return text_;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return "it did not end";
  }

 private:
  std::mutex lock_;
  std::string text_;
  bool ended_ = false;
};

class LiveOverRest : public RestWorld {
 protected:
  // A job of ann whose first attempt has a run that has ended.
  std::string job_with_run() {
    const jobs::JobId id = job_of("ann", "vision");
    const auto attempt = folder_.path() / "jobs" / std::to_string(id) / "attempt-1";
    const auto run = engine::ExecutionFolder(attempt).runs() / "run1";
    const auto node = run / "main/round1/n1_noderank0";
    std::filesystem::create_directories(node);
    write_file_atomic(run / "plan.json", R"({"cluster": {"launcher": "local"}})");
    write_file_atomic(
        run / "journal.jsonl",
        R"({"event":"round_start","case":"main","round":1,"wall_ns":1794799617000000000})"
        "\n");
    write_file_atomic(node / "rank0.out.log",
                      "hello\n[PerfLog] {\"event\": \"STEP_END\", \"value\": {\"loss\": 2}, "
                      "\"metadata\": {\"time_ms\": 1794799618000}}\nbye\n");
    return fmt::format("/api/v1/jobs/{}", id);
  }
  [[nodiscard]] std::filesystem::path run_folder(const std::string& job) const {
    const std::string id = job.substr(job.rfind('/') + 1);
    return engine::ExecutionFolder(folder_.path() / "jobs" / id / "attempt-1").runs() / "run1";
  }
  serve::HttpResponse get(const std::string& path, const std::string& as = "ann",
                          std::map<std::string, std::string> headers = {}) {
    return ask({.path = path, .as = as, .headers = std::move(headers)});
  }
};

TEST_F(LiveOverRest, JobsAndPushedRunsAreComparedSideBySide) {
  const auto result_of = [](const std::string& run) {
    judge::RunResult result;
    result.run_id = run;
    return dump_line(report::result_to_json(result));
  };
  const std::string job = job_with_run();
  write_file_atomic(run_folder(job) / "result.json", result_of("run1"));
  const std::string id = job.substr(job.rfind('/') + 1);
  context_.pushed = {.list =
                         [](std::int64_t) {
                           return Json::array({{{"id", "20261115-ab3dE9"}}});
                         },
                     .result = [&](const std::string& test) -> std::optional<std::string> {
                       if (test != "20261115-ab3dE9") return std::nullopt;
                       return result_of("run2");
                     }};
  const auto compared = [&](const std::string& ids, const std::string& as = "ann") {
    return get("/api/v1/jobs/compare?ids=" + ids, as);
  };
  const auto both = compared("job:" + id + ",test:20261115-ab3dE9");
  ASSERT_EQ(both.status, 200) << both.body;
  EXPECT_THAT(both.body, AllOf(HasSubstr("run1"), HasSubstr("run2")));
  EXPECT_EQ(get("/api/v1/jobs/compare.html?ids=test:20261115-ab3dE9," + id).status, 200);
  EXPECT_EQ(compared(id + ",test:20261115-nothin").status, 404);
  EXPECT_EQ(compared(id + ",test:..%2F..%2Fx").status, 404);
  EXPECT_EQ(compared(id + ",test:20261115-ab3dE9", "eve").status, 404) << "of another team";
  EXPECT_THAT(get("/api/v1/pushed", "eve").body, HasSubstr("20261115-ab3dE9"));
  EXPECT_THAT(get("/api/v1/pushed/20261115-ab3dE9/result", "eve").body, HasSubstr("run2"));
  EXPECT_EQ(get("/api/v1/pushed/20261115-nothin/result").status, 404);
}

TEST_F(LiveOverRest, TheJudgeSaysOfARunThatGoesOnWhatItKnows) {
  const std::string job = job_with_run();
  plan::Plan plan;
  plan.run_id = "run1";
  plan::CasePlan& main = plan.cases.emplace_back();
  main.name = "main";
  main.command = {"true"};
  write_file_atomic(run_folder(job) / "plan.json", dump_pretty(to_json(plan)));
  EXPECT_EQ(get(job + "/result").status, 404);
  const auto so_far = get(job + "/judgement", "bob");
  ASSERT_EQ(so_far.status, 200) << so_far.body;
  const Json judged = parse_json(so_far.body, "judgement");
  ASSERT_EQ(judged.at("cases").size(), 1U);
  EXPECT_EQ(judged.at("cases")[0].at("name"), "main");
  EXPECT_FALSE(std::filesystem::exists(run_folder(job) / "result.json")) << "it only looks";
  // Asked again soon it is the same answer, not judged anew.
  write_file_atomic(run_folder(job) / "plan.json", "{}");
  EXPECT_EQ(get(job + "/judgement").body, so_far.body);
  EXPECT_EQ(get(job + "/judgement", "eve").status, 404);
}

TEST_F(LiveOverRest, ARunThatCannotBeJudgedYetSaysSo) {
  const std::string job = job_with_run();  // its plan is none
  const auto response = get(job + "/judgement");
  EXPECT_EQ(response.status, 404);
  EXPECT_THAT(response.body, HasSubstr("nothing to judge yet"));
  OpenJudgements small(10);
  try {
    (void)small.of(run_folder(job));
    ADD_FAILURE() << "it was judged";
  } catch (const serve::Refusal& refusal) {
    EXPECT_EQ(refusal.status, 413);
  }
}

TEST_F(LiveOverRest, AConsoleIsPagedAndSearched) {
  const std::string job = job_with_run();
  const Json page = json({.path = job + "/log?attempt=1&from=2&lines=1", .as = "ann"});
  EXPECT_EQ(page["total"], 3);
  EXPECT_EQ(page["lines"][0]["n"], 2);
  EXPECT_EQ(page["lines"][0]["level"], "perf");
  EXPECT_EQ(page["ended"], true);
  const Json found = json({.path = job + "/log?attempt=1&search=BYE", .as = "bob"});
  EXPECT_EQ(found["lines"][0]["n"], 3);
}

TEST_F(LiveOverRest, MetricsAreSeries) {
  const Json metrics = json({.path = job_with_run() + "/metrics?attempt=1", .as = "ann"});
  EXPECT_EQ(metrics["series"][0]["name"], "loss");
}

TEST_F(LiveOverRest, WhoMayNotReadTheJobSeesNothingOfIt) {
  const std::string job = job_with_run();
  for (const char* path : {"/log", "/log/stream", "/log/download", "/metrics", "/metrics/stream"})
    EXPECT_EQ(get(job + path + "?attempt=1", "eve").status, 404) << path;
}

TEST_F(LiveOverRest, AJobWithoutARunSaysSo) {
  const std::string job = fmt::format("/api/v1/jobs/{}", job_of("ann", "vision"));
  const auto response = get(job + "/log");
  EXPECT_EQ(response.status, 404);
  EXPECT_THAT(response.body, HasSubstr("has no run yet"));
}

TEST_F(LiveOverRest, AJobThatNeverRanSaysThat) {
  Json asked = submission();
  asked["nodes"] = 2;  // of one: it waits
  const Json made = json({.method = "POST", .path = "/api/v1/jobs", .as = "ann", .body = asked});
  const jobs::JobId id = made["jobs"][0]["id"];
  (void)platform_.ask(id, jobs::EventKind::kill_asked, "ann");
  const std::string job = fmt::format("/api/v1/jobs/{}", id);
  EXPECT_THAT(get(job + "/log").body, HasSubstr("never ran: it is killed"));
  EXPECT_THAT(get(job + "/log?attempt=9").body, HasSubstr("has no attempt 9"));
}

TEST_F(LiveOverRest, AParameterThatIsNoneIsNamed) {
  const std::string job = job_with_run();
  EXPECT_EQ(get(job + "/log?attempt=1&from=x").status, 400);
  EXPECT_EQ(get(job + "/metrics?attempt=1&points=x").status, 400);
  EXPECT_EQ(get(job + "/log?attempt=x").status, 400);
}

TEST_F(LiveOverRest, AStreamOfLinesGoesOnBehindTheLastEvent) {
  const std::string job = job_with_run();
  const auto response = get(job + "/log/stream?attempt=1", "ann", {{"last-event-id", "2"}});
  ASSERT_TRUE(response.streaming.begin);
  const auto sink = std::make_shared<Sink>();
  response.streaming.begin(sink);
  const std::string text = sink->all();
  EXPECT_THAT(text, ::testing::ContainsRegex(
                        "event: line\nid: [0-9a-f]+[.][0-9]+[.]3[^\n]*\ndata: [{]\"n\":3,"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("hello")));
  EXPECT_THAT(text, HasSubstr("event: end"));
}

TEST_F(LiveOverRest, AnEventsIdIsAPlaceToGoOnFrom) {
  const std::string job = job_with_run();
  const Json page = json({.path = job + "/log?attempt=1&lines=1", .as = "ann"});
  const std::string place = page["place"];
  const Json rest = json({.path = job + "/log?attempt=1&after=" + place, .as = "ann"});
  ASSERT_EQ(rest["lines"].size(), 2U);
  EXPECT_EQ(rest["lines"][1]["text"], "bye");
  const auto response = get(job + "/log/stream?attempt=1", "ann", {{"last-event-id", place}});
  ASSERT_TRUE(response.streaming.begin);
  const auto sink = std::make_shared<Sink>();
  response.streaming.begin(sink);
  const std::string text = sink->all();
  EXPECT_THAT(text, ::testing::Not(HasSubstr("hello")));
  EXPECT_THAT(text, HasSubstr("bye"));
  EXPECT_EQ(get(job + "/log?attempt=1&after=nonsense").status, 400);
}

TEST_F(LiveOverRest, AStreamOfMetricsEndsWithTheRun) {
  const auto response = get(job_with_run() + "/metrics/stream?attempt=1");
  ASSERT_TRUE(response.streaming.begin);
  const auto sink = std::make_shared<Sink>();
  response.streaming.begin(sink);
  EXPECT_THAT(sink->all(), HasSubstr("event: points\ndata: {\"series\":"));
}

TEST_F(LiveOverRest, ALogIsDownloadedAsText) {
  const auto response = get(job_with_run() + "/log/download?attempt=1&rank=0");
  EXPECT_EQ(response.body.substr(0, 6), "hello\n");
  EXPECT_THAT(header(response, "Content-Disposition"), HasSubstr("-rank0.log"));
}

TEST_F(LiveOverRest, ALineThatIsLongerThanAPartIsWholeInTheEnd) {
  const std::string job = job_with_run();
  const std::string whole =
      "before\n" + std::string(300'000, 'x') + "\nbetween\n" + std::string(100'000, 'y') + "\n";
  write_file_atomic(run_folder(job) / "main/round1/n1_noderank0/rank0.out.log", whole);
  std::string all;
  std::string from = "1";
  while (!from.empty() && all.size() <= whole.size()) {
    const auto part = get(job + "/log/download?attempt=1&rank=0&most=131072&from=" + from);
    ASSERT_EQ(part.status, 200);
    EXPECT_LE(part.body.size(), 131072U);
    from = header(part, "X-Assay-Next");
    std::string text = part.body;
    if (!from.empty() && from.find('.') == std::string::npos)
      text.erase(text.rfind('\n', text.size() - 2) + 1);
    all += text;
  }
  EXPECT_EQ(all, whole);
  EXPECT_EQ(get(job + "/log/download?attempt=1&from=x").status, 400);
}

TEST_F(LiveOverRest, ARankThatThereIsNotIsNamed) {
  const std::string job = job_with_run();
  for (const char* what : {"/log", "/log/stream", "/log/download"}) {
    const auto answer = get(job + what + "?attempt=1&rank=99");
    EXPECT_EQ(answer.status, 404) << what;
    EXPECT_THAT(answer.body, AllOf(HasSubstr("no_rank"), HasSubstr("has no rank 99"),
                                   HasSubstr("it has one rank: 0")));
  }
}

TEST_F(LiveOverRest, APartOfALogHasNoMoreBytesThanWasAsked) {
  const std::string job = job_with_run();
  std::string whole;
  for (int i = 0; i < 20'000; ++i) whole += fmt::format("line {} of many\n", i);
  write_file_atomic(run_folder(job) / "main/round1/n1_noderank0/rank0.out.log", whole);
  std::string all;
  std::string from = "1";
  int parts = 0;
  while (!from.empty() && ++parts < 100) {
    const auto part = get(job + "/log/download?attempt=1&rank=0&most=65536&from=" + from);
    ASSERT_EQ(part.status, 200);
    EXPECT_LE(part.body.size(), 65536U);
    from = header(part, "X-Assay-Next");
    std::string text = part.body;
    if (!from.empty()) {
      EXPECT_THAT(text, HasSubstr("from=" + from));
      text.erase(text.rfind('\n', text.size() - 2) + 1);
    }
    all += text;
  }
  EXPECT_EQ(all, whole);
  EXPECT_EQ(parts, static_cast<int>(whole.size() / 65536) + 1);
}

}  // namespace
}  // namespace assay::rest
