#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "agent/evidence_log.h"
#include "core/files.h"
#include "temporary_folder.h"

namespace assay::agent {
namespace {

using evidence::FileRecord;
using ::testing::ElementsAre;

FileRecord file_with(std::string name, std::string_view content) {
  evidence::FileHash hash;
  hash.append(content);
  return hash.record(std::move(name));
}

class EvidenceLogTest : public ::testing::Test {
 protected:
  [[nodiscard]] evidence::ChainCheck chain() const {
    return evidence::verify_chain(read_file(folder_.path() / "evidence.jsonl"), "round", 2);
  }
  testing::TemporaryFolder folder_;
  EvidenceLog log_{folder_.path(), "round", 2};
  std::vector<std::string> problems_;
};

TEST_F(EvidenceLogTest, SaysOnlyWhatChanged) {
  const FileRecord a = file_with("a", "x");
  EXPECT_EQ(log_.add({1, 1}, {a, file_with("b", "")}), 0);
  EXPECT_EQ(log_.add({2, 2}, {a, file_with("b", "y")}), 0);
  EXPECT_EQ(log_.add({3, 3}, {a, file_with("b", "y")}), 0);
  ASSERT_EQ(chain().links.size(), 2U);
  EXPECT_THAT(chain().links[1].files, ElementsAre(file_with("b", "y")));
  EXPECT_EQ(chain().head, log_.head());
}

TEST_F(EvidenceLogTest, LeavesOutALineThatDoesNotFitAndSaysItInTheNext) {
  ASSERT_EQ(log_.add({1, 1}, {file_with("a", "x")}), 0);
  const std::string head = log_.head();
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  ::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{300, old.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_EQ(log_.add({2, 2}, {file_with("a", "xy")}), EFBIG);
  ::setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_EQ(log_.head(), head);
  EXPECT_EQ(log_.add({3, 3}, {file_with("a", "xy")}), 0);
  EXPECT_TRUE(chain().ok()) << chain().problem;
  EXPECT_EQ(chain().links.size(), 2U);
}

TEST_F(EvidenceLogTest, IsThinnedWhenItIsLarge) {
  std::vector<FileRecord> many;
  for (int i = 0; i < 1000; ++i)
    many.push_back(file_with(std::string(4000, 'x') + std::to_string(i), ""));
  std::int64_t second = 0;
  const auto add = [&](const std::string& content) {
    for (FileRecord& file : many) file = file_with(file.name, content);
    ++second;
    ASSERT_EQ(log_.add({second * 1'000'000'000, 0}, many), 0);
  };
  for (int i = 0; i < 20; ++i) add(std::to_string(i));
  // Five lines of 4.1 MB make 16 MiB; then one in ten seconds.
  EXPECT_EQ(chain().links.size(), 6U);
}

TEST_F(EvidenceLogTest, ListsAtTheEndWhatTheJudgeReadsAndItself) {
  folder_.write("rank0.out.log", "as written");
  folder_.write("set_result.jsonl", "by the workload\n");
  folder_.write("hostfile", "not read by the judge");
  folder_.write("core.1234", "nor this");
  const std::vector<FileRecord> list =
      log_.finish({5, 5}, {file_with("rank0.out.log", "as written")}, problems_);
  EXPECT_THAT(list, ElementsAre(file_with("rank0.out.log", "as written"),
                                file_with("set_result.jsonl", "by the workload\n"),
                                *evidence::measure_file(folder_.path() / "evidence.jsonl",
                                                        "evidence.jsonl")));
  EXPECT_THAT(problems_, ElementsAre());
  EXPECT_EQ(chain().links.back().files.size(), 2U);
  EXPECT_EQ(chain().head, log_.head());
}

// What the agent wrote counts, not what somebody made of it.
TEST_F(EvidenceLogTest, ListsWhatWasWrittenAlsoWhenTheFileIsAnother) {
  folder_.write("rank0.out.log", "changed");
  const auto list = log_.finish({5, 5}, {file_with("rank0.out.log", "as written")}, problems_);
  EXPECT_EQ(list.front(), file_with("rank0.out.log", "as written"));
}

// Logs of ranks are the agent's own: it does not vouch for those that it did not write.
TEST_F(EvidenceLogTest, DoesNotListLogsThatItDidNotWrite) {
  for (const char* name :
       {"rank0.out.log", "rank0.out.log.head", "rank1.out.log", "rank00.out.log"})
    folder_.write(name, "as written");
  const auto list = log_.finish({5, 5}, {file_with("rank0.out.log", "as written")}, problems_);
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list.front().name, "rank0.out.log");
  EXPECT_EQ(list.back().name, "evidence.jsonl");
}

TEST_F(EvidenceLogTest, NamesWhatItCannotList) {
  std::filesystem::create_directory(folder_.path() / "set_result.jsonl");
  folder_.write("config.json", "");
  std::filesystem::resize_file(folder_.path() / "config.json", std::uintmax_t{300} << 20);
  const auto list = log_.finish({5, 5}, {}, problems_);
  EXPECT_EQ(list.size(), 1U);
  EXPECT_EQ(problems_.size(), 2U);
}

}  // namespace
}  // namespace assay::agent
