// Real processes, as a launcher would start them.
#include <cstring>
#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"
#include "core/subprocess.h"
#include "core/time.h"
#include "ports.h"
#include "temporary_folder.h"
#include "workload/place.h"

namespace assay::train {
namespace {

using ::testing::HasSubstr;

std::string free_port() {
  return std::to_string(testing::reserved_port());
}

struct Rank {
  int rank;
  int world;
};

std::vector<CommandResult> run(const std::vector<Rank>& ranks,
                               const std::vector<std::string>& arguments,
                               const std::string& port = free_port(),
                               std::chrono::seconds timeout = std::chrono::seconds(40)) {
  std::vector<std::future<CommandResult>> running;
  for (const Rank& rank : ranks)
    running.push_back(std::async(std::launch::async, [&, rank] {
      std::vector<std::string> argv{std::string(ASSAY_BIN_DIR) + "/train_worker"};
      argv.insert(argv.end(), arguments.begin(), arguments.end());
      CommandOptions options;
      options.timeout = timeout;
      options.env = {{"RANK", std::to_string(rank.rank)},
                     {"WORLD_SIZE", std::to_string(rank.world)},
                     {"LOCAL_RANK", std::to_string(rank.rank)},
                     {"MASTER_ADDR", "127.0.0.1"},
                     {"MASTER_PORT", port},
                     {"OMP_NUM_THREADS", "1"}};
      return run_command(argv, options);
    }));
  std::vector<CommandResult> results;
  for (auto& result : running) results.push_back(result.get());
  return results;
}

std::vector<float> read_floats(const std::filesystem::path& path) {
  const std::string bytes = read_file(path);
  std::vector<float> values(bytes.size() / 4);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST(ParallelTest, RanksWithAShareOfTheBatchTrainLikeOneWithAllOfIt) {
  const assay::testing::TemporaryFolder folder;
  const auto train = [&](int world, int accumulation) {
    const std::string name =
        (folder.path() / (std::to_string(world) + "x" + std::to_string(accumulation))).string();
    std::vector<Rank> ranks;
    for (int rank = 0; rank < world; ++rank) ranks.push_back({rank, world});
    for (const CommandResult& result :
         run(ranks, {"gradients", std::to_string(accumulation), name}))
      EXPECT_TRUE(result.status.ok()) << to_string(result.status) << result.err;
    return name;
  };
  const std::vector<float> expected = read_floats(train(1, 1) + ".0");
  ASSERT_EQ(expected.size(), 8 * 300 + 300 + 300 * 200 + 200 + 200 * 3 + 3);
  for (const auto& [world, accumulation] : {std::pair{2, 1}, {3, 1}, {2, 3}, {1, 4}}) {
    const std::string name = train(world, accumulation);
    for (int rank = 0; rank < world; ++rank) {
      const std::vector<float> values = read_floats(name + "." + std::to_string(rank));
      ASSERT_EQ(values.size(), expected.size());
      for (std::size_t i = 0; i < values.size(); ++i)
        ASSERT_NEAR(values[i], expected[i], 1e-5) << world << " ranks, element " << i;
    }
  }
}

TEST(ParallelTest, CountsAreAddedExactly) {
  for (const CommandResult& result : run({{0, 3}, {1, 3}, {2, 3}}, {"sum"}))
    EXPECT_EQ(result.out, "3 3458764513820540931\n") << result.err;  // 3·2^60 + 3
}

TEST(ParallelTest, ABrokenPipeDoesNotEndARank) {
  for (const CommandResult& result : run({{0, 2}, {1, 2}}, {"pipe"}))
    EXPECT_TRUE(result.status.ok()) << to_string(result.status);
}

TEST(ParallelTest, ARankThatDiesIsNamedByTheOthers) {
  for (const int culprit : {0, 2}) {
    const std::int64_t begin = mono_now_ns();
    const auto results =
        run({{0, 3}, {1, 3}, {2, 3}}, {"collapse", "die", std::to_string(culprit)});
    EXPECT_LT(seconds(Nanoseconds(mono_now_ns() - begin)), 20);
    for (int rank = 0; rank < 3; ++rank) {
      const CommandResult& result = results[static_cast<std::size_t>(rank)];
      EXPECT_EQ(result.status.code, rank == culprit ? 77 : 5) << result.err;
      if (rank == culprit) continue;
      EXPECT_THAT(result.err, HasSubstr("rank " + std::to_string(culprit))) << rank;
    }
  }
}

TEST(ParallelTest, ARankThatFailsGivesTheOthersItsReason) {
  const auto results = run({{0, 2}, {1, 2}}, {"collapse", "fail", "1"});
  EXPECT_EQ(results[1].status.code, 3);
  EXPECT_EQ(results[0].status.code, 5) << to_string(results[0].status);
  EXPECT_THAT(results[0].err, HasSubstr("rank 1"));
  EXPECT_THAT(results[0].err, HasSubstr("the disk burns"));
}

TEST(ParallelTest, ARankThatStopsToAnswerIsNamedByTheOthers) {
  const auto results =
      run({{0, 2}, {1, 2}}, {"collapse", "stop", "1"}, free_port(), std::chrono::seconds(20));
  EXPECT_FALSE(results[0].timed_out);
  EXPECT_EQ(results[0].status.code, 5) << results[0].err;
  EXPECT_THAT(results[0].err, HasSubstr("rank 1"));
  // All of the time that was waited.
  EXPECT_THAT(results[0].err, HasSubstr("no sign of life for 2 s; this rank has waited another"));
  EXPECT_TRUE(results[1].timed_out);  // stopped, hence killed by the test
}

// It serves the store: whoever asks it anything waits for ever.
TEST(ParallelTest, RankZeroThatStopsToAnswerIsNamedByTheOthers) {
  const auto results = run({{0, 3}, {1, 3}, {2, 3}}, {"collapse", "stop", "0"}, free_port(),
                           std::chrono::seconds(20));
  for (const std::size_t rank : {1, 2}) {
    EXPECT_FALSE(results[rank].timed_out);
    EXPECT_EQ(results[rank].status.code, 5) << results[rank].err;
    EXPECT_THAT(results[rank].err, HasSubstr("rank 0 has given no sign of life"));
  }
}

TEST(ParallelTest, ARankThatLeavesBeforeTheEndIsNamedByTheOthers) {
  for (const std::size_t culprit : {0, 1}) {  // rank 0 serves the store and watches the others
    const auto results =
        run({{0, 3}, {1, 3}, {2, 3}}, {"collapse", "leave", std::to_string(culprit)});
    EXPECT_EQ(results[culprit].status.code, 0);
    for (std::size_t rank = 0; rank < 3; ++rank) {
      if (rank == culprit) continue;
      EXPECT_EQ(results[rank].status.code, 5);
      EXPECT_THAT(results[rank].err, HasSubstr("rank " + std::to_string(culprit) + " on "));
      EXPECT_THAT(results[rank].err, HasSubstr("has left the training before its end"));
    }
  }
}

TEST(ParallelTest, ARankThatNeverAppearsIsNamed) {
  const auto results = run({{0, 3}, {2, 3}}, {"sum"});
  for (const CommandResult& result : results) {
    EXPECT_EQ(result.status.code, 3);
    EXPECT_THAT(result.err, HasSubstr("1 of 3 ranks did not appear: 1"));
  }
}

TEST(ParallelTest, AnotherWorldSizeIsAnError) {
  const auto results = run({{0, 2}, {1, 3}}, {"sum"});
  EXPECT_EQ(results[0].status.code, 3);
  EXPECT_THAT(results[0].err, HasSubstr("rank 1 has WORLD_SIZE 3, rank 0 has 2"));
  EXPECT_EQ(results[1].status.code, 3);
}

TEST(ParallelTest, ARankWithOtherTermsIsNamedWithTheFirstThatDiffers) {
  for (const CommandResult& result : run({{0, 3}, {1, 3}, {2, 3}}, {"terms"})) {
    EXPECT_EQ(result.status.code, 3);
    EXPECT_THAT(result.err, HasSubstr("rank 2 has 'flavour: 1', rank 0 has 'flavour: 0'"));
  }
}

TEST(ParallelTest, ARankWithAnotherNumberIsNamed) {
  for (const CommandResult& result : run({{0, 3}, {1, 3}, {2, 3}}, {"agree"})) {
    EXPECT_EQ(result.status.code, 3);
    EXPECT_THAT(result.err, HasSubstr("rank 1 has a moon of size 7, rank 0 has 6"));
  }
}

TEST(ParallelTest, ARankThatExistsTwiceIsAnError) {
  const auto results = run({{0, 3}, {1, 3}, {1, 3}}, {"sum"});
  EXPECT_EQ(results[0].status.code, 3);
  EXPECT_THAT(results[1].err + results[2].err, HasSubstr("another process is rank 1 already"));
}

TEST(ParallelTest, AMasterThatCannotBeReachedIsAnErrorInTime) {
  const std::int64_t begin = mono_now_ns();
  const auto results = run({{1, 2}}, {"sum"});
  EXPECT_LT(seconds(Nanoseconds(mono_now_ns() - begin)), 15);
  EXPECT_EQ(results[0].status.code, 3);
  EXPECT_THAT(results[0].err, HasSubstr("cannot reach the master at 127.0.0.1:"));
}

}  // namespace
}  // namespace assay::train
