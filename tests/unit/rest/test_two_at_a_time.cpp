#include <fmt/format.h>
#include <gmock/gmock.h>

#include "core/text.h"
#include "lang/language.h"
#include "rest/change_guard.h"
#include "rest_world.h"

namespace assay::rest {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Two people who change the same thing.
class TwoAtATime : public RestWorld {
 protected:
  struct Change {
    std::string path{};
    Json body{};
    std::string seen{};  ///< If-Match; "*": If-None-Match
    std::string method = "PUT";
    std::string as = "root";
  };
  serve::HttpResponse change(const Change& one) {
    Asked asked{.method = one.method, .path = one.path, .as = one.as, .body = one.body};
    if (one.seen == "*")
      asked.headers["if-none-match"] = "*";
    else if (!one.seen.empty())
      asked.headers["if-match"] = one.seen;
    return ask(asked);
  }
  int status(const Change& one) { return change(one).status; }
  /// As the list under that name has it.
  std::string etag(const std::string& list, const std::string& name) {
    const Json rows = json({.path = "/api/v1/" + list, .as = "root"})[list];
    for (const Json& row : rows)
      if (row["name"] == name) return row["etag"];
    return "none";
  }
};

// What there is of one kind, and what two people make of it.
struct Kind {
  std::string list;
  std::string path;
  Json made;
  Json first;
  Json second;
  std::string changed;  ///< the field that the first one has changed
};

TEST_F(TwoAtATime, TheSecondIsToldWhatTheFirstHasChanged) {
  const Json job = submission();
  Json other_job = submission("another");
  const std::vector<Kind> kinds{
      {"queues",
       "queues/night",
       {{"priority", 1}},
       {{"priority", 2}},
       {{"closed", true}},
       "priority"},
      {"teams",
       "teams/vision",
       {{"weight", 1}, {"members", {"root", "ann", "bob", "vic"}}},
       {{"weight", 1}, {"members", {"root", "ann"}}},
       {{"weight", 2}, {"members", {"root", "ann", "bob", "vic"}}},
       "members"},
      {"reservations",
       "reservations/move",
       {{"nodes", {"n1"}}, {"from", "2030-01-01T00:00:00Z"}, {"to", "2030-01-02T00:00:00Z"}},
       {{"nodes", {"n1"}}, {"from", "2030-01-01T00:00:00Z"}, {"to", "2030-01-03T00:00:00Z"}},
       {{"nodes", {"n1"}}, {"from", "2029-01-01T00:00:00Z"}, {"to", "2030-01-02T00:00:00Z"}},
       "to"},
      {"users",
       "users/kim",
       {{"role", "member"}},
       {{"role", "viewer"}},
       {{"disabled", true}},
       "role"},
      {"templates", "templates/all/usual", job, other_job, {{"nodes", 1}}, "content"},
      {"schedules",
       "schedules/nightly",
       {{"cron", "@daily"}, {"job", job}},
       {{"cron", "@hourly"}, {"job", job}},
       {{"cron", "@daily"}, {"job", other_job}},
       "cron"},
  };
  for (const Kind& kind : kinds) {
    SCOPED_TRACE(kind.list);
    const std::string path = "/api/v1/" + kind.path;
    const std::string name = kind.path.substr(kind.path.rfind('/') + 1);
    const auto made = change({path, kind.made});
    EXPECT_LT(made.status, 300) << made.body;
    EXPECT_EQ(status({path, kind.made, "*"}), 412) << "it is to be new, and is there";
    const std::string seen = etag(kind.list, name);
    EXPECT_EQ(status({path, kind.first, seen}), 200);
    EXPECT_NE(etag(kind.list, name), seen);

    const auto late = change({path, kind.second, seen});
    EXPECT_EQ(late.status, 412);
    EXPECT_THAT(late.body, HasSubstr("this was changed meanwhile: " + kind.changed + "\""));
    const Json now = parse_json_or_null(late.body)["now"];
    EXPECT_EQ(now["etag"], etag(kind.list, name)) << late.body;
    EXPECT_EQ(status({.path = path, .seen = seen, .method = "DELETE"}), 412);

    EXPECT_EQ(status({path, kind.second, now["etag"]}), 200) << "seen, and changed";
    EXPECT_EQ(status({path, kind.first}), 200) << "who does not ask is not asked";
    EXPECT_EQ(status({path, kind.first, "\"x\", " + etag(kind.list, name)}), 200) << "one of them";
    EXPECT_EQ(status({path, kind.first, "W/" + etag(kind.list, name)}), 412);

    EXPECT_EQ(status({.path = path, .seen = etag(kind.list, name), .method = "DELETE"}), 200);
    const auto gone = change({path, kind.first, seen});
    EXPECT_EQ(gone.status, 412);
    EXPECT_THAT(gone.body, AllOf(HasSubstr("not there any more"), Not(HasSubstr("\"now\""))));
  }
}

TEST_F(TwoAtATime, AJobIsChangedByOneAfterTheOther) {
  const std::string path = fmt::format("/api/v1/jobs/{}", job_of("ann", "vision"));
  const auto seen = [&] { return json({.path = path, .as = "ann"})["etag"].get<std::string>(); };
  const std::string before = seen();
  EXPECT_EQ(status({path, {{"name", "renamed"}}, before, "PATCH", "ann"}), 200);
  const auto late = change({path, {{"shared_with", Json::array({"eve"})}}, before, "PATCH", "ann"});
  EXPECT_EQ(late.status, 412);
  EXPECT_THAT(late.body, HasSubstr("meanwhile: name\""));
  EXPECT_TRUE(accounts_.shared_with(1).empty());
  EXPECT_EQ(status({path, {{"shared_with", Json::array({"eve"})}}, seen(), "PATCH", "ann"}), 200);
}

TEST_F(TwoAtATime, NothingOfATeamIsChangedByWhoComesTooLate) {
  const auto members = [&] { return accounts_.members("vision"); };
  ASSERT_EQ(status({"/api/v1/teams/vision", {{"weight", 1}}}), 200);
  const auto before = members();
  EXPECT_EQ(status({"/api/v1/teams/vision", {{"members", {"root"}}}, "\"seen\""}), 412);
  EXPECT_EQ(members(), before);
}

TEST_F(TwoAtATime, ThatIsSaidInChinese) {
  const std::string chinese =
      lang::in_language(lang::Language::chinese, "this was changed meanwhile: weight, members");
  EXPECT_THAT(chinese, AllOf(HasSubstr("weight"), Not(HasSubstr("meanwhile"))));
}

}  // namespace
}  // namespace assay::rest
