#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/round_listing.h"
#include "temporary_folder.h"

namespace assay::launch {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> names_of(const RoundFiles& list) {
  std::vector<std::string> names;
  for (const evidence::FileRecord& file : list.files) names.push_back(file.name);
  return names;
}

TEST(ListRoundFiles, ListsWhatTheJudgeReadsAndNoAgentListed) {
  const testing::TemporaryFolder folder;
  folder.write("automl/journal.jsonl", "{}\n");
  folder.write("automl/weights/1.pt", "not evidence");
  folder.write("results/deep/a.json", "{}");
  folder.write("job.json", "not evidence");
  folder.write("train_result_info.json", "derived");
  folder.write("worker-0_noderank0/rank0.out.log", "x");
  folder.write("h_noderank1/rank1.out.log", "listed by its agent");
  const RoundFiles list = list_round_files(folder.path(), {"h_noderank1"});
  EXPECT_THAT(names_of(list), ElementsAre("automl/journal.jsonl", "results/deep/a.json",
                                          "worker-0_noderank0/rank0.out.log"));
  EXPECT_EQ(list.files[2].sha256, sha256("x"));
  EXPECT_THAT(list.unreadable, IsEmpty());
}

TEST(ListRoundFiles, OfARoundThatNeverBeganIsEmpty) {
  EXPECT_THAT(names_of(list_round_files("/no/such/folder", {})), IsEmpty());
}

TEST(Misfits, NamesWhatIsNotAsItsAgentWroteIt) {
  const testing::TemporaryFolder folder;
  const auto record = [](std::string name, std::string_view content) {
    evidence::FileHash hash;
    hash.append(content);
    return hash.record(std::move(name));
  };
  folder.write("same", "x");
  folder.write("cut", "x");
  folder.write("changed", "x");
  EXPECT_THAT(
      misfits(folder.path(), {record("same", "x"), record("cut", "xy"), record("changed", "y"),
                              record("gone", ""), record("../same", "x")}),
      ElementsAre("cut is not as its agent wrote it: shorter",
                  "changed is not as its agent wrote it: different",
                  "gone is not as its agent wrote it: missing",
                  "'../same' cannot be a file of the node's folder"));
}

}  // namespace
}  // namespace assay::launch
