#include <gtest/gtest.h>

#include "client/answers.h"
#include "client/job_outcome.h"
#include "core/time.h"

namespace assay::client {
namespace {

TEST(Answers, TimesAreReadAndNothingElseIs) {
  EXPECT_EQ(parse_time("1970-01-01T00:00:01.500Z"), 1'500'000'000);
  const std::int64_t now = 1'794'845'400'123'000'000;
  EXPECT_EQ(parse_time(iso_utc(now, true)), now);
  for (const char* wrong : {"", "2026-11-16", "2026-11-16T16:10:00", "2026-11-16T16:10:00+01:00",
                            "2026-13-16T16:10:00Z", "2026-11-16T16:10:00Zx", "2026-11-16T99:10:00Z",
                            "2026-11-16T16:10:nanZ"})
    EXPECT_EQ(parse_time(wrong), std::nullopt) << wrong;
}

TEST(Answers, AJobOfAnotherVersionIsReadAsFarAsItIsKnown) {
  const JobRow row = read_row({{"id", 3}, {"state", "dreaming"}, {"verdict", nullptr}, {"new", 1}});
  EXPECT_EQ(row.id, 3);
  EXPECT_EQ(row.state.text, "dreaming");
  EXPECT_FALSE(row.state.is_final());
  EXPECT_EQ(row.verdict, jobs::Verdict::none);
  EXPECT_EQ(read_row(Json(17)).id, 0);
}

TEST(Answers, WhyAJobWaitsIsWordsInAListAndAnObjectInTheJob) {
  EXPECT_EQ(read_row({{"pending", "waits for 2 nodes"}}).pending, "waits for 2 nodes");
  EXPECT_EQ(read_row({{"pending", {{"kind", "resources"}, {"words", "waits"}}}}).pending, "waits");
  EXPECT_EQ(read_row({{"pending", nullptr}}).pending, "");
}

TEST(Outcome, OnlyFinishedAndValidIsZero) {
  const auto of = [](const char* state, const char* verdict) {
    return outcome_of(read_row({{"state", state}, {"verdict", verdict}}));
  };
  EXPECT_EQ(of("finished", "VALID"), 0);
  EXPECT_EQ(of("finished", "INVALID"), 6);
  EXPECT_EQ(of("finished", "INCOMPLETE"), 5);
  EXPECT_EQ(of("finished", "none"), 5);
  EXPECT_EQ(of("failed", "VALID"), 5);
  EXPECT_EQ(of("killed", "none"), 5);
  EXPECT_EQ(of("error", "none"), 4);
  EXPECT_EQ(of("dreaming", "VALID"), 5);
}

}  // namespace
}  // namespace assay::client
