#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../serve/refused.h"
#include "core/json_fields.h"
#include "core/time.h"
#include "error_of.h"
#include "report/read_result.h"
#include "temporary_folder.h"
#include "tester/challenges.h"
#include "tester/records.h"

namespace assay::tester {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::int64_t kHour_ns = 3'600'000'000'000;
constexpr std::int64_t kIssued_ns = 1'794'000'000'000'000'000;  // 2026-11-06

Json case_result(double value, std::int64_t seed = 1) {
  return {{"name", "train"},
          {"headline", "p_whole"},
          {"configuration",
           {{{"key", "config.seed"}, {"value", seed}},
            {{"key", "config.batch"}, {"value", 32}},
            {{"key", "repeats"}, {"value", 3}}}},
          {"summary",
           {{"p_whole",
             {{"median", value},
              {"unit", "samples/s"},
              {"ci95_low", value * 0.99},
              {"ci95_high", value * 1.01}}}}},
          {"rounds",
           {{{"executed", {{{"host", "h"}, {"program", {{"path", "p"}, {"sha256", "aa"}}}}}}}}}};
}

Json first_result() {
  Json plain = {{"name", "plain"}, {"configuration", {{{"key", "data"}, {"value", "/d"}}}}};
  return {{"schema_version", 1},
          {"suite", "s"},
          {"cases", {case_result(100), plain}},
          {"seal", {{"fingerprint", "SHA256:x"}}},
          {"provenance", {{"suite_sha256", "abc"}}}};
}

judge::RunResult read(const Json& result) {
  return report::read_result(result, "result.json");
}

Challenge issued() {
  return new_challenge("20261115-ab3dE9", read(first_result()), "", kIssued_ns, seconds(3600));
}

// What the judge makes of a run that answers it as it should.
Json answer_to(const Challenge& challenge) {
  Json result = first_result();
  result["cases"] = {case_result(101, challenge.seed)};
  result["provenance"]["answer"] = {{"challenge", fields_to_json(challenge)},
                                    {"began", iso_utc(kIssued_ns + kHour_ns / 4, true)},
                                    {"seed", "applied"},
                                    {"faults", Json::array()}};
  return result;
}

std::vector<std::string> faults(const Json& result, const std::optional<ChallengeRecord>& known,
                                std::int64_t now_ns = kIssued_ns + kHour_ns / 2,
                                const std::string& token = "alice") {
  const judge::RunResult judged = read(result);
  return challenge_faults({"20261116-cccccc", token, judged, "alice"}, known, now_ns);
}

TEST(NewChallenge, IsAboutACaseThatTakesASeedAndCannotBeGuessed) {
  const Challenge one = issued();
  EXPECT_EQ(one.case_name, "train");
  EXPECT_EQ(one.suite_sha256, "abc");
  EXPECT_EQ(one.id.size(), 32U);
  EXPECT_GE(one.seed, 0);
  EXPECT_LE(one.seed, kMaxChallengeSeed);
  EXPECT_EQ(one.expires, iso_utc(kIssued_ns + kHour_ns));
  const Challenge two = issued();
  EXPECT_NE(one.id, two.id);
  EXPECT_FALSE(one.seed == two.seed && issued().seed == one.seed);
}

TEST(NewChallenge, IsRefusedWhereNothingTakesASeed) {
  const auto about = [](const std::string& name) {
    return serve::refused([&] {
      return new_challenge("20261115-ab3dE9", read(first_result()), name, kIssued_ns, seconds(60));
    });
  };
  EXPECT_EQ(about("plain"), "409 no_seed");
  EXPECT_EQ(about("other"), "404 no_such_case");
}

TEST(ChallengeFaults, AnAnswerAsAskedForHasNone) {
  const Challenge challenge = issued();
  EXPECT_THAT(faults(answer_to(challenge), ChallengeRecord{challenge, "bob", ""}), IsEmpty());
  // The same test again, after the tester was stopped in the middle.
  EXPECT_THAT(faults(answer_to(challenge), ChallengeRecord{challenge, "bob", "20261116-cccccc"}),
              IsEmpty());
}

TEST(ChallengeFaults, AForeignOneIsNotKnown) {
  EXPECT_THAT(faults(answer_to(issued()), std::nullopt),
              ElementsAre("the challenge is not one of this tester's"));
}

TEST(ChallengeFaults, AnAlteredOneIsNamedByItsField) {
  const Challenge challenge = issued();
  const Json fields = fields_to_json(challenge);
  for (const auto& [key, value] : fields.items()) {
    Json result = answer_to(challenge);
    result["provenance"]["answer"]["challenge"][key] = key == "seed" ? Json(-1) : Json("x");
    EXPECT_THAT(faults(result, ChallengeRecord{challenge, "bob", ""}),
                ElementsAre(HasSubstr("the challenge was altered: " + key)))
        << key;
  }
}

TEST(ChallengeFaults, AReplayIsToldWhichTestAnsweredIt) {
  const Challenge challenge = issued();
  EXPECT_THAT(faults(answer_to(challenge), ChallengeRecord{challenge, "bob", "20261116-bbbbbb"}),
              ElementsAre("the challenge was answered before, by the test 20261116-bbbbbb"));
}

TEST(ChallengeFaults, AnExpiredOneAnswersNothing) {
  const Challenge challenge = issued();
  EXPECT_THAT(faults(answer_to(challenge), ChallengeRecord{challenge, "bob", ""},
                     kIssued_ns + 2 * kHour_ns),
              ElementsAre(HasSubstr("the challenge expired at ")));
}

TEST(ChallengeFaults, ARunFromBeforeTheChallengeOrFromTheFutureIsNoAnswer) {
  const Challenge challenge = issued();
  Json result = answer_to(challenge);
  Json& began = result["provenance"]["answer"]["began"];
  began = iso_utc(kIssued_ns - kHour_ns, true);
  EXPECT_THAT(faults(result, ChallengeRecord{challenge, "bob", ""}),
              ElementsAre(HasSubstr("before the challenge was issued")));
  began = iso_utc(kIssued_ns + 3 * kHour_ns, true);
  EXPECT_THAT(faults(result, ChallengeRecord{challenge, "bob", ""}),
              ElementsAre(HasSubstr("is yet to come")));
  began = nullptr;
  EXPECT_THAT(faults(result, ChallengeRecord{challenge, "bob", ""}),
              ElementsAre("no round of the run began"));
  began = iso_utc(kIssued_ns - 60'000'000'000, true);  // a clock that is a minute behind
  EXPECT_THAT(faults(result, ChallengeRecord{challenge, "bob", ""}), IsEmpty());
}

TEST(ChallengeFaults, AnotherTokenSuiteOrSeedIsNoAnswer) {
  const Challenge challenge = issued();
  const ChallengeRecord known{challenge, "bob", ""};
  EXPECT_THAT(faults(answer_to(challenge), known, kIssued_ns + kHour_ns / 2, "mallory"),
              ElementsAre("the challenge is about a test of another token"));
  Json result = answer_to(challenge);
  result["provenance"]["suite_sha256"] = "other";
  EXPECT_THAT(faults(result, known), ElementsAre(HasSubstr("the suite is another one")));
  result = answer_to(challenge);
  result["provenance"]["answer"]["faults"] = {"the seed of the case 'train' is 1, not 2"};
  EXPECT_THAT(faults(result, known), ElementsAre("the seed of the case 'train' is 1, not 2"));
}

TEST(ChallengeFaults, AnAnswerOfAnyShapeIsRefusedNotCrashedOn) {
  const Challenge challenge = issued();
  for (const Json& shape : {Json(), Json::array(), Json("x"), Json{{"challenge", 7}},
                            Json{{"challenge", Json::object()}, {"faults", 3}, {"began", 1e300}}}) {
    Json result = answer_to(challenge);
    result["provenance"]["answer"] = shape;
    EXPECT_THAT(faults(result, ChallengeRecord{challenge, "bob", ""}), Not(IsEmpty())) << shape;
  }
}

TEST(CompareAnswer, HasTheHeadlineOfBothAndWhatDiffers) {
  const Challenge challenge = issued();
  Json comparison = compare_answer(challenge, read(first_result()), read(answer_to(challenge)));
  EXPECT_EQ(comparison["before"], 100);
  EXPECT_EQ(comparison["now"], 101);
  EXPECT_DOUBLE_EQ(comparison["difference"], 0.01);
  EXPECT_EQ(comparison["overlap"], true);
  EXPECT_THAT(comparison["differs"], IsEmpty());
  EXPECT_EQ(comparison_text(comparison), "p_whole 101 samples/s, 100 before (+1.0 %)");

  Json other = answer_to(challenge);
  other["cases"][0] = case_result(50, challenge.seed);
  other["cases"][0]["configuration"][1]["value"] = 64;
  other["cases"][0]["rounds"][0]["executed"][0]["program"]["sha256"] = "bb";
  other["seal"]["fingerprint"] = "SHA256:y";
  comparison = compare_answer(challenge, read(first_result()), read(other));
  EXPECT_EQ(comparison["overlap"], false);
  EXPECT_EQ(comparison["differs"],
            Json({"config.batch: 64 instead of 32", "the program is another one",
                  "it is signed by another key"}));
}

TEST(CompareAnswer, WithoutACommonHeadlineSaysSo) {
  const Challenge challenge = issued();
  Json other = answer_to(challenge);
  other["cases"][0]["headline"] = "time_to_target";
  const Json comparison = compare_answer(challenge, read(first_result()), read(other));
  EXPECT_FALSE(comparison.contains("metric"));
  EXPECT_EQ(comparison_text(comparison), "no headline number that both have");
}

class ChallengeRecords : public ::testing::Test {
 protected:
  std::string make_test() {
    TestRecord wanted;
    wanted.token = "alice";
    bool is_new = false;
    return records_.make_test(wanted, "", is_new).id;
  }
  testing::TemporaryFolder folder_;
  Records records_{folder_.path() / "t.db"};
  std::string alice_ = records_.add_token("alice");
};

TEST_F(ChallengeRecords, AreUsedUpByTheTestThatAnswers) {
  Challenge challenge =
      new_challenge(make_test(), read(first_result()), "", wall_now_ns(), seconds(60));
  records_.add_challenge(challenge, "alice");
  EXPECT_EQ(records_.challenge(challenge.id)->challenge, challenge);
  EXPECT_FALSE(records_.challenge("none"));
  const auto answer = [&] {
    TestRecord test;
    test.id = make_test();
    test.status = TestStatus::accepted;
    records_.finish(test, challenge.id);
    return test.id;
  };
  const std::string first = answer();
  (void)answer();
  EXPECT_EQ(records_.challenges_of(challenge.test).at(0).answered_by, first);
}

TEST_F(ChallengeRecords, AreLimitedUntilAnsweredOrExpired) {
  const std::string test = make_test();
  const auto add = [&](seconds valid) {
    records_.add_challenge(new_challenge(test, read(first_result()), "", wall_now_ns(), valid),
                           "alice");
    return 0;
  };
  for (int i = 0; i < Records::kMaxChallenges; ++i) add(seconds(-10));  // these have expired
  for (int i = 0; i < Records::kMaxChallenges; ++i) add(seconds(600));
  EXPECT_EQ(serve::refused([&] { return add(seconds(600)); }), "429 too_many_challenges");
}

}  // namespace
}  // namespace assay::tester
