#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "aisbench/results.h"
#include "core/files.h"
#include "temporary_folder.h"

namespace assay::aisbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class AisResults : public ::testing::Test {
 protected:
  void put(const std::string& name, const std::string& content) {
    const auto path = folder_.path() / name;
    make_directories(path.parent_path());
    write_file_atomic(path, content, false);
  }
  /// Two servers of two devices, all together.
  void put_all() {
    put("ranksize.json", "4");
    for (int rank = 0; rank < 4; ++rank)
      put("throughput_" + std::to_string(rank) + ".json", std::to_string(rank + 1) + ".5");
    put("accuracy.json", "0.75\n");
  }
  Results read() { return read_results(folder_.path(), {false, 2, 2}); }

  testing::TemporaryFolder folder_;
};

TEST_F(AisResults, OfRanksAreSummed) {
  put_all();
  const Results results = read();
  EXPECT_THAT(results.problems, IsEmpty());
  EXPECT_THAT(results.throughputs, ElementsAre(1.5, 2.5, 3.5, 4.5));
  EXPECT_EQ(results.throughput, 12.0);
  EXPECT_EQ(results.accuracy, 0.75);
}

TEST_F(AisResults, OfServersThatTrainAloneAreSummedPerServerAndThenAveraged) {
  put("0/throughput_0.json", "10.25");
  put("0/throughput_1.json", "20.5");
  put("1/throughput_0.json", "30");
  put("1/throughput_1.json", "40");
  put("accuracy_0.json", "0.5");
  put("accuracy_1.json", "0.25");
  const Results results = read_results(folder_.path(), {true, 2, 2});
  EXPECT_THAT(results.problems, IsEmpty());
  EXPECT_THAT(results.throughputs, ElementsAre(30.75, 70.0));
  EXPECT_EQ(results.throughput, 50.375);
  EXPECT_EQ(results.accuracy, 0.375);
}

struct Block {
  const char* throughputs[2];
  const char* accuracies[2];
  const char* lines;
};

class PublishedResults : public AisResults, public ::testing::WithParamInterface<Block> {};

TEST_P(PublishedResults, AreReproducedFromTheirLists) {
  const Block& block = GetParam();
  for (int server = 0; server < 2; ++server) {
    put(std::to_string(server) + "/throughput_0.json", block.throughputs[server]);
    put("accuracy_" + std::to_string(server) + ".json", block.accuracies[server]);
  }
  const Results results = read_results(folder_.path(), {true, 2, 1});
  EXPECT_THAT(results.problems, IsEmpty());
  EXPECT_EQ(report_lines(results), block.lines);
}

INSTANTIATE_TEST_SUITE_P(
    BertAndResnet, PublishedResults,
    ::testing::Values(Block{{"450.77798444604605", "450.38567065252664"},
                            {"0.7138142585754395", "0.7139078378677368"},
                            "report >> throughput_list:[450.77798444604605, 450.38567065252664] "
                            "average:450.58182754928634\n"
                            "report >> accuracy_list:[0.7138142585754395, 0.7139078378677368] "
                            "average:0.7138610482215881\n"},
                      Block{{"14147.314993295107", "14155.048461692913"},
                            {"0.7705078125", "0.7707316080729166"},
                            "report >> throughput_list:[14147.314993295107, 14155.048461692913] "
                            "average:14151.181727494011\n"
                            "report >> accuracy_list:[0.7705078125, 0.7707316080729166] "
                            "average:0.7706197102864583\n"}));

TEST_F(AisResults, OfAMissingRankAreIncompleteAndNameIt) {
  put_all();
  std::filesystem::remove(folder_.path() / "throughput_2.json");
  EXPECT_THAT(read().problems, ElementsAre("throughput_2.json is missing"));
}

TEST_F(AisResults, WithoutAccuracyOrRankSizeAreIncomplete) {
  put_all();
  std::filesystem::remove(folder_.path() / "accuracy.json");
  std::filesystem::remove(folder_.path() / "ranksize.json");
  EXPECT_THAT(read().problems, ElementsAre("ranksize.json is missing", "accuracy.json is missing"));
}

TEST_F(AisResults, ThatAreCutOrNoNumbersAreIncomplete) {
  put_all();
  put("throughput_0.json", "");
  put("throughput_1.json", "nan");
  put("throughput_2.json", "1.5e");
  put("throughput_3.json", "0");
  put("accuracy.json", "inf");
  EXPECT_THAT(read().problems, ElementsAre("throughput_0.json is empty",
                                           "throughput_1.json is not a finite number: 'nan'",
                                           "throughput_2.json is not a finite number: '1.5e'",
                                           "throughput_3.json is not above zero: 0.0",
                                           "accuracy.json is not a finite number: 'inf'"));
}

TEST_F(AisResults, OfAnotherNumberOfRanksAreNotTaken) {
  put_all();
  put("ranksize.json", "8");
  EXPECT_THAT(read().problems, ElementsAre("ranksize.json says 8 ranks, but the job has 4"));
}

TEST_F(AisResults, WithFilesOfAnotherRunAreNotTaken) {
  put_all();
  put("throughput_7.json", "1.5");
  EXPECT_THAT(read().problems, ElementsAre(HasSubstr("throughput_7.json is of a rank")));
}

TEST_F(AisResults, OfAServerThatIsMissingNameEveryFile) {
  put("0/throughput_0.json", "10.25");
  put("accuracy_0.json", "0.5");
  EXPECT_THAT(read_results(folder_.path(), {true, 2, 1}).problems,
              ElementsAre("1/throughput_0.json is missing", "accuracy_1.json is missing"));
}

TEST(NumberText, AlwaysShowsThatItIsNoInteger) {
  EXPECT_EQ(number_text(90), "90.0");
  EXPECT_EQ(number_text(-2), "-2.0");
  EXPECT_EQ(number_text(0.1), "0.1");
  EXPECT_EQ(number_text(1e20), "1e+20");
}

}  // namespace
}  // namespace assay::aisbench
