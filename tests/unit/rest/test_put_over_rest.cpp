#include <gmock/gmock.h>

#include "rest_world.h"

namespace assay::rest {
namespace {

/// PUT changes what its body names, of whatever kind of thing.
class PutOverRest : public RestWorld {
 protected:
  Json put(const std::string& path, const Json& body) {
    const serve::HttpResponse answer =
        ask({.method = "PUT", .path = "/api/v1/" + path, .as = "root", .body = body});
    EXPECT_EQ(answer.status, 200) << path << ": " << answer.body;
    return parse_json(answer.body, path);
  }
  /// Of that name in the list of an answer.
  static Json one_of(const Json& rows, const std::string& name) {
    for (const Json& row : rows)
      if (row["name"] == name) return row;
    return {};
  }
};

TEST_F(PutOverRest, AQueueKeepsWhatIsNotNamed) {
  put("queues/night", {{"priority", 3}, {"closed", true}, {"approval", true}});
  const Json night = one_of(put("queues/night", {{"priority", -6}})["queues"], "night");
  EXPECT_EQ(night["priority"], -6);
  EXPECT_EQ(night["closed"], true);
  EXPECT_EQ(night["approval"], true);
}

TEST_F(PutOverRest, ATeamKeepsWhatIsNotNamed) {
  put("teams/vision", {{"weight", 2}, {"quota", {{"H200", 8}, {"cpu", 4}}}, {"members", {"ann"}}});
  Json vision = one_of(put("teams/vision", {{"members", {"ann", "bob"}}})["teams"], "vision");
  EXPECT_EQ(vision["quota"], (Json{{"H200", 8}, {"cpu", 4}}));
  EXPECT_EQ(vision["weight"], 2.0);
  vision = one_of(put("teams/vision", {{"quota", {{"H200", 6}}}})["teams"], "vision");
  EXPECT_EQ(vision["quota"], (Json{{"H200", 6}})) << "what is named is replaced as a whole";
  EXPECT_EQ(vision["members"], (Json{"ann", "bob"}));
}

TEST_F(PutOverRest, AReservationKeepsWhatIsNotNamed) {
  put("reservations/move", {{"nodes", {"n1"}},
                            {"from", "2030-01-01T00:00:00Z"},
                            {"to", "2030-01-02T00:00:00Z"},
                            {"teams", {"vision"}}});
  const Json move =
      one_of(put("reservations/move", {{"to", "2030-01-03T00:00:00Z"}})["reservations"], "move");
  EXPECT_EQ(move["from"], "2030-01-01T00:00:00.000Z");
  EXPECT_EQ(move["to"], "2030-01-03T00:00:00.000Z");
  EXPECT_EQ(move["nodes"], (Json{"n1"}));
  EXPECT_EQ(move["teams"], (Json{"vision"}));
}

TEST_F(PutOverRest, APolicyKeepsWhatIsNotNamed) {
  put("policies/idle", {{"warn_s", 600}, {"stop_s", 1200}});
  EXPECT_EQ(put("policies/idle", {{"stop_s", 3600}})["warn_s"], 600);
  put("policies/retention", {{"logs_days", 30}, {"jobs_days", 365}});
  EXPECT_EQ(put("policies/retention", {{"logs_days", 60}})["jobs_days"], 365);
}

TEST_F(PutOverRest, AScheduleKeepsWhatIsNotNamed) {
  put("schedules/nightly", {{"cron", "0 3 * * *"}, {"job", submission("the job")}});
  const Json paused = put("schedules/nightly", {{"paused", true}});
  EXPECT_EQ(paused["cron"], "0 3 * * *");
  EXPECT_EQ(paused["submission"]["name"], "the job");
  const Json later = put("schedules/nightly", {{"cron", "0 4 * * *"}});
  EXPECT_EQ(later["paused"], true);
  EXPECT_EQ(later["cron"], "0 4 * * *");
}

TEST_F(PutOverRest, WhatIsNewNeedsItsFields) {
  for (const char* path : {"reservations/move", "schedules/nightly"})
    EXPECT_EQ(ask({.method = "PUT",
                   .path = std::string("/api/v1/") + path,
                   .as = "root",
                   .body = Json::object()})
                  .status,
              400)
        << path;
}

}  // namespace
}  // namespace assay::rest
