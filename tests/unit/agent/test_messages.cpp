#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/messages.h"
#include "core/error.h"

namespace assay::agent {
namespace {

using ::testing::HasSubstr;

std::string problem_of(const Json& report) {
  try {
    (void)report_from_json(report);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

template <class... T>
void expect_all_survive(std::type_identity<std::variant<T...>> /*all*/, auto from_json) {
  const auto survives = [&](const auto& message) {
    const Json json = to_json(message);
    EXPECT_EQ(to_json(from_json(json)), json) << json;
  };
  (survives(std::variant<T...>(T{})), ...);
}

TEST(Messages, EveryReportSurvivesItsJson) {
  expect_all_survive(std::type_identity<Report>{}, report_from_json);
}

TEST(Messages, EveryRequestSurvivesItsJson) {
  expect_all_survive(std::type_identity<Request>{}, request_from_json);
}

TEST(Messages, ARankExitHasEitherACodeOrASignal) {
  RankExit exit;
  exit.exit.signal = 9;
  exit.ended_by = EndedBy::time_limit;
  const Json json = to_json(Report(exit));
  EXPECT_EQ(json["type"], "rank_exit");
  EXPECT_EQ(json["signal"], 9);
  EXPECT_EQ(json["ended_by"], "time limit");
  EXPECT_FALSE(json.contains("code"));
}

TEST(Messages, ALossThatIsNotFiniteIsNothing) {
  Heartbeat beat;
  beat.loss = std::numeric_limits<double>::quiet_NaN();
  const Json received = parse_json(dump_line(to_json(Report(beat))), "line");
  EXPECT_FALSE(std::get<Heartbeat>(report_from_json(received)).loss);
}

TEST(Messages, AMalformedReportNamesTheFieldAndWhatWasExpected) {
  Json exit = to_json(Report(RankExit{}));
  exit["rank"] = "zero";
  EXPECT_THAT(problem_of(exit), HasSubstr("rank_exit: rank: expected a whole number"));
  exit.erase("rank");
  EXPECT_THAT(problem_of(exit), HasSubstr("'rank' is missing"));
  exit["rank"] = 1e300;
  EXPECT_THAT(problem_of(exit), HasSubstr("expected a whole number"));
  exit["rank"] = std::int64_t{1} << 40;
  EXPECT_THAT(problem_of(exit), HasSubstr("a number within its range"));
}

TEST(Messages, AnUnknownTypeIsNamed) {
  EXPECT_THAT(problem_of({{"type", "nonsense"}}), HasSubstr("unknown report 'nonsense'"));
  EXPECT_THAT(problem_of(Json::object()), HasSubstr("unknown report ''"));
  EXPECT_THAT(problem_of({{"type", 3}}), HasSubstr("unknown report ''"));
}

TEST(Messages, ARankNeedsACommand) {
  RoundRequest round;
  round.ranks.emplace_back();
  EXPECT_THROW((void)request_from_json(to_json(Request(round))), Error);
}

}  // namespace
}  // namespace assay::agent
