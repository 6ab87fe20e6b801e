#include <fmt/format.h>
#include <gmock/gmock.h>

#include "core/files.h"
#include "rest_world.h"

namespace assay::rest {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kValue = "hunter2-and-more";

class SecretsOverRest : public RestWorld {
 protected:
  serve::HttpResponse put(const std::string& as, const std::string& place,
                          const Json& body = {{"value", kValue}},
                          std::map<std::string, std::string> headers = {}) {
    return ask({.method = "PUT",
                .path = "/api/v1/secrets/" + place,
                .as = as,
                .body = body,
                .headers = std::move(headers)});
  }
  std::string listed(const std::string& as) {
    return ask({.path = "/api/v1/secrets", .as = as}).body;
  }
};

TEST_F(SecretsOverRest, AreListedByNameToThoseWhoseTheyAre) {
  EXPECT_EQ(put("ann", "own/hf").status, 201);
  EXPECT_EQ(put("ann", "own/hf").status, 200);
  EXPECT_EQ(put("bob", "team:vision/deploy").status, 201);
  EXPECT_THAT(listed("ann"), HasSubstr("\"hf\""));
  EXPECT_THAT(listed("bob"), Not(HasSubstr("\"hf\"")));
  EXPECT_THAT(listed("vic"), HasSubstr("\"deploy\"")) << "a viewer of the team";
  EXPECT_THAT(listed("eve"), Not(HasSubstr("deploy")));
  EXPECT_EQ(ask({.method = "DELETE", .path = "/api/v1/secrets/own/hf", .as = "ann"}).status, 200);
  EXPECT_EQ(ask({.method = "DELETE", .path = "/api/v1/secrets/own/hf", .as = "ann"}).status, 404);
}

// Whoever asks, and wherever.
TEST_F(SecretsOverRest, NoAnswerHasAValue) {
  EXPECT_THAT(put("ann", "own/hf").body, Not(HasSubstr("hunter2")));
  ASSERT_EQ(put("ann", "team:vision/hf").status, 201);
  Json job = submission();
  job["secrets"] = {{"HF_TOKEN", "hf"}};
  ASSERT_EQ(ask({.method = "POST", .path = "/api/v1/jobs", .as = "ann", .body = job}).status, 201);
  Json late = {{"value", kValue}, {"more", kValue}};
  EXPECT_THAT(put("ann", "own/hf", late).body, Not(HasSubstr("hunter2")));
  EXPECT_THAT(put("ann", "own/hf", {{"value", kValue}}, {{"if-match", "\"seen\""}}).body,
              Not(HasSubstr("hunter2")));
  for (const char* who : {"ann", "bob", "root"})
    for (const Route& route : route_table()) {
      if (std::string_view(route.method) != "GET") continue;
      std::string path = pattern_of(route.path);
      for (const char* thing : {"1", "own", "hf"})
        if (const auto at = path.find("([^/]+)"); at != std::string::npos)
          path.replace(at, 7, thing);
      EXPECT_THAT(ask({.path = path, .as = who}).body, Not(HasSubstr("hunter2"))) << path;
    }
  EXPECT_THAT(ask({.path = "/api/v1/audit", .as = "root"}).body,
              AllOf(HasSubstr("PUT /api/v1/secrets/own/hf"), Not(HasSubstr("hunter2"))));
  EXPECT_EQ(ask({.path = "/api/v1/secrets/own/hf", .as = "ann"}).status, 405);
}

TEST_F(SecretsOverRest, AreWrittenByThoseWhoseTheyAre) {
  EXPECT_EQ(put("vic", "own/hf").status, 403);
  EXPECT_EQ(put("eve", "team:vision/hf").status, 403);
  EXPECT_EQ(put("ann", "all/hf").status, 403);
  EXPECT_EQ(put("root", "team:speech/hf").status, 403) << "not in it, though an administrator";
  EXPECT_EQ(put("root", "all/hf").status, 403);
}

TEST_F(SecretsOverRest, WhatIsNoSecretIsRefused) {
  for (const char* name : {"%3Cb%3E", "..%2Fx", "a%20b", "-x"})
    EXPECT_EQ(put("ann", std::string("own/") + name).status, 400) << name;
  for (const Json& body :
       {Json{{"value", ""}}, Json{{"value", 1}}, Json::object(),
        Json{{"value", std::string(33U << 10, 'x')}}, Json{{"value", "x"}, {"name", "other"}}})
    EXPECT_EQ(put("ann", "own/hf", body).status, 400) << body.dump().substr(0, 40);
  EXPECT_EQ(put("ann", "own/hf", {{"value", std::string(1U << 20, 'x')}}).status, 413);
  EXPECT_THAT(listed("ann"), Not(HasSubstr("hf")));
}

TEST_F(SecretsOverRest, AJobNamesOnlyThoseThatItsOwnerMayUse) {
  ASSERT_EQ(put("ann", "own/hf").status, 201);
  ASSERT_EQ(put("ann", "team:vision/ours").status, 201);
  const auto submit = [&](const std::string& as, const char* name, const std::string& team) {
    Json job = submission();
    job["secrets"] = {{"HF_TOKEN", name}};
    if (!team.empty()) job["team"] = team;
    return ask({.method = "POST", .path = "/api/v1/jobs", .as = as, .body = job});
  };
  EXPECT_EQ(submit("ann", "hf", "vision").status, 201);
  EXPECT_EQ(submit("bob", "ours", "vision").status, 201);
  for (const char* other : {"bob", "root"}) {
    const auto refused = submit(other, "hf", "vision");
    EXPECT_EQ(refused.status, 422);
    EXPECT_THAT(refused.body, AllOf(HasSubstr("secrets.HF_TOKEN"), HasSubstr("keeps a secret")));
  }
  EXPECT_EQ(submit("eve", "ours", "speech").status, 422);
  // Another's job is run again with one's own secrets, not with theirs.
  EXPECT_EQ(ask({.method = "POST", .path = "/api/v1/jobs/1/rerun", .as = "bob"}).status, 422);
  ASSERT_EQ(put("bob", "own/hf").status, 201);
  EXPECT_EQ(ask({.method = "POST", .path = "/api/v1/jobs/1/rerun", .as = "bob"}).status, 201);
}

TEST_F(SecretsOverRest, ATeamThatIsMadeAnewHasNone) {
  const auto team = [&](const char* method) {
    return ask({.method = method,
                .path = "/api/v1/teams/speech",
                .as = "root",
                .body = std::string_view(method) == "PUT" ? Json{{"members", Json::array({"eve"})}}
                                                          : Json()})
        .status;
  };
  ASSERT_EQ(team("PUT"), 200);
  ASSERT_EQ(put("eve", "team:speech/hf").status, 201);
  ASSERT_EQ(team("DELETE"), 200);
  ASSERT_EQ(team("PUT"), 200);
  EXPECT_THAT(listed("eve"), Not(HasSubstr("hf")));
}

}  // namespace
}  // namespace assay::rest
