#include <fmt/format.h>
#include <gmock/gmock.h>

#include "core/text.h"
#include "rest_world.h"

namespace assay::rest {
namespace {

using jobs::Whose;

class PermissionsOverRest : public RestWorld {
 protected:
  // Whose a thing of `owner` in vision is, for the person who asks.
  static Whose seen_by(const std::string& who) {
    if (who == "ann") return Whose::own;
    return who == "eve" || who == "stranger" ? Whose::foreign : Whose::team;
  }
};

// Every route, asked by everybody about a job of ann's, a user, a template of each scope.
TEST_F(PermissionsOverRest, EveryRouteAsksTheTable) {
  accounts_.put({.name = "stranger", .role = jobs::Role::admin}, 1);
  tokens_["stranger"] = accounts_.make_token("stranger", "test", 0, 1);
  const std::map<std::string, jobs::Role> people{
      {"root", jobs::Role::admin}, {"stranger", jobs::Role::admin}, {"ann", jobs::Role::member},
      {"bob", jobs::Role::member}, {"eve", jobs::Role::member},     {"vic", jobs::Role::viewer}};
  int checked = 0;
  for (const Route& route : route_table()) {
    if (route.who == Who::anyone) continue;
    for (const auto& [who, role] : people) {
      std::vector<std::pair<std::string, Whose>> things;  // the first parameter
      switch (route.of) {
        case Of::job:
          things = {{std::to_string(job_of("ann", "vision")), seen_by(who)}};
          break;
        case Of::user:
          things = {{who, Whose::own}, {who == "bob" ? "ann" : "bob", Whose::foreign}};
          break;
        case Of::scope:
          things = {
              {"own", Whose::own},
              {"team:vision", who == "eve" || who == "stranger" ? Whose::foreign : Whose::team},
              {"all", Whose::foreign}};
          break;
        case Of::self:
          things = {{"x", Whose::own}};
          break;
        case Of::cluster:
          things = {{"x", Whose::foreign}};
      }
      for (const auto& [thing, whose] : things) {
        std::string path = pattern_of(route.path);
        bool first = true;
        for (auto at = path.find("([^/]+)"); at != std::string::npos; at = path.find("([^/]+)")) {
          path.replace(at, 7, first ? thing : "x");
          first = false;
        }
        const bool deletes_people = route.of == Of::user && std::string(route.method) == "DELETE";
        if (deletes_people) continue;  // below
        const auto response = ask({.method = route.method,
                                   .path = path,
                                   .as = who,
                                   .body = route.body == Body::json ? Json::object() : Json()});
        const bool granted = route.who == Who::signed_in || jobs::may(role, route.deed, whose);
        const bool seen = route.of != Of::job || jobs::may(role, jobs::Deed::read_job, whose);
        const std::string what = fmt::format("{} {} as {}", route.method, path, who);
        ++checked;
        if (!seen) {
          EXPECT_EQ(response.status, 404) << what;
        } else if (!granted) {
          EXPECT_EQ(response.status, 403) << what << "\n" << response.body;
        } else {
          EXPECT_TRUE(response.status != 401 && response.status != 403 && response.status != 500)
              << what << ": " << response.status << "\n"
              << response.body;
        }
      }
    }
    // Nobody, and a token that is not known.
    std::string path = pattern_of(route.path);
    for (auto at = path.find("([^/]+)"); at != std::string::npos; at = path.find("([^/]+)"))
      path.replace(at, 7, "1");
    EXPECT_EQ(ask({.method = route.method, .path = path, .body = Json::object()}).status, 401)
        << route.method << " " << path;
    EXPECT_EQ(ask({.method = route.method,
                   .path = path,
                   .body = Json::object(),
                   .headers = {{"authorization", "Bearer assay-user-wrong"}}})
                  .status,
              401)
        << route.method << " " << path;
  }
  EXPECT_GT(checked, 150);
}

TEST_F(PermissionsOverRest, UsersAreDeletedByAdministratorsOnly) {
  EXPECT_EQ(ask({.method = "DELETE", .path = "/api/v1/users/bob", .as = "ann"}).status, 403);
  EXPECT_EQ(ask({.method = "DELETE", .path = "/api/v1/users/ann", .as = "ann"}).status, 403);
  EXPECT_EQ(ask({.method = "DELETE", .path = "/api/v1/users/bob", .as = "root"}).status, 200);
  EXPECT_EQ(ask({.path = "/api/v1/session", .as = "bob"}).status, 401);
  EXPECT_EQ(ask({.method = "DELETE", .path = "/api/v1/users/root", .as = "root"}).status, 409);
}

TEST_F(PermissionsOverRest, NobodyRaisesThemselves) {
  const auto change = [&](const Json& body) {
    return ask({.method = "PUT", .path = "/api/v1/users/ann", .as = "ann", .body = body}).status;
  };
  EXPECT_EQ(change({{"role", "admin"}}), 403);
  EXPECT_EQ(change({{"disabled", true}}), 403);
  EXPECT_EQ(change({{"full_name", "Ann"}, {"language", "zh"}}), 200);
  EXPECT_EQ(accounts_.find("ann")->role, jobs::Role::member);
  EXPECT_EQ(change({{"password", "another long password"}}), 403) << "a token is not the person";
  EXPECT_EQ(ask({.method = "PUT",
                 .path = "/api/v1/users/root",
                 .as = "root",
                 .body = {{"disabled", true}}})
                .status,
            403)
      << "administrators do not lock themselves out";
}

TEST_F(PermissionsOverRest, AJobOfAnotherTeamIsNotThere) {
  const std::string path = fmt::format("/api/v1/jobs/{}", job_of("ann", "vision"));
  const auto hidden = ask({.path = path, .as = "eve"});
  const auto missing = ask({.path = "/api/v1/jobs/999999", .as = "eve"});
  EXPECT_EQ(hidden.status, 404);
  EXPECT_EQ(hidden.body, missing.body);
}

TEST_F(PermissionsOverRest, WhomAJobIsSharedWithReadsIt) {
  const std::string path = fmt::format("/api/v1/jobs/{}", job_of("ann", "vision"));
  EXPECT_EQ(ask({.method = "PATCH",
                 .path = path,
                 .as = "bob",
                 .body = {{"shared_with", Json::array({"eve"})}}})
                .status,
            403);
  EXPECT_EQ(ask({.method = "PATCH",
                 .path = path,
                 .as = "ann",
                 .body = {{"shared_with", Json::array({"eve"})}}})
                .status,
            200);
  EXPECT_EQ(ask({.path = path, .as = "eve"}).status, 200);
  EXPECT_EQ(ask({.method = "POST", .path = path + "/kill", .as = "eve"}).status, 403);
}

TEST_F(PermissionsOverRest, SecretsAreForWhoGaveThem) {
  const auto made = [&](const Json& job) {
    const Json answer = json({.method = "POST", .path = "/api/v1/jobs", .as = "ann", .body = job});
    return fmt::format("/api/v1/jobs/{}", answer.at("jobs").at(0).at("id").get<int>());
  };
  const auto shown = [&](const std::string& path, const std::string& as) {
    return ask({.path = path, .as = as}).body + ask({.path = path + "/suite", .as = as}).body;
  };
  Json job = submission();
  job["command"] = "login s3cr3t-of-ann; train --lr 0.1";
  job["env"] = {{"HF_TOKEN", "s3cr3t-of-ann"}, {"MY_PASSWORD", "abc"}, {"LR", "0.1"}};
  const std::string command = made(job);
  Json with_suite = {{"name", "a suite"}};
  with_suite["suite"] =
      "env:\n  HF_TOKEN: &token s3cr3t-of-ann\n  A_TOKEN: *token\n"
      "cases:\n  - {name: main, command: [echo, s3cr3t-of-ann], env: "
      "{DB_PASSWORD: 's3cr3t''s', API_KEY: \"s3cr3t\\\"x\", LR: '0.1'}}\n";
  const std::string suite = made(with_suite);
  with_suite["suite"] =
      "env:\n  HF_TOKEN: |\n    s3cr3t-of-ann\n"
      "cases:\n  - {name: main, command: 'true'}\n";
  const std::string odd = made(with_suite);
  for (const std::string& path : {command, suite, odd}) {
    EXPECT_THAT(shown(path, "ann"), ::testing::HasSubstr("s3cr3t-of-ann"));
    for (const char* other : {"bob", "vic", "root"}) {
      EXPECT_THAT(shown(path, other), ::testing::Not(::testing::HasSubstr("s3cr3t"))) << path;
      EXPECT_THAT(shown(path, other), ::testing::HasSubstr("(hidden)")) << path;
    }
    const auto again = ask({.method = "POST", .path = path + "/rerun", .as = "bob"});
    EXPECT_EQ(again.status, 409) << again.body;
    EXPECT_THAT(again.body, ::testing::HasSubstr("HF_TOKEN"));
    EXPECT_EQ(ask({.method = "POST", .path = path + "/rerun", .as = "ann"}).status, 201);
    // What another sees is not to be run: "(hidden)" is nobody's password.
    const Json seen = json({.path = path, .as = "bob"})["submission"];
    EXPECT_EQ(ask({.method = "POST", .path = "/api/v1/jobs", .as = "bob", .body = seen}).status,
              422);
  }
  EXPECT_THAT(shown(command, "bob"), ::testing::Not(::testing::HasSubstr("\"abc\"")));
  for (const std::string& path : {command, suite})
    EXPECT_THAT(shown(path, "bob"), ::testing::HasSubstr("0.1"));

  Json schedule = {{"cron", "@daily"}, {"job", job}};
  ASSERT_LT(
      ask({.method = "PUT", .path = "/api/v1/schedules/nightly", .as = "ann", .body = schedule})
          .status,
      300);
  EXPECT_THAT(ask({.path = "/api/v1/schedules", .as = "ann"}).body,
              ::testing::HasSubstr("s3cr3t-of-ann"));
  EXPECT_THAT(ask({.path = "/api/v1/schedules", .as = "root"}).body,
              ::testing::Not(::testing::HasSubstr("s3cr3t")));
  // Who comes too late is told what there is, too.
  Asked late{.method = "DELETE", .path = "/api/v1/schedules/nightly?owner=ann", .as = "root"};
  late.headers["if-match"] = "\"seen\"";
  const auto changed = ask(late);
  EXPECT_EQ(changed.status, 412);
  EXPECT_THAT(changed.body, ::testing::HasSubstr("@daily"));
  EXPECT_THAT(changed.body, ::testing::Not(::testing::HasSubstr("s3cr3t")));
  const auto keep = [&](const std::string& scope) {
    return ask({.method = "PUT",
                .path = "/api/v1/templates/" + scope + "/login",
                .as = "ann",
                .body = job})
        .status;
  };
  EXPECT_EQ(keep("own"), 200);
  EXPECT_EQ(keep("team:vision"), 422);
}

TEST_F(PermissionsOverRest, NobodySubmitsForAnotherTeam) {
  Json job = submission();
  job["team"] = "speech";
  EXPECT_EQ(ask({.method = "POST", .path = "/api/v1/jobs", .as = "ann", .body = job}).status, 403);
  job["team"] = "vision";
  EXPECT_EQ(ask({.method = "POST", .path = "/api/v1/jobs", .as = "ann", .body = job}).status, 201);
  EXPECT_EQ(ask({.method = "POST", .path = "/api/v1/jobs", .as = "vic", .body = job}).status, 403);
}

TEST_F(PermissionsOverRest, OnlyAdministratorsGoAheadOfTheLine) {
  Json job = submission();
  job["priority"] = 500;
  EXPECT_EQ(ask({.method = "POST", .path = "/api/v1/jobs", .as = "ann", .body = job}).status, 403);
  EXPECT_EQ(ask({.method = "POST", .path = "/api/v1/jobs", .as = "root", .body = job}).status, 201);
  const std::string path = fmt::format("/api/v1/jobs/{}", job_of("ann", "vision"));
  EXPECT_EQ(ask({.method = "PATCH", .path = path, .as = "ann", .body = {{"priority", 101}}}).status,
            403);
}

}  // namespace
}  // namespace assay::rest
