#include <cmath>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "aisbench/reported_results.h"
#include "aisbench/result_writer.h"
#include "core/files.h"
#include "temporary_folder.h"
#include "unit/aisbench/local_time.h"

namespace assay::aisbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t kSecond = 1'000'000'000;

SetResultCalls reported(std::vector<std::pair<std::string, std::string>> calls,
                        std::int64_t at_ns = 5) {
  SetResultCalls out;
  for (auto& [key, value] : calls) out.calls.push_back({at_ns, 1, "training", key, value});
  return out;
}

/// The variable that names the file, for one test.
class Writer : public ::testing::Test {
 protected:
  Writer() { ::setenv(kResultsVariable, file_.c_str(), 1); }
  ~Writer() override { ::unsetenv(kResultsVariable); }
  testing::TemporaryFolder folder_;
  const std::filesystem::path file_ = folder_.path() / kResultsFile;
};

TEST_F(Writer, WritesWhatIsReadBack) {
  EXPECT_EQ(write_result("training", "accuracy", "a \"quoted\"\n\x01 text"), "");
  const SetResultCalls read = read_set_result_calls(file_);
  ASSERT_EQ(read.calls.size(), 1U);
  EXPECT_EQ(read.calls[0].value, "a \"quoted\"\n\x01 text");
  EXPECT_EQ(read.calls[0].pid, ::getpid());
  EXPECT_TRUE(read.calls[0].utc_offset_s.has_value());
  EXPECT_EQ(read.unreadable, 0U);
}

TEST_F(Writer, EndsALineThatAKilledProcessLeft) {
  write_file_atomic(file_, "{\"wall_ns\":1,\"pi", false);
  EXPECT_EQ(write_result("training", "accuracy", "1"), "");
  const SetResultCalls read = read_set_result_calls(file_);
  EXPECT_EQ(read.calls.size(), 1U);
  EXPECT_EQ(read.unreadable, 1U);
}

TEST_F(Writer, RefusesWrongCallsAndWritesNothing) {
  EXPECT_THAT(write_result("train", "accuracy", "1"), HasSubstr("not 'train'"));
  EXPECT_THAT(write_result("training", "accruacy", "1"), HasSubstr("no key 'accruacy'"));
  EXPECT_THAT(write_result("training", "a b_start_time", "1"), HasSubstr("no key"));
  EXPECT_THAT(write_result("training", "accuracy", ""), HasSubstr("empty"));
  EXPECT_THAT(write_result("training", "accuracy", std::string(5000, '1')), HasSubstr("longer"));
  EXPECT_FALSE(std::filesystem::exists(file_));
}

TEST_F(Writer, SaysThatThereIsNoRun) {
  ::unsetenv(kResultsVariable);
  EXPECT_THAT(write_result("training", "accuracy", "1"), HasSubstr("assay ais test"));
}

TEST_F(Writer, NamesTheFileThatCannotBeWritten) {
  ::setenv(kResultsVariable, "/nowhere/at/all", 1);
  EXPECT_THAT(write_result("training", "accuracy", "1"), HasSubstr("/nowhere/at/all"));
}

TEST(SetResultCalls, GivesResultsThatAreComplete) {
  const ReportedResults results = results_of(reported(
      {{"throughput_ratio", "450.58182754928634"}, {"accuracy", "0.71"}, {"result", "OK"}}));
  EXPECT_THAT(results.problems, IsEmpty());
  EXPECT_EQ(results.throughput, 450.58182754928634);
  EXPECT_EQ(results.accuracy, 0.71);
  EXPECT_TRUE(results.reported_ok);
}

TEST(SetResultCalls, NamesTheKeyThatIsMissing) {
  EXPECT_THAT(results_of(reported({{"accuracy", "1"}})).problems,
              ElementsAre("throughput_ratio was never set"));
  EXPECT_THAT(results_of(reported({{"throughput_ratio", "1"}})).problems,
              ElementsAre("accuracy was never set"));
}

TEST(SetResultCalls, NamesValuesThatAreNoResults) {
  for (const char* bad : {"nan", "NaN", "inf", "1.5x", "abc", "0", "-3"})
    EXPECT_THAT(results_of(reported({{"throughput_ratio", bad}, {"accuracy", "1"}})).problems,
                ElementsAre(HasSubstr("throughput_ratio is")))
        << bad;
  EXPECT_THAT(results_of(reported({{"throughput_ratio", "1"}, {"accuracy", "nan"}})).problems,
              ElementsAre(HasSubstr("accuracy is not a finite number: 'nan'")));
  EXPECT_THAT(
      results_of(reported({{"throughput_ratio", "1"}, {"accuracy", "1"}, {"result", "NOK"}}))
          .problems,
      ElementsAre("result is 'NOK'"));
}

TEST(SetResultCalls, LastValueWinsAndTheChangeIsSeen) {
  const SetResultCalls twice = reported({{"throughput_ratio", "1"},
                                         {"accuracy", "0.5"},
                                         {"throughput_ratio", "2"},
                                         {"accuracy", "0.5"}});
  EXPECT_EQ(results_of(twice).throughput, 2);
  EXPECT_THAT(changed_values(twice), ElementsAre("throughput_ratio: '1', then '2'"));
}

TEST(SetResultCalls, TakesTheAccuracyOfLanguageModels) {
  const ReportedResults results = results_of(
      reported({{"throughput_ratio", "1"}, {"accuracy", "loss: 2.5, Perplexity: 12.18"}}));
  EXPECT_THAT(results.problems, IsEmpty());
  EXPECT_EQ(results.loss, 2.5);
  EXPECT_EQ(results.perplexity, 12.18);
  EXPECT_EQ(results.accuracy_text, "loss: 2.5, Perplexity: 12.18");
  EXPECT_FALSE(results.accuracy.has_value());
}

TEST(SetResultCalls, IsNotMixedWithInference) {
  SetResultCalls mixed = reported({{"throughput_ratio", "1"}, {"accuracy", "1"}});
  mixed.calls.push_back({5, 1, "inference", "accuracy", "0"});
  EXPECT_EQ(results_of(mixed).accuracy, 1);
}

TEST(Times, AreReadInTheFormsThatWorkloadsUse) {
  const std::int64_t at = local(2022, 7, 13, 11, 27, 19);
  EXPECT_EQ(parse_time("2022-07-13 11:27:19"), at);
  EXPECT_EQ(parse_time("2022-7-13T11:27:19.25"), at + kSecond / 4);
  EXPECT_EQ(parse_time("1657682839.5"), 1657682839 * kSecond + kSecond / 2);
  for (const char* bad : {"2022-07-13", "2022-02-30 00:00:00", "noon", "", "12.5"})
    EXPECT_FALSE(parse_time(bad).has_value()) << bad;
}

TEST(Times, AreThoseOfTheWorkloadsPlaceWhereverTheyAreRead) {
  // 11:27:19 in Shanghai is 03:27:19 UTC.
  EXPECT_EQ(parse_time("2022-07-13 11:27:19", 8 * 3600), 1657682839 * kSecond);
  EXPECT_EQ(parse_time("1657682839", 8 * 3600), 1657682839 * kSecond);
}

TEST(Times, OfAPhaseAreTheFirstStartAndTheLastEnd) {
  std::string note;
  const Phase phase = reported_phase(reported({{"train_start_time", "2022-07-13 11:00:05"},
                                               {"train_start_time", "2022-07-13 11:00:03"},
                                               {"train_end_time", "2022-07-13 11:10:00"},
                                               {"train_end_time", "2022-07-13 11:09:00"}}),
                                     "train", note);
  EXPECT_EQ(phase.start_ns, local(2022, 7, 13, 11, 0, 3));
  EXPECT_EQ(phase.end_ns, local(2022, 7, 13, 11, 10, 0));
  EXPECT_EQ(note, "");
}

TEST(Times, ADateAloneIsTheMomentOfTheCall) {
  const std::int64_t called = local(2022, 7, 13, 11, 27, 19) + 5;
  std::string note;
  const Phase phase =
      reported_phase(reported({{"proc_start_time", "2022-07-13"}}, called), "proc", note);
  EXPECT_EQ(phase.start_ns, called);
  EXPECT_THAT(note, HasSubstr("date without a time"));
}

TEST(Times, ReportedAsTheyPassAreAsPreciseAsTheCall) {
  const std::int64_t called = local(2022, 7, 13, 11, 27, 19) + kSecond / 4;
  std::string note;
  EXPECT_EQ(
      reported_phase(reported({{"proc_start_time", "2022-07-13 11:27:19"}}, called), "proc", note)
          .start_ns,
      called);
  EXPECT_EQ(
      reported_phase(reported({{"proc_start_time", "2022-07-13 11:27:17"}}, called), "proc", note)
          .start_ns,
      local(2022, 7, 13, 11, 27, 17));
}

TEST(Times, ReportedALittleLateStayInTheirSecond) {
  const std::int64_t second = local(2022, 7, 13, 11, 27, 19);
  std::string note;
  EXPECT_EQ(
      reported_phase(reported({{"proc_end_time", "2022-07-13 11:27:19"}}, second + kSecond + 3),
                     "proc", note)
          .end_ns,
      second + kSecond - 1);
  EXPECT_EQ(reported_phase(reported({{"proc_end_time", "2022-07-13 11:27:19.5"}}, second + kSecond),
                           "proc", note)
                .end_ns,
            second + kSecond / 2);
}

TEST(Stages, AreSeenInTheLog) {
  const auto stage = parse_stage(
      "2022-07-13T13:24:43 -Ais-Bench-Stubs- INFO run_eval(modelarts_run.sh:32) - run_eval called");
  ASSERT_TRUE(stage.has_value());
  EXPECT_EQ(stage->name, "run_eval");
  EXPECT_EQ(stage->wall_ns, local(2022, 7, 13, 13, 24, 43));
  EXPECT_FALSE(
      parse_stage("2022-07-13T13:24:43 -Ais-Bench-Stubs- ERROR run_eval(x:1) - no").has_value());
}

TEST(Stages, AreNamedByExitCodes) {
  EXPECT_EQ(stage_of_exit_code(1).what, "init failed");
  EXPECT_EQ(stage_of_exit_code(2).what, "run_train failed");
  EXPECT_EQ(stage_of_exit_code(3).what, "run_eval failed");
  EXPECT_EQ(stage_of_exit_code(4).what, "get_result failed");
  EXPECT_EQ(stage_of_exit_code(5).what, "the mode failed");
  EXPECT_EQ(stage_of_exit_code(6).what, "");
  EXPECT_EQ(stage_of_exit_code(0).what, "");
}

}  // namespace
}  // namespace assay::aisbench
