// The time that ranks wait for each other, against stopwatches and closed forms. The ranks are
// threads, and their work is sleep, so that other load on the machine hardly changes it.
#include <cmath>
#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "core/time.h"
#include "ports.h"
#include "train/mesh/stage.h"

namespace assay::train {
namespace {

using std::chrono::milliseconds;

// What `work` gives on each of these ranks.
template <typename Work>
std::vector<double> on_ranks(int ranks, const Work& work) {
  const auto port = static_cast<std::uint16_t>(testing::reserved_port());
  std::vector<std::future<double>> running;
  for (int rank = 0; rank < ranks; ++rank)
    running.push_back(std::async(std::launch::async, [&, rank] {
      workload::Place place;
      place.rank = place.local_rank = rank;
      place.world_size = ranks;
      place.master_port = port;
      Communicator all(place, torch::kCPU, {}, [](const Error& error) { throw Error(error); });
      return work(all);
    }));
  std::vector<double> out;
  for (std::future<double>& rank : running) out.push_back(rank.get());
  return out;
}

double seconds_of(const auto& work) {
  const std::int64_t begin = mono_now_ns();
  work();
  return seconds(Nanoseconds(mono_now_ns() - begin));
}

// Rank 1 comes later than rank 0 to the sum of their tensors; rank 0 works for `meanwhile` between
// the start of the sum and the need of it. How long rank 0 has waited.
double waited_for(milliseconds late, milliseconds meanwhile) {
  double by_stopwatch = 0;
  const std::vector<double> waited = on_ranks(2, [&](Communicator& all) {
    all.barrier();
    const double before = all.waited();
    const torch::Tensor tensor = torch::ones({1000});
    if (all.rank() == 1) std::this_thread::sleep_for(late);
    const Pending sum = all.all_reduce(tensor);
    if (all.rank() == 1) {
      all.wait(sum);
    } else {
      std::this_thread::sleep_for(meanwhile);
      by_stopwatch = seconds_of([&] { all.wait(sum); });
    }
    const double own = all.waited() - before;
    all.barrier();
    return own;
  });
  EXPECT_NEAR(waited[0], by_stopwatch, 0.1);
  return waited[0];
}

TEST(WaitingTest, CommunicationIsExposedWhereComputeWaitsForIt) {
  EXPECT_GT(waited_for(milliseconds(600), milliseconds(0)), 0.5);
}

TEST(WaitingTest, CommunicationThatComputeHidesIsNotExposed) {
  EXPECT_LT(waited_for(milliseconds(50), milliseconds(1000)), 0.5);
}

// Takes part in nothing, but each operation takes a while: a block has four of them forward and
// four backward, so that all blocks take the same time.
class Working final : public Exchange {
 public:
  std::int64_t size() const override { return 1; }
  std::int64_t rank() const override { return 0; }
  torch::Tensor gather(const torch::Tensor& part) override {
    work();
    return part.unsqueeze(0);
  }
  torch::Tensor scatter_sum(const torch::Tensor& parts) override {
    work();
    return parts.squeeze(0);
  }
  void sum(const torch::Tensor& /*tensor*/) override {}
  void largest(const torch::Tensor& /*tensor*/) override {}
  torch::Tensor all_to_all(const torch::Tensor& rows, const std::vector<std::int64_t>& /*sent*/,
                           const std::vector<std::int64_t>& /*received*/) override {
    return rows;
  }

 private:
  static void work() { std::this_thread::sleep_for(milliseconds(6)); }
};

// The share of a step in which the stages wait for each other, mean over them.
double measured_bubble(std::int64_t stages, std::int64_t parts) {
  constexpr std::int64_t kBlocks = 4;  // of a stage: what only its ends do is then little
  LlamaOptions options;
  options.vocabulary = options.width = 16;
  options.heads = options.kv_heads = 2;
  options.inner = 32;
  options.layers = kBlocks * stages;
  const std::vector<double> shares = on_ranks(static_cast<int>(stages), [&](Communicator& all) {
    Mesh mesh;
    mesh.pipeline = stages;
    MeshGroups groups(all, mesh);
    Working working;
    LlamaShare share = share_of(options, groups);
    share.tensor = &working;
    Llama model(options, torch::kCPU, share);
    LlamaStage stage(*model, groups, parts, Keep::all);
    const torch::Tensor tokens = torch::zeros({parts, 8}, torch::kLong);
    const auto train = [&] { static_cast<void>(stage.train_on(tokens, tokens, {}, 1, [] {})); };
    train();  // the first gets memory and connections
    const double before = *stage.waited_for_stages();
    const double taken = seconds_of(train);
    const double waited = *stage.waited_for_stages() - before;
    all.barrier();
    return waited / taken;
  });
  double sum = 0;
  for (const double share : shares) sum += share;
  return sum / static_cast<double>(stages);
}

TEST(WaitingTest, TheBubbleOfEqualStagesIsThatOfTheClosedForm) {
  for (const auto& [stages, parts] : {std::pair(2, 2), std::pair(2, 6), std::pair(4, 4)}) {
    const double expected = static_cast<double>(stages - 1) / (parts + stages - 1);
    double measured = measured_bubble(stages, parts);
    // Others may have taken the processors meanwhile.
    for (int i = 0; i < 4 && std::abs(measured - expected) > 0.05; ++i)
      measured = measured_bubble(stages, parts);
    EXPECT_NEAR(measured, expected, 0.05) << stages << " stages, " << parts << " parts";
  }
}

}  // namespace
}  // namespace assay::train
