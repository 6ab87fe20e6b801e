#include <gmock/gmock.h>

#include "eventually.h"
#include "rest_world.h"

namespace assay::rest {
namespace {

using assay::testing::eventually;

/// Jobs of people whose accounts change while they wait.
class OwnersOverRest : public RestWorld {
 protected:
  void drain() { EXPECT_EQ(change("POST", "nodes/n1/drain", {{"reason", "a test"}}), 200); }
  void undrain() { EXPECT_EQ(change("POST", "nodes/n1/undrain", Json::object()), 200); }
  int change(const std::string& method, const std::string& path, const Json& body) {
    return ask({.method = method, .path = "/api/v1/" + path, .as = "root", .body = body}).status;
  }
  std::string why(jobs::JobId id) {
    const Json job = json({.path = "/api/v1/jobs/" + std::to_string(id), .as = "root"});
    return job["pending"].is_null() ? "" : job["pending"]["words"].get<std::string>();
  }
  bool starts(jobs::JobId id) {
    return eventually(
        [&] { return platform_.find(id)->job.life.state == jobs::State::scheduling; });
  }
  bool waits_because(jobs::JobId id, const std::string& words) {
    return eventually([&] { return why(id) == words; });
  }
};

TEST_F(OwnersOverRest, AWaitingJobOfSomebodyWhoIsDisabledIsHeldUntilTheyAreBack) {
  drain();
  const jobs::JobId anns = job_of("ann", "vision");
  const jobs::JobId bobs = job_of("bob", "vision");
  ASSERT_EQ(change("PUT", "users/ann", {{"disabled", true}}), 200);
  undrain();
  ASSERT_TRUE(starts(bobs)) << "the decision is made";
  EXPECT_EQ(why(anns), "its owner, ann, is disabled");
  ASSERT_EQ(change("PUT", "users/ann", {{"disabled", false}}), 200);
  EXPECT_TRUE(starts(anns));
}

TEST_F(OwnersOverRest, AJobThatRunsGoesOnWhenItsOwnerIsDisabled) {
  const jobs::JobId id = job_of("ann", "vision");
  ASSERT_TRUE(starts(id));
  ASSERT_EQ(change("PUT", "users/ann", {{"disabled", true}}), 200);
  const jobs::JobId later = job_of("bob", "vision");
  ASSERT_TRUE(starts(later));
  EXPECT_EQ(platform_.find(id)->job.life.state, jobs::State::scheduling);
}

TEST_F(OwnersOverRest, AWaitingJobOfSomebodyWhoHasLeftItsTeamIsHeldUntilTheyAreBack) {
  ASSERT_EQ(change("PUT", "teams/vision", {{"weight", 1}}), 200);
  drain();
  const jobs::JobId id = job_of("ann", "vision");
  ASSERT_EQ(change("PUT", "teams/vision", {{"members", {"bob"}}}), 200);
  undrain();
  EXPECT_TRUE(waits_because(id, "ann is no longer in team vision"));
  ASSERT_EQ(change("PUT", "teams/vision", {{"members", {"ann", "bob"}}}), 200);
  EXPECT_TRUE(starts(id));
}

TEST_F(OwnersOverRest, AWaitingJobOfAViewerOrOfSomebodyWithoutAnAccountIsHeld) {
  drain();
  const jobs::JobId anns = job_of("ann", "vision");
  const jobs::JobId bobs = job_of("bob", "vision");
  ASSERT_EQ(change("PUT", "users/ann", {{"role", "viewer"}}), 200);
  ASSERT_EQ(ask({.method = "DELETE", .path = "/api/v1/users/bob", .as = "root"}).status, 200);
  undrain();
  EXPECT_TRUE(waits_because(anns, "its owner, ann, is a viewer, and may not run jobs"));
  EXPECT_TRUE(waits_because(bobs, "its owner, bob, has no account any more"));
}

TEST_F(OwnersOverRest, AnAdministratorRunsJobsForTeamsOfOthers) {
  const jobs::JobId id = job_of("root", "speech");
  EXPECT_TRUE(starts(id));
}

}  // namespace
}  // namespace assay::rest
