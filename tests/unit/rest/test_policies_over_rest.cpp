#include <chrono>

#include <gmock/gmock.h>

#include "core/time.h"
#include "rest_world.h"

namespace assay::rest {
namespace {

class PoliciesOverRest : public RestWorld {
 protected:
  serve::HttpResponse put(const std::string& policy, const Json& body,
                          const std::map<std::string, std::string>& headers = {}) {
    return ask({.method = "PUT",
                .path = "/api/v1/policies/" + policy,
                .as = "root",
                .body = body,
                .headers = headers});
  }
  // Stopped before it ran, just now.
  jobs::JobId ended() {
    platform_.drain("n1", "so that it waits", "root");
    const jobs::JobId id = job_of("ann", "vision");
    (void)platform_.ask(id, jobs::EventKind::kill_asked, "ann");
    return id;
  }
};

TEST_F(PoliciesOverRest, IdleLimitsAreChangedAndTakenAway) {
  const std::string path = "/api/v1/policies/idle";
  EXPECT_EQ(json({.path = path, .as = "vic"})["stop_s"], 0);
  EXPECT_EQ(put("idle", {{"warn_s", 600}, {"stop_s", 1800}}).status, 200);
  EXPECT_EQ(json({.path = path, .as = "vic"})["warn_s"], 600);
  EXPECT_EQ(platform_.settings().idle.stop_s, 1800);
  EXPECT_EQ(put("idle", {{"warn_s", 0}, {"stop_s", 0}}).status, 200);
  EXPECT_EQ(platform_.settings().idle.stop_s, 0);
}

TEST_F(PoliciesOverRest, WhoComesTooLateIsToldWhatHasChanged) {
  const Json seen = json({.path = "/api/v1/policies/retention", .as = "root"});
  EXPECT_EQ(put("retention", {{"logs_days", 90}}).status, 200);
  const auto late =
      put("retention", {{"logs_days", 1}}, {{"if-match", seen["etag"].get<std::string>()}});
  EXPECT_EQ(late.status, 412);
  EXPECT_THAT(late.body, ::testing::HasSubstr("logs_days"));
  EXPECT_EQ(platform_.settings().retention.logs_days, 90);
}

TEST_F(PoliciesOverRest, WhatIsNoPolicyIsRefused) {
  EXPECT_EQ(put("retention", {{"log_days", 90}}).status, 400);
  EXPECT_EQ(put("retention", {{"logs_days", -1}}).status, 400);
  EXPECT_EQ(put("retention", {{"logs_days", 99999}}).status, 400);
  EXPECT_EQ(put("retention", {{"logs_days", "soon"}}).status, 400);
  EXPECT_EQ(put("idle", {{"warn_s", -5}}).status, 400);
}

TEST_F(PoliciesOverRest, ARetentionSaysWhatWouldGoBeforeItIsOne) {
  const jobs::JobId id = ended();
  (void)job_of("ann", "vision");  // goes on
  // Of today nothing would go.
  const Json none =
      json({.path = "/api/v1/policies/retention/preview?logs_days=1&jobs_days=2", .as = "root"});
  EXPECT_EQ(none["jobs_total"], 0);
  EXPECT_EQ(none["logs_total"], 0);
  EXPECT_EQ(none["whole"], true);
  const auto at = wall_now_ns() + Nanoseconds(std::chrono::hours(30)).count();
  const platform::RemovalAhead logs =
      platform_.would_remove({.logs_days = 1, .jobs_days = 2}, at, 20, std::chrono::seconds(10));
  EXPECT_EQ(logs.logs, 1U);
  EXPECT_EQ(logs.jobs, 0U);
  ASSERT_EQ(logs.first_logs.size(), 1U);
  EXPECT_EQ(logs.first_logs[0].id, id);
  const platform::RemovalAhead all =
      platform_.would_remove({.jobs_days = 1}, at, 20, std::chrono::seconds(10));
  EXPECT_EQ(all.jobs, 1U);
  EXPECT_TRUE(platform_.find(id)) << "a preview removes nothing";
}

TEST_F(PoliciesOverRest, ALookThatTakesTooLongSaysSo) {
  (void)ended();
  const auto at = wall_now_ns() + Nanoseconds(std::chrono::hours(30)).count();
  EXPECT_FALSE(platform_.would_remove({.jobs_days = 1}, at, 20, Nanoseconds(0)).whole);
}

}  // namespace
}  // namespace assay::rest
