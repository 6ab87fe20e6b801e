// Memory, communication and time by closed forms.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "error_of.h"
#include "train/planner/training_plan.h"

namespace assay::train::planner {
namespace {

using ::testing::HasSubstr;

constexpr double kGiB = 1LL << 30;

TrainingWork work_of(const char* size, std::int64_t sequence, std::int64_t global_batch) {
  TrainingWork work;
  work.model = LlamaOptions::named(size);
  work.sequence = sequence;
  work.global_batch = global_batch;
  return work;
}

TEST(PlanTest, OneDeviceHasAllParameters) {
  for (const char* const size : {"1b", "8b", "70b"}) {
    const LlamaOptions model = LlamaOptions::named(size);
    EXPECT_EQ(local_parameters(model, {}), model.parameters()) << size;
  }
}

TEST(PlanTest, TensorParallelDividesMatricesAndNotNorms) {
  // 8b: a block has 4096·(4096 + 2·1024) + 4096² + 3·4096·14336 in matrices and 2·4096 in norms.
  const std::int64_t matrices = 4096LL * 6144 + 4096LL * 4096 + 3LL * 4096 * 14336;
  EXPECT_EQ(local_parameters(LlamaOptions::named("8b"), {1, 8, 1, 0}),
            32 * (matrices / 8 + 8192) + 2 * (128'256LL * 4096 / 8) + 4096);
}

TEST(PlanTest, AStageHasItsBlocksAndOneEnd) {
  const LlamaOptions model = LlamaOptions::named("8b");
  EXPECT_EQ(local_parameters(model, {1, 1, 4, 0}),
            8 * model.block_parameters() + 128'256LL * 4096 + 4096);
}

TEST(PlanTest, OneDeviceHasSixteenBytesAParameterInMixedNumbers) {
  const TrainingWork work = work_of("8b", 4096, 1);
  const MemoryPlan memory = memory_of(work, {}, Keep::all);
  const auto parameters = static_cast<double>(work.model.parameters());
  EXPECT_EQ(memory.weights, 2 * parameters);
  // Of one device in bf16, but for the embedding's, to which rows are added.
  EXPECT_EQ(memory.gradients,
            2 * parameters + 2 * static_cast<double>(work.model.embedding_parameters()));
  EXPECT_EQ(memory.optimizer, 12 * parameters);
}

TEST(PlanTest, EachStageOfZeroDividesOneThingMore) {
  const TrainingWork work = work_of("8b", 4096, 64);
  const auto parameters = static_cast<double>(work.model.parameters());
  const auto state = [&](int zero) {
    const MemoryPlan memory = memory_of(work, {64, 1, 1, zero}, Keep::all);
    return memory.weights + memory.gradients + memory.optimizer;
  };
  EXPECT_DOUBLE_EQ(state(0), 18 * parameters);
  EXPECT_DOUBLE_EQ(state(1), (10 + 8 / 64.0) * parameters);
  EXPECT_DOUBLE_EQ(state(2), (2 + 16 / 64.0) * parameters);
  EXPECT_DOUBLE_EQ(state(3), 18 / 64.0 * parameters);
}

TEST(PlanTest, ActivationsGrowWithTokensAndLayersAndShrinkWithRecomputation) {
  TrainingWork work = work_of("8b", 4096, 1);
  const double all = memory_of(work, {}, Keep::all).activations;
  // 7 widths, queries, keys and values, the first two again, 3 inner: two bytes each.
  EXPECT_DOUBLE_EQ(all, 32.0 * 4096 * 2 * (7 * 4096 + 6144 + 5120 + 3 * 14336));
  const double selective = memory_of(work, {}, Keep::selective).activations;
  const double full = memory_of(work, {}, Keep::inputs).activations;
  EXPECT_DOUBLE_EQ(full, 32.0 * 4096 * 2 * (2 * 4096) + all / 32 - 4096.0 * 2 * (2 * 4096));
  EXPECT_LT(full, selective);
  EXPECT_LT(selective, all);
  work.sequence *= 2;
  EXPECT_DOUBLE_EQ(memory_of(work, {}, Keep::all).activations, 2 * all);
  work.global_batch = 8;
  EXPECT_DOUBLE_EQ(memory_of(work, {1, 8, 1, 0}, Keep::all).activations, 2 * all / 8);
  // Four stages have a quarter of the layers and four micro-batches under way.
  EXPECT_DOUBLE_EQ(memory_of(work, {1, 1, 4, 0}, Keep::all).activations, 2 * all);
}

TEST(PlanTest, LogitsAreThoseOfAPartOfTheTokens) {
  const double short_one = memory_of(work_of("8b", 1024, 1), {}, Keep::all).logits;
  EXPECT_DOUBLE_EQ(short_one, 1024.0 * 128'256 * 6);
  EXPECT_EQ(memory_of(work_of("8b", 8192, 1), {}, Keep::all).logits,
            memory_of(work_of("8b", 2048, 1), {}, Keep::all).logits);
}

TEST(PlanTest, DataParallelSendsWhatItsCollectivesSend) {
  const TrainingWork work = work_of("8b", 4096, 64);
  const auto parameters = static_cast<double>(work.model.parameters());
  const auto sent = [&](int zero) {
    return step_of(work, {8, 1, 1, zero}, Keep::all, {}).data_bytes / parameters / (7.0 / 8);
  };
  EXPECT_DOUBLE_EQ(sent(0), 2 * 4);            // an all-reduce
  EXPECT_DOUBLE_EQ(sent(1), 4 + 2);            // a reduce-scatter and an all-gather
  EXPECT_DOUBLE_EQ(sent(2), 8 * 4 + 2);        // the first in each of 8 micro-batches
  EXPECT_DOUBLE_EQ(sent(3), 8 * (4 + 2 + 2));  // the second twice in each
  EXPECT_EQ(step_of(work, {1, 1, 1, 0}, Keep::all, {}).data_bytes, 0);
}

TEST(PlanTest, TensorAndPipelineSendActivations) {
  const TrainingWork work = work_of("8b", 4096, 8);
  const double block = 4096.0 * 4096 * 2;
  const StepPlan tensor = step_of(work, {1, 8, 1, 0}, Keep::all, {});
  EXPECT_DOUBLE_EQ(tensor.tensor_bytes, 7.0 / 8 * 32 * 8 * 10 * block);
  EXPECT_DOUBLE_EQ(step_of(work, {1, 8, 1, 0}, Keep::inputs, {}).tensor_bytes,
                   tensor.tensor_bytes * 1.4);
  const StepPlan stages = step_of(work, {1, 1, 4, 0}, Keep::all, {});
  EXPECT_DOUBLE_EQ(stages.pipeline_bytes, 2 * 8 * block);
  EXPECT_DOUBLE_EQ(stages.bubble_s, stages.compute_s * 3 / 8);
}

TEST(PlanTest, ExpertsAreSharedOutOverTheDevicesThatHaveTheSame) {
  const TrainingWork work = work_of("moe-4b", 4096, 8);
  const LlamaOptions& model = work.model;
  // Of 8 devices two have the same experts, a quarter of all.
  const double experts =
      static_cast<double>(model.layers * 3 * model.width * model.inner * model.experts) / 4;
  const double common = static_cast<double>(local_parameters(model, {8, 1, 1, 0, 4})) - experts;
  EXPECT_DOUBLE_EQ(memory_of(work, {8, 1, 1, 3, 4}, Keep::all).weights,
                   2 * (common / 8 + experts / 2));
  EXPECT_DOUBLE_EQ(memory_of(work, {8, 1, 1, 1, 4}, Keep::all).gradients,
                   4 * (common / 8 + experts / 2));
  EXPECT_DOUBLE_EQ(step_of(work, {8, 1, 1, 3, 4}, Keep::all, {}).data_bytes,
                   (4 + 2 * 2) * (7.0 / 8 * common + experts / 2));
}

TEST(PlanTest, ComputeIsTheModelsFlopsAndRecomputationAThirdMore) {
  const TrainingWork work = work_of("8b", 8192, 16);
  Cluster cluster;
  cluster.flops = 1e15;
  cluster.efficiency = 0.5;
  const StepPlan step = step_of(work, {4, 2, 1, 0}, Keep::all, cluster);
  EXPECT_DOUBLE_EQ(step.flops, work.model.flops_per_token(8192) * 16 * 8192 / 8);
  EXPECT_DOUBLE_EQ(step.compute_s, step.flops / 0.5e15);
  EXPECT_DOUBLE_EQ(step_of(work, {4, 2, 1, 0}, Keep::inputs, cluster).compute_s,
                   step.compute_s * 4 / 3);
  EXPECT_LE(step.mfu(cluster), 0.5);
}

TEST(PlanTest, ASlowNetworkIsTheBoundAndAFastOneIsNot) {
  const TrainingWork work = work_of("8b", 8192, 64);
  Cluster slow;
  slow.network_bandwidth = 1e8;
  Cluster fast;
  fast.network_bandwidth = 1e12;
  EXPECT_TRUE(step_of(work, {64, 1, 1, 0}, Keep::all, slow).network_bound());
  EXPECT_FALSE(step_of(work, {64, 1, 1, 0}, Keep::all, fast).network_bound());
  // Within a node the network has no say.
  EXPECT_FALSE(step_of(work, {8, 1, 1, 0}, Keep::all, slow).network_bound());
}

TEST(PlanTest, SeventyBillionFitSixtyFourDevicesAndNotEight) {
  const Cluster cluster;
  const std::vector<Plan> many = all_plans(work_of("70b", 8192, 512), 64, cluster);
  ASSERT_FALSE(many.empty());
  EXPECT_TRUE(many.front().fits);
  EXPECT_EQ(many.front().mesh.devices(), 64);
  const TrainingWork small = work_of("70b", 8192, 64);
  const std::vector<Plan> few = all_plans(small, 8, cluster);
  EXPECT_FALSE(few.front().fits) << "18 bytes of 70.6 B parameters are 1,183 GiB, 8 devices 640";
  EXPECT_EQ(devices_that_fit(small, 8, cluster), 16);
  TrainingWork any = small;
  any.global_batch = 0;
  const std::int64_t least = devices_that_fit(any, 1, cluster);
  EXPECT_EQ(devices_that_fit(any, least - 1, cluster), least) << "of any numbers, not of doubles";
  EXPECT_FALSE(all_plans(any, least - 1, cluster).front().fits);
  EXPECT_TRUE(all_plans(any, least, cluster).front().fits);
  EXPECT_EQ(devices_that_fit(any, 3, cluster), least);
  // The nearest of those that do not fit is the smallest.
  for (const Plan& plan : few) EXPECT_GE(plan.memory.total(), few.front().memory.total());
}

TEST(PlanTest, PlansThatFitComeFirstAndFasterOnesBefore) {
  const std::vector<Plan> plans = all_plans(work_of("8b", 8192, 64), 8, {});
  bool fits = true;
  double last = 0;
  for (const Plan& plan : plans) {
    EXPECT_TRUE(fits || !plan.fits);
    if (plan.fits) {
      EXPECT_GE(plan.step.step_s(), last);
      last = plan.step.step_s();
    }
    fits = plan.fits;
    EXPECT_EQ(plan.mesh.devices(), 8);
    EXPECT_EQ(plan.fits, plan.memory.total() <= 80 * kGiB);
  }
}

TEST(PlanTest, MoreMemoryNeverMakesItWorse) {
  const TrainingWork work = work_of("8b", 8192, 64);
  double last = 1e9;
  for (const double gib : {40.0, 80.0, 141.0, 192.0}) {
    Cluster cluster;
    cluster.memory = gib * kGiB;
    const Plan best = all_plans(work, 8, cluster).front();
    ASSERT_TRUE(best.fits) << gib;
    EXPECT_LE(best.step.step_s(), last);
    last = best.step.step_s();
  }
}

TEST(PlanTest, ABatchThatCannotBeSharedIsRefused) {
  const TrainingWork work = work_of("8b", 4096, 12);
  EXPECT_THAT(testing::error_of([&] {
                require_batch(work, {8, 1, 1, 0});
                return 0;
              }),
              HasSubstr("a batch of 12 sequences cannot be shared by data 8"));
  for (const Plan& plan : all_plans(work, 8, {})) EXPECT_EQ(12 % plan.mesh.data, 0);
}

TEST(PlanTest, NoMeshIsProposedThatCannotShareASequence) {
  const std::vector<Plan> plans = all_plans(work_of("8b", 8190, 16), 8, {});
  EXPECT_FALSE(plans.empty());
  for (const Plan& plan : plans) EXPECT_EQ(8190 % plan.mesh.tensor, 0) << plan.mesh.text();
}

}  // namespace
}  // namespace assay::train::planner
