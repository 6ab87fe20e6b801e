#include <map>

#include <gtest/gtest.h>

#include "automl/operations.h"
#include "automl/start_models.h"
#include "unit/automl/reference.h"

namespace assay::automl {
namespace {

using testing::count_by_walking;

TEST(AiperfOperations, ResNet50CountsAsItsProfilerDoes) {
  const Operations n = aiperf_operations(resnet50());
  EXPECT_EQ(n.forward, 7'806'583'495);
  EXPECT_EQ(n.backward, 15'246'874'820);
}

TEST(AiperfOperations, ResNet50ByTypeCountsAsItsProfilerDoes) {
  const Graph g = resnet50();
  std::map<LayerKind, Operations> by;
  for (int id = 0; id < 174; ++id) by[g.layers()[id].kind] += aiperf_operations(g, id);
  EXPECT_EQ(by[LayerKind::conv], (Operations{7'711'850'496, 15'234'582'912}));
  EXPECT_EQ(by[LayerKind::batch_norm], (Operations{74'109'952, 1'908}));
  EXPECT_EQ(by[LayerKind::relu], (Operations{9'081'856, 0}));
  EXPECT_EQ(by[LayerKind::add], (Operations{5'519'360, 0}));
  EXPECT_EQ(by[LayerKind::dense], (Operations{4'096'000 + 12'999, 12'290'000}));
  EXPECT_EQ(by[LayerKind::max_pool], (Operations{1'806'336, 0}));
  EXPECT_EQ(by[LayerKind::global_avg_pool], (Operations{106'496, 0}));
}

TEST(ExactOperations, AreThoseOfAWalkThroughEveryOperation) {
  using enum LayerKind;
  const Graph residual = basic_resnet({9, 7, 3, false}, 2, 2, 4, 5);
  EXPECT_EQ(exact_operations(residual), count_by_walking(residual));
  Layer drop = plain_layer(dropout, 6, 7);
  drop.rate = 0.5;
  const Graph mixed({11, 10, 3, false}, {conv_layer(0, 1, 3, 4, 5, 3), pool_layer(1, 2, 3, 2, 1),
                                         merge_layer(concat, 2, 2, 3), norm_layer(3, 4, 8),
                                         plain_layer(relu, 4, 5), plain_layer(flatten, 5, 6), drop,
                                         dense_layer(7, 8, 32, 6), plain_layer(softmax, 8, 9)});
  EXPECT_EQ(exact_operations(mixed), count_by_walking(mixed));
  const Graph bare({5, 5, 2, false}, {norm_layer(0, 1, 2), plain_layer(global_avg_pool, 1, 2)});
  EXPECT_EQ(exact_operations(bare), count_by_walking(bare));
}

TEST(ExactOperations, LeavePaddingOut) {
  const Graph g({4, 4, 1, false}, {conv_layer(0, 1, 1, 1, 3)});
  // 3×3 windows on 4×4: 4 corners see 4 values, 8 edges 6, 4 inner ones 9.
  EXPECT_EQ(exact_operations(g).forward, 2 * (4 * 4 + 8 * 6 + 4 * 9));
  EXPECT_EQ(aiperf_operations(g).forward, 2 * 16 * 9);
}

TEST(ExactOperations, InferenceNormalisesWithTwoOperationsPerValue) {
  const Graph g({4, 4, 3, false}, {norm_layer(0, 1, 3)});
  EXPECT_EQ(exact_inference(g), 2 * 48);
}

}  // namespace
}  // namespace assay::automl
