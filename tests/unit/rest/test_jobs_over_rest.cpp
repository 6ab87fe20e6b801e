#include <fmt/format.h>
#include <gmock/gmock.h>

#include "core/files.h"
#include "core/sha256.h"
#include "core/text.h"
#include "lang/language.h"
#include "rest_world.h"

namespace assay::rest {
namespace {

using ::testing::HasSubstr;

class JobsOverRest : public RestWorld {
 protected:
  Json submit(const Json& body, const std::string& as = "ann") {
    return json({.method = "POST", .path = "/api/v1/jobs", .as = as, .body = body});
  }
};

TEST_F(JobsOverRest, AJobIsAsItWasSubmitted) {
  Json body = submission("ResNet-20");
  body["nodes"] = 1;
  body["env"] = {{"LR", "0.1"}};
  const Json made = submit(body);
  ASSERT_EQ(made["jobs"].size(), 1U);
  EXPECT_EQ(made["jobs"][0]["owner"], "ann");
  EXPECT_EQ(made["jobs"][0]["team"], "vision");
  const Json job =
      json({.path = fmt::format("/api/v1/jobs/{}", made["jobs"][0]["id"].get<int>()), .as = "bob"});
  EXPECT_EQ(job["submission"]["env"]["LR"], "0.1");
  EXPECT_EQ(job["name"], "ResNet-20");
  EXPECT_EQ(job["may"], Json::array({"read_job", "submit_job"}));
  EXPECT_THAT(job["submitted"].get<std::string>(), ::testing::MatchesRegex("20.*T.*\\....Z"));
}

TEST_F(JobsOverRest, ARequestThatIsSentAgainGivesTheSameJobs) {
  Json body = submission();
  body["request_key"] = "k1";
  EXPECT_EQ(submit(body)["jobs"][0]["id"], submit(body)["jobs"][0]["id"]);
}

TEST_F(JobsOverRest, AnArrayIsManyJobs) {
  Json body = submission();
  body["array"] = "0-4%2";
  EXPECT_EQ(submit(body)["jobs"].size(), 5U);
  EXPECT_EQ(json({.path = "/api/v1/jobs?limit=2", .as = "eve"})["total"], 5);
}

TEST_F(JobsOverRest, AnArrayIsStoppedAsOneOrInPart) {
  platform_.drain("n1", "so that they wait", "root");
  Json body = submission();
  body["array"] = "0-4";
  const int first = submit(body)["jobs"][0]["id"];
  const auto all = [&] {
    return json({.path = "/api/v1/jobs?arrays=1", .as = "ann"})["jobs"][0]["elements"];
  };
  EXPECT_EQ(all()["count"], 5);
  EXPECT_EQ(all()["states"], Json({{"queued", 5}}));
  // Any of its elements names it.
  const std::string of_array = fmt::format("/api/v1/jobs/{}/array/", first + 1);
  const auto deed = [&](const std::string& what, const std::string& as = "ann") {
    return ask({.method = "POST", .path = of_array + what, .as = as});
  };
  EXPECT_EQ(parse_json(deed("pause?indices=1-2,4").body, "")["changed"], 3);
  EXPECT_EQ(all()["states"], Json({{"queued", 2}, {"paused", 3}}));
  const Json resumed = parse_json(deed("resume").body, "");
  EXPECT_EQ(resumed["changed"], 3);
  EXPECT_EQ(resumed["refused"], 2);
  EXPECT_THAT(resumed["words"].get<std::string>(), HasSubstr("queued"));
  EXPECT_TRUE(resumed["next"].is_null());
  EXPECT_EQ(deed("kill", "bob").status, 403);
  EXPECT_EQ(deed("kill?indices=0-9%2").status, 400);
  EXPECT_EQ(deed("kill?indices=9").status, 409);
  EXPECT_EQ(parse_json(deed("kill").body, "")["changed"], 5);
  EXPECT_EQ(all()["states"], Json({{"killed", 5}}));
}

TEST_F(JobsOverRest, AnArrayIsStoppedFromItsEndAndWhereItWasLeft) {
  platform_.drain("n1", "so that they wait", "root");
  Json body = submission();
  body["array"] = "0-4";
  const int first = submit(body)["jobs"][0]["id"];
  const Json rest =
      json({.method = "POST",
            .path = fmt::format("/api/v1/jobs/{}/array/kill?from={}", first, first + 1),
            .as = "ann"});
  EXPECT_EQ(rest["changed"], 2);
  const auto state = [&](int index) {
    return json({.path = fmt::format("/api/v1/jobs/{}", first + index), .as = "ann"})["state"];
  };
  EXPECT_EQ(state(0), "killed");
  EXPECT_EQ(state(1), "killed");
  EXPECT_EQ(state(2), "queued");
}

TEST_F(JobsOverRest, AJobThatIsNotOfAnArrayIsNotTakenForOne) {
  const std::string path = fmt::format("/api/v1/jobs/{}/array/kill", job_of("ann", "vision"));
  const auto response = ask({.method = "POST", .path = path, .as = "ann"});
  EXPECT_EQ(response.status, 409);
  EXPECT_THAT(response.body, HasSubstr("no_array"));
}

TEST_F(JobsOverRest, ProblemsNameTheirFields) {
  const auto response = ask({.method = "POST",
                             .path = "/api/v1/jobs",
                             .as = "ann",
                             .body = {{"name", "x"}, {"command", "true"}, {"nodez", 2}}});
  EXPECT_EQ(response.status, 422);
  EXPECT_EQ(parse_json(response.body, "")["error"]["problems"][0]["path"], "nodez");
}

TEST_F(JobsOverRest, WhatIsSaidForPeopleComesInTheirLanguageAndDataAsItIs) {
  Json body = submission("started");  // a message, too
  body["nodes"] = 0;
  const auto problem = [&](const std::string& language) {
    const auto response = ask({.method = "POST",
                               .path = "/api/v1/jobs",
                               .as = "ann",
                               .body = body,
                               .headers = {{"x-assay-language", language}}});
    return parse_json(response.body, "")["error"]["problems"][0];
  };
  EXPECT_EQ(problem("en")["message"], "expected a number from 1 to 100000, not 0");
  EXPECT_EQ(problem("")["message"], problem("en")["message"]);
  EXPECT_NE(problem("zh")["message"], problem("en")["message"]);
  EXPECT_EQ(problem("zh")["path"], "nodes");
  body["nodes"] = 1;
  const int id = submit(body)["jobs"][0]["id"];
  const Json job = json({.path = fmt::format("/api/v1/jobs/{}", id),
                         .as = "ann",
                         .headers = {{"x-assay-language", "zh"}}});
  EXPECT_EQ(job["name"], "started");
  // It may have moved on.
  EXPECT_THAT(job["state"].get<std::string>(), ::testing::AnyOf("queued", "scheduling", "running"));
}

// It would have no quota, and nobody could read its jobs.
TEST_F(JobsOverRest, ATeamThatThereIsNotIsRefusedAlsoForAnAdministrator) {
  Json body = submission();
  body["team"] = "nope";
  const auto response = ask({.method = "POST", .path = "/api/v1/jobs", .as = "root", .body = body});
  EXPECT_EQ(response.status, 422);
  EXPECT_EQ(parse_json(response.body, "")["error"]["problems"][0]["path"], "team");
}

TEST_F(JobsOverRest, APreviewSubmitsNothing) {
  const Json seen =
      json({.method = "POST", .path = "/api/v1/jobs/preview", .as = "ann", .body = submission()});
  EXPECT_EQ(seen["problems"], Json::array());
  EXPECT_THAT(seen["suite"].get<std::string>(), HasSubstr("sleep 1"));
  EXPECT_EQ(seen["time_s"], 86'400.0) << "it asked for none";
  EXPECT_EQ(json({.path = "/api/v1/jobs", .as = "ann"})["total"], 0);
}

TEST_F(JobsOverRest, APreviewOfAnArraySaysHowManyJobsItIs) {
  Json body = submission();
  body["array"] = "0-9%3";
  const Json seen =
      json({.method = "POST", .path = "/api/v1/jobs/preview", .as = "ann", .body = body});
  EXPECT_EQ(seen["elements"], 10);
  EXPECT_EQ(seen["at_once"], 3);
}

TEST_F(JobsOverRest, AJobIsKilledOnce) {
  const std::string path = fmt::format("/api/v1/jobs/{}", job_of("ann", "vision"));
  EXPECT_EQ(ask({.method = "DELETE", .path = path, .as = "ann"}).status, 409) << "it has not ended";
  EXPECT_EQ(ask({.method = "POST", .path = path + "/kill", .as = "ann"}).status, 200);
  EXPECT_EQ(ask({.method = "POST", .path = path + "/approve", .as = "root"}).status, 409);
  const Json timeline = json({.path = path + "/timeline", .as = "ann"});
  EXPECT_GE(timeline["events"].size(), 2U);
  EXPECT_EQ(timeline["events"][0]["event"], "submitted");
}

TEST_F(JobsOverRest, ListsRefuseWhatTheyDoNotKnow) {
  for (const char* query : {"state=sleeping", "order=size", "limit=0", "limit=x", "offset=-1",
                            "limit=99999999999999999999"})
    EXPECT_EQ(ask({.path = std::string("/api/v1/jobs?") + query, .as = "ann"}).status, 400)
        << query;
  EXPECT_EQ(ask({.path = "/api/v1/jobs?state=queued,running&order=name&descending=0", .as = "ann"})
                .status,
            200);
}

TEST_F(JobsOverRest, WhatAForeignJobWaitsForIsNotShown) {
  Json body = submission();
  body["nodes"] = 50;
  (void)submit(body);
  const Json row = json({.path = "/api/v1/jobs", .as = "eve"})["jobs"][0];
  EXPECT_TRUE(row["pending"].is_null());
}

TEST_F(JobsOverRest, AResultThatIsNotThereYetIsSaid) {
  const std::string path = fmt::format("/api/v1/jobs/{}", job_of("ann", "vision"));
  for (const char* what : {"/result", "/report", "/judgement"})
    EXPECT_EQ(ask({.path = path + what, .as = "ann"}).status, 404);
  EXPECT_EQ(ask({.path = "/api/v1/jobs/compare?ids=1", .as = "ann"}).status, 400);
}

TEST_F(JobsOverRest, OfAJobThatHasEndedAResultIsNotPromised) {
  platform_.drain("n1", "so that it waits", "root");
  const jobs::JobId id = job_of("ann", "vision");
  const std::string path = fmt::format("/api/v1/jobs/{}/result", id);
  EXPECT_THAT(ask({.path = path, .as = "ann"}).body, HasSubstr("yet"));
  (void)platform_.ask(id, jobs::EventKind::kill_asked, "ann");
  const Json killed = json({.path = path, .as = "ann"})["error"];
  EXPECT_EQ(killed["code"], "no_result");
  EXPECT_EQ(killed["message"], fmt::format("job {} has no result.json: it is killed", id));
  EXPECT_THAT(std::string(killed["advice"]), HasSubstr("ended before"));
  const Json chinese =
      json({.path = path, .as = "ann", .headers = {{"x-assay-language", "zh"}}})["error"];
  EXPECT_THAT(std::string(chinese["message"]), HasSubstr("没有 result.json"));
  EXPECT_THAT(std::string(chinese["advice"]), HasSubstr("评判"));
}

TEST_F(JobsOverRest, WhatHappensToJobsIsSaidInChinese) {
  const auto in_chinese = [](const std::string& text) {
    return lang::in_language(lang::Language::chinese, text);
  };
  EXPECT_EQ(in_chinese("failed with exit code 3: boom"), "失败，退出码 3：boom");
  EXPECT_EQ(in_chinese("failed with exit code 3"), "失败，退出码 3");
  EXPECT_EQ(in_chinese("started"), "已启动");
  EXPECT_EQ(in_chinese("paused by ann"), "已由 ann 暂停");
  EXPECT_EQ(in_chinese("stopped with exit code 143 after it had run for as long as it may"),
            "因为运行时间已达上限而停止，退出码 143");
}

TEST_F(JobsOverRest, AWholeNumberIsOneHoweverItIsWritten) {
  Json body = submission();
  body["nodes"] = 1.0;
  EXPECT_EQ(ask({.method = "POST", .path = "/api/v1/jobs", .as = "ann", .body = body}).status, 201);
  body["nodes"] = 1.5;
  EXPECT_EQ(ask({.method = "POST", .path = "/api/v1/jobs", .as = "ann", .body = body}).status, 422);
  body["nodes"] = 1e300;
  EXPECT_EQ(ask({.method = "POST", .path = "/api/v1/jobs", .as = "ann", .body = body}).status, 422);
}

TEST_F(JobsOverRest, TheAddressNamesWhatIsWritten) {
  const auto put = [&](const std::string& path, const Json& body) {
    return ask({.method = "PUT", .path = "/api/v1/" + path, .as = "root", .body = body}).status;
  };
  EXPECT_EQ(put("queues/q2", {{"name", "other"}}), 400);
  EXPECT_EQ(put("queues/q2", {{"name", "q2"}}), 200);
  EXPECT_EQ(put("teams/speech", {{"name", "vision"}}), 400);
  EXPECT_EQ(put("users/u1", {{"name", "bob"}}), 400);
  EXPECT_FALSE(accounts_.find("u1"));
  EXPECT_EQ(put("users/u1", {{"name", "u1"}}), 201);
  EXPECT_EQ(put("users/u1", {{"name", 1}}), 400);
}

TEST_F(JobsOverRest, QuotasAndReservationsMeanWhatTheySay) {
  const auto put = [&](const std::string& path, const Json& body) {
    return ask({.method = "PUT", .path = "/api/v1/" + path, .as = "root", .body = body});
  };
  EXPECT_EQ(put("teams/vision", {{"quota", {{"", 1}}}}).status, 400);
  EXPECT_THAT(put("teams/vision", {{"weight", 1e308}}).body, HasSubstr("at most 1000000"));
  EXPECT_EQ(put("reservations/r", {{"nodes", Json::array({"n1", "n1"})},
                                   {"from", "2030-01-01T00:00:00Z"},
                                   {"to", "2030-01-02T00:00:00Z"}})
                .status,
            400);
}

TEST_F(JobsOverRest, TheSuiteIsText) {
  const auto response =
      ask({.path = fmt::format("/api/v1/jobs/{}/suite", job_of("ann", "vision")), .as = "ann"});
  EXPECT_THAT(response.body, HasSubstr("sleep 1"));
  EXPECT_THAT(response.type, HasSubstr("text/plain"));
}

TEST_F(JobsOverRest, AQueueInWhichJobsWaitStays) {
  (void)ask(
      {.method = "PUT", .path = "/api/v1/queues/night", .as = "root", .body = {{"closed", true}}});
  Json body = submission();
  body["queue"] = "night";
  const Json made = json({.method = "POST", .path = "/api/v1/jobs", .as = "ann", .body = body});
  EXPECT_EQ(ask({.method = "DELETE", .path = "/api/v1/queues/night", .as = "root"}).status, 409);
  const std::string job = fmt::format("/api/v1/jobs/{}", made["jobs"][0]["id"].get<int>());
  EXPECT_EQ(ask({.method = "POST", .path = job + "/kill", .as = "ann"}).status, 200);
  EXPECT_EQ(ask({.method = "DELETE", .path = "/api/v1/queues/night", .as = "root"}).status, 200);
}

// What waits at its quota would start at once, and have none.
TEST_F(JobsOverRest, ATeamWhoseJobsHaveNotEndedStays) {
  const auto put = Asked{.method = "PUT",
                         .path = "/api/v1/teams/vision",
                         .as = "root",
                         .body = {{"quota", {{"cpu", 0}}}, {"members", Json::array({"ann"})}}};
  ASSERT_EQ(ask(put).status, 200);
  const std::string job = fmt::format("/api/v1/jobs/{}", job_of("ann", "vision"));
  EXPECT_EQ(ask({.method = "DELETE", .path = "/api/v1/teams/vision", .as = "root"}).status, 409);
  EXPECT_EQ(ask({.method = "POST", .path = job + "/kill", .as = "ann"}).status, 200);
  EXPECT_EQ(ask({.method = "DELETE", .path = "/api/v1/teams/vision", .as = "root"}).status, 200);
}

TEST_F(JobsOverRest, RunningOneElementOfAnArrayAgainSubmitsThatOne) {
  Json body = submission();
  body["array"] = "0-3";
  const Json made = json({.method = "POST", .path = "/api/v1/jobs", .as = "ann", .body = body});
  const std::string third = fmt::format("/api/v1/jobs/{}", made["jobs"][2]["id"].get<int>());
  const Json again = json({.method = "POST", .path = third + "/rerun", .as = "ann"});
  ASSERT_EQ(again["jobs"].size(), 1U);
  EXPECT_EQ(again["jobs"][0]["array_index"], 2);
}

// A filter that is misspelt would list, or do something to, all that there is.
TEST_F(JobsOverRest, RefusesAParameterThatItDoesNotKnow) {
  const serve::HttpResponse response = ask({.path = "/api/v1/jobs?onwer=ann", .as = "ann"});
  EXPECT_EQ(response.status, 400);
  EXPECT_THAT(response.body, HasSubstr("there is no parameter 'onwer' here"));
}

TEST_F(JobsOverRest, AnEmptyNameIsRefused) {
  const std::string path = fmt::format("/api/v1/jobs/{}", job_of("ann", "vision"));
  EXPECT_EQ(ask({.method = "PATCH", .path = path, .as = "ann", .body = {{"name", ""}}}).status,
            422);
}

TEST_F(JobsOverRest, AdministratorsRevokeTokensOfOthers) {
  const Json made = {{"name", "laptop"}};
  (void)json({.method = "POST", .path = "/api/v1/tokens", .as = "ann", .body = made});
  const std::string path = "/api/v1/tokens/laptop?owner=ann";
  EXPECT_EQ(ask({.method = "DELETE", .path = path, .as = "eve"}).status, 403);
  EXPECT_EQ(ask({.method = "DELETE", .path = path, .as = "root"}).status, 200);
  EXPECT_EQ(ask({.method = "DELETE", .path = "/api/v1/tokens/laptop", .as = "ann"}).status, 404);
}

TEST_F(JobsOverRest, QueuesTeamsAndReservationsAreWrittenAndRead) {
  EXPECT_EQ(ask({.method = "PUT",
                 .path = "/api/v1/queues/night",
                 .as = "root",
                 .body = {{"priority", 5}, {"approval", true}}})
                .status,
            200);
  EXPECT_EQ(ask({.method = "PUT",
                 .path = "/api/v1/queues/night",
                 .as = "root",
                 .body = {{"prioritty", 5}}})
                .status,
            400);
  const Json queues = json({.path = "/api/v1/queues", .as = "eve"})["queues"];
  EXPECT_EQ(queues.size(), 2U);
  EXPECT_EQ(queues[1]["approval"], true);
  EXPECT_EQ(ask({.method = "DELETE", .path = "/api/v1/queues/default", .as = "root"}).status, 409);
  EXPECT_EQ(ask({.method = "PUT",
                 .path = "/api/v1/teams/vision",
                 .as = "root",
                 .body = {{"quota", {{"cpu", 2}}}, {"members", Json::array({"ann"})}}})
                .status,
            200);
  EXPECT_EQ(accounts_.members("vision"), std::vector<std::string>{"ann"});
  EXPECT_EQ(
      ask({.method = "PUT", .path = "/api/v1/teams/vision", .as = "root", .body = {{"weight", -1}}})
          .status,
      400);
  EXPECT_EQ(ask({.method = "PUT",
                 .path = "/api/v1/reservations/repair",
                 .as = "root",
                 .body = {{"nodes", Json::array({"n1"})},
                          {"from", "2030-01-01T00:00:00Z"},
                          {"to", "2030-01-02T00:00:00Z"}}})
                .status,
            200);
  EXPECT_EQ(json({.path = "/api/v1/reservations", .as = "ann"})["reservations"][0]["from"],
            "2030-01-01T00:00:00.000Z");
}

TEST_F(JobsOverRest, ANodeIsDrainedWithItsReason) {
  EXPECT_EQ(ask({.method = "POST",
                 .path = "/api/v1/nodes/n1/drain",
                 .as = "root",
                 .body = {{"reason", "fan"}}})
                .status,
            200);
  const Json node = json({.path = "/api/v1/nodes", .as = "ann"})["nodes"][0];
  EXPECT_EQ(node["drained"], true);
  EXPECT_EQ(node["drained_by"], "root");
  EXPECT_EQ(node["reason"], "fan");
  EXPECT_EQ(ask({.method = "POST", .path = "/api/v1/nodes/n9/undrain", .as = "root"}).status, 404);
}

TEST_F(JobsOverRest, AnIncompleteTemplateIsFine) {
  EXPECT_EQ(ask({.method = "PUT",
                 .path = "/api/v1/templates/own/two%20nodes",
                 .as = "ann",
                 .body = {{"nodes", 2}}})
                .status,
            200);
  EXPECT_EQ(ask({.method = "PUT",
                 .path = "/api/v1/templates/own/wrong",
                 .as = "ann",
                 .body = {{"nodes", "two"}}})
                .status,
            422);
  const Json templates = json({.path = "/api/v1/templates", .as = "ann"})["templates"];
  ASSERT_EQ(templates.size(), 1U);
  EXPECT_EQ(templates[0]["name"], "two nodes");
  EXPECT_EQ(json({.path = "/api/v1/templates", .as = "bob"})["templates"].size(), 0U);
}

TEST_F(JobsOverRest, ATokenIsShownOnceAndWorks) {
  const Json made =
      json({.method = "POST", .path = "/api/v1/tokens", .as = "ann", .body = {{"name", "laptop"}}});
  tokens_["laptop"] = made["token"];
  EXPECT_EQ(json({.path = "/api/v1/session", .as = "laptop"})["user"], "ann");
  EXPECT_THAT(ask({.path = "/api/v1/tokens", .as = "ann"}).body,
              ::testing::Not(HasSubstr(made["token"].get<std::string>())));
  EXPECT_EQ(ask({.method = "DELETE", .path = "/api/v1/tokens/laptop", .as = "bob"}).status, 404);
  EXPECT_EQ(ask({.method = "DELETE", .path = "/api/v1/tokens/laptop", .as = "ann"}).status, 200);
  EXPECT_EQ(ask({.path = "/api/v1/session", .as = "laptop"}).status, 401);
}

TEST_F(JobsOverRest, ATokenMakesNoneThatLivesLongerThanItself) {
  const auto expiring = [&](const std::string& as, const std::string& name, Json expires) {
    Asked asked{.method = "POST", .path = "/api/v1/tokens", .body = {{"name", name}}};
    if (!expires.is_null()) asked.body["expires"] = expires;
    asked.headers = {{"authorization", "Bearer " + as}};
    return ask(asked);
  };
  const std::string until = iso_utc(wall_now_ns() + std::int64_t{3600} * 1'000'000'000);
  const std::string later = iso_utc(wall_now_ns() + std::int64_t{7200} * 1'000'000'000);
  const Json made = json({.method = "POST",
                          .path = "/api/v1/tokens",
                          .as = "ann",
                          .body = {{"name", "hour"}, {"expires", until}}});
  const std::string token = made["token"];
  EXPECT_EQ(expiring(token, "forever", nullptr).status, 403);
  EXPECT_EQ(expiring(token, "later", later).status, 403);
  EXPECT_EQ(expiring(token, "same", until).status, 201);
}

TEST_F(JobsOverRest, ATeamOrNodeThatThereIsNotIsNamed) {
  const auto put = [&](const std::string& path, const Json& body) {
    return ask({.method = "PUT", .path = "/api/v1/" + path, .as = "root", .body = body});
  };
  EXPECT_EQ(put("templates/team:nope/base", {{"command", "x"}}).status, 404);
  const Json hours = {{"from", "2030-01-01T00:00:00Z"}, {"to", "2030-01-02T00:00:00Z"}};
  Json on_node = hours;
  on_node["nodes"] = {"n9"};
  EXPECT_THAT(put("reservations/r", on_node).body, HasSubstr("there is no node 'n9'"));
  Json of_team = hours;
  of_team["nodes"] = {"n1"};
  of_team["teams"] = {"nope"};
  EXPECT_THAT(put("reservations/r", of_team).body, HasSubstr("there is no team 'nope'"));
  Json of_nothing = hours;
  of_nothing["nodes"] = Json::array();
  EXPECT_EQ(put("reservations/r", of_nothing).status, 400);
}

TEST_F(JobsOverRest, ANewScheduleSaysWhenItIsNextAndNotWhenItWouldHaveBeen) {
  const Json made = json({.method = "PUT",
                          .path = "/api/v1/schedules/often",
                          .as = "ann",
                          .body = {{"cron", "* * * * *"}, {"job", submission()}}});
  EXPECT_GT(made["next"].get<std::string>(), iso_utc(wall_now_ns() - 60'000'000'000)) << made;
}

TEST_F(JobsOverRest, AScheduleIsItsOwnersAndTheAdministrators) {
  const auto put = [&](const Json& body) {
    return ask({.method = "PUT", .path = "/api/v1/schedules/nightly", .as = "ann", .body = body});
  };
  EXPECT_EQ(put({{"cron", "0 3 * * *"}}).status, 400);
  EXPECT_EQ(put({{"cron", "0 30 * * *"}, {"job", submission()}}).status, 400);
  EXPECT_EQ(put({{"cron", "0 3 * * *"}, {"job", {{"name", "x"}}}}).status, 422);
  ASSERT_EQ(put({{"cron", "0 3 * * *"}, {"job", submission()}}).status, 200);
  const auto seen = [&](const std::string& who) {
    return json({.path = "/api/v1/schedules", .as = who})["schedules"].size();
  };
  EXPECT_EQ(seen("ann"), 1U);
  EXPECT_EQ(seen("bob"), 0U);
  EXPECT_EQ(seen("root"), 1U);
  const std::string path = "/api/v1/schedules/nightly?owner=ann";
  EXPECT_EQ(ask({.method = "DELETE", .path = path, .as = "bob"}).status, 404);
  EXPECT_EQ(ask({.method = "DELETE", .path = path, .as = "root"}).status, 200);
  EXPECT_EQ(seen("ann"), 0U);
}

TEST_F(JobsOverRest, WhereThereAreTeamsAJobCountsForOne) {
  EXPECT_EQ(
      ask({.method = "PUT", .path = "/api/v1/teams/vision", .as = "root", .body = {{"weight", 1}}})
          .status,
      200);
  const auto submit = [&](const char* who, const Json& team) {
    Json job = submission();
    if (!team.is_null()) job["team"] = team;
    return ask({.method = "POST", .path = "/api/v1/jobs", .as = who, .body = job});
  };
  EXPECT_EQ(submit("ann", nullptr).status, 201);
  EXPECT_EQ(submit("root", "gone").status, 422);
  accounts_.set_members("speech", {});
  const auto refused = submit("eve", nullptr);
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(refused.body, HasSubstr("you are in no team"));
  accounts_.set_members("vision", {"ann"});
  EXPECT_EQ(submit("root", nullptr).status, 201) << "administrators need none";
}

TEST_F(JobsOverRest, AFolderIsSentAndNamedByItsOwnerOnly) {
  const std::string text = "print(1)\n";
  const Json manifest = {
      {"files",
       Json::array({{{"path", "a.py"}, {"size", text.size()}, {"sha256", sha256(text)}}})}};
  const Json announced =
      json({.method = "POST", .path = "/api/v1/code", .as = "ann", .body = manifest});
  ASSERT_EQ(announced["missing"], Json::array({sha256(text)})) << announced;
  Json job = submission();
  job["code"] = announced["code"];
  const auto submit_as = [&](const char* who) {
    return ask({.method = "POST", .path = "/api/v1/jobs", .as = who, .body = job}).status;
  };
  EXPECT_EQ(submit_as("ann"), 422) << "it is not complete";
  EXPECT_EQ(ask({.method = "PUT",
                 .path = "/api/v1/code/blobs/" + sha256(text) + "?offset=0",
                 .as = "ann",
                 .raw = text})
                .status,
            200);
  EXPECT_EQ(submit_as("ann"), 201);
  EXPECT_EQ(submit_as("bob"), 422) << "another's";
  EXPECT_EQ(
      ask({.method = "PUT", .path = "/api/v1/code/blobs/..%2fx", .as = "ann", .raw = "x"}).status,
      400);
}

TEST_F(JobsOverRest, ManyContentsComeInOneRequest) {
  Json manifest = {{"files", Json::array()}};
  std::string bundle;
  for (const std::string text : {"one", "two"}) {
    manifest["files"].push_back({{"path", text}, {"size", text.size()}, {"sha256", sha256(text)}});
    code::add_to_bundle(bundle, sha256(text), text);
  }
  const Json announced =
      json({.method = "POST", .path = "/api/v1/code", .as = "ann", .body = manifest});
  EXPECT_GE(announced["bundle"].get<std::int64_t>(), 1 << 20);
  const auto put = [&](const char* who, const std::string& bytes) {
    return ask({.method = "PUT", .path = "/api/v1/code/blobs", .as = who, .raw = bytes});
  };
  EXPECT_EQ(put("bob", bundle).status, 422) << "nothing of his is awaited";
  EXPECT_EQ(put("ann", bundle + "more").status, 400);
  const auto taken = put("ann", bundle);
  EXPECT_EQ(taken.status, 200);
  EXPECT_EQ(parse_json_or_null(taken.body), (Json{{"wrong", Json::array()}}));
  EXPECT_EQ(
      json({.method = "POST", .path = "/api/v1/code", .as = "ann", .body = manifest})["missing"],
      Json::array());
}

TEST_F(JobsOverRest, UseIsAskedForByDateOrTime) {
  const auto status = [&](const std::string& query) {
    return ask({.path = "/api/v1/usage?" + query, .as = "root"}).status;
  };
  EXPECT_EQ(status("from=2026-11-01&to=2026-11-30"), 200);
  EXPECT_EQ(status("from=2026-11-01T12:00:00Z"), 200);
  EXPECT_EQ(status("from=2026-13-01"), 400);
  EXPECT_EQ(status("from=2026-11-0x"), 400);
}

TEST_F(JobsOverRest, MetricsAreForPrometheus) {
  (void)submit(submission());
  const auto response = ask({.path = "/metrics"});
  EXPECT_EQ(response.status, 200);
  EXPECT_THAT(response.body, HasSubstr("assay_jobs{state=\"queued\"}"));
  EXPECT_THAT(response.body,
              HasSubstr("assay_http_requests_total{method=\"POST\",path=\"/api/v1/jobs\",status="
                        "\"201\"} 1\n"));
}

TEST_F(JobsOverRest, ManyAreStoppedInOneRequest) {
  const auto drained = ask({.method = "POST",
                            .path = "/api/v1/nodes/n1/drain",
                            .as = "root",
                            .body = {{"reason", "a test"}}});
  ASSERT_EQ(drained.status, 200);
  const jobs::JobId anns = job_of("ann", "vision");
  const jobs::JobId bobs = job_of("bob", "vision");
  const jobs::JobId eves = job_of("eve", "speech");
  const jobs::JobId last = job_of("ann", "vision");
  const std::string range = fmt::format("{}-{}", anns, last + 1);
  const Json answer =
      json({.method = "POST", .path = "/api/v1/jobs/kill", .as = "ann", .body = {{"jobs", range}}});
  EXPECT_EQ(answer["changed"], 2);
  EXPECT_EQ(answer["refused"], 3);
  EXPECT_EQ(answer["jobs"][0], (Json{{"id", last}, {"state", "killed"}})) << "the latest first";
  EXPECT_TRUE(answer["next"].is_null());
  std::map<jobs::JobId, std::string> why;
  for (const Json& one : answer["failed"]) why[one["id"]] = one["words"];
  EXPECT_EQ(why[bobs], fmt::format("you may not stop job {}", bobs));
  EXPECT_EQ(why[eves], fmt::format("there is no job {}", eves)) << "not more than of any other";
  EXPECT_EQ(why[last + 1], fmt::format("there is no job {}", last + 1));
  EXPECT_EQ(platform_.find(anns)->job.life.state, jobs::State::killed);
  EXPECT_NE(platform_.find(bobs)->job.life.state, jobs::State::killed);
  for (const char* wrong : {"", "x", "3-1", "1-99999999"})
    EXPECT_EQ(
        ask({.method = "POST", .path = "/api/v1/jobs/kill", .as = "ann", .body = {{"jobs", wrong}}})
            .status,
        400)
        << wrong;
}

TEST_F(JobsOverRest, TheAuditLogNamesTheJobThatWasMadeAndLeavesOutPreviews) {
  for (const char* path : {"/api/v1/jobs/preview", "/api/v1/jobs"})
    (void)ask({.method = "POST", .path = path, .as = "ann", .body = submission()});
  const Json deeds = json({.path = "/api/v1/audit", .as = "root"})["deeds"];
  ASSERT_EQ(deeds.size(), 1U);
  EXPECT_EQ(deeds[0]["subject"], "POST /api/v1/jobs: job 1");
}

}  // namespace
}  // namespace assay::rest
