#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "automl/morphism.h"
#include "automl/operations.h"
#include "automl/start_models.h"
#include "automl/trained_graph.h"
#include "error_of.h"
#include "reference.h"

namespace assay::automl {
namespace {

using assay::testing::error_of;
using ::testing::HasSubstr;

TEST(TrainedGraph, AKernelSizeChangesConvolutionsLargerThanOneAndNoShape) {
  const Graph graph = resnet50();
  const Graph changed = with_kernel_size(graph, 5);
  EXPECT_TRUE(std::ranges::equal(graph.shapes(), changed.shapes()));
  for (std::size_t id = 0; id < graph.layers().size(); ++id) {
    const Layer& before = graph.layers()[id];
    const Layer& after = changed.layers()[id];
    if (before.kind == LayerKind::conv && before.kernel > 1) {
      EXPECT_EQ(after.kernel, 5);
      EXPECT_EQ(after.padding, 2);
    } else {
      EXPECT_EQ(before, after);
    }
  }
  EXPECT_NE(graph.hash(), changed.hash());
}

TEST(TrainedGraph, OperationsAreThoseOfTheKernelThatIsTrained) {
  const Graph graph = basic_resnet({8, 8, 3, false}, 2, 1, 4, 5);
  const Graph changed = trained_graph(graph, 5, 0.1);
  EXPECT_EQ(exact_operations(changed), testing::count_by_walking(changed));
  EXPECT_GT(exact_operations(changed).forward, exact_operations(graph).forward);
}

TEST(TrainedGraph, MorphismsAndKernelSizesCommute) {
  const Graph graph = basic_resnet({8, 8, 3, false}, 2, 1, 4, 5);
  for (const auto kind : {Operation::Kind::wider, Operation::Kind::add_skip}) {
    const Operation operation = places(graph, kind).front();
    EXPECT_EQ(apply(with_kernel_size(graph, 7), operation),
              with_kernel_size(apply(graph, operation), 7));
  }
}

TEST(TrainedGraph, DropoutGoesBeforeTheLastDenseLayer) {
  const Graph graph = basic_resnet({8, 8, 3, false}, 2, 1, 4, 5);
  const Graph changed = with_dropout(graph, 0.25);
  ASSERT_EQ(changed.layers().size(), graph.layers().size() + 1);
  const Layer& dropout = changed.layers().back();
  EXPECT_EQ(dropout.kind, LayerKind::dropout);
  EXPECT_EQ(dropout.rate, 0.25);
  const int dense = changed.writer(changed.output());
  EXPECT_EQ(changed.layers()[dense].kind, LayerKind::dense);
  EXPECT_EQ(changed.layers()[dense].inputs[0], dropout.output);
  EXPECT_EQ(dropout.inputs[0], graph.layers()[dense].inputs[0]);
}

TEST(TrainedGraph, NothingIsChangedByZero) {
  const Graph graph = resnet20();
  EXPECT_EQ(trained_graph(graph, 0, 0), graph);
}

TEST(TrainedGraph, ImpossibleValuesAreRefused) {
  const Graph graph = resnet20();
  EXPECT_THAT(error_of([&] { return with_kernel_size(graph, 4, "trial 3"); }),
              HasSubstr("trial 3: a kernel size must be 0 or odd"));
  EXPECT_THAT(error_of([&] { return with_dropout(graph, 1); }), HasSubstr("[0, 1)"));
  const Graph unpadded({5, 5, 1, false}, {{LayerKind::conv, {0, -1}, 1, 1, 2, 5, 1, 0, 0}});
  EXPECT_THAT(error_of([&] { return with_kernel_size(unpadded, 3); }),
              HasSubstr("would change the shape"));
  EXPECT_THAT(error_of([&] { return with_dropout(unpadded, 0.5); }), HasSubstr("there is none"));
}

}  // namespace
}  // namespace assay::automl
