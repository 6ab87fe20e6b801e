// Meshes: read, and checked against a model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "error_of.h"
#include "train/models/mesh.h"

namespace assay::train::planner {
namespace {

using ::testing::HasSubstr;

std::string parse_refusal(const std::string& text) {
  return testing::error_of([&] { return parse_mesh(text, 64); });
}

std::string mesh_refusal(const Mesh& mesh, const char* size = "70b") {
  return testing::error_of([&] {
    require_mesh(mesh, LlamaOptions::named(size), 64);
    return 0;
  });
}

TEST(MeshTest, WhatIsNotGivenIsDataParallel) {
  EXPECT_EQ(parse_mesh("tensor=8,pipeline=4", 64), (Mesh{2, 8, 4, 0}));
  EXPECT_EQ(parse_mesh("zero=3", 64), (Mesh{64, 1, 1, 3}));
  EXPECT_EQ(parse_mesh(" data=16 , tensor=4", 64), (Mesh{16, 4, 1, 0}));
  EXPECT_EQ((Mesh{8, 4, 2, 3}).text(), "data 8 (ZeRO 3), tensor 4, pipeline 2");
}

TEST(MeshTest, WhatIsNoMeshIsRefused) {
  EXPECT_THAT(parse_refusal("tensor"), HasSubstr("--mesh: 'tensor' has no '='"));
  EXPECT_THAT(parse_refusal("tensor=0"), HasSubstr("'tensor=0' is not a size of a mesh"));
  EXPECT_THAT(parse_refusal("zero=4"), HasSubstr("'zero=4'"));
  EXPECT_THAT(parse_refusal("tensor=two"), HasSubstr("'tensor=two'"));
  EXPECT_THAT(parse_refusal("context=2"), HasSubstr("there is no 'context' in a mesh"));
  EXPECT_THAT(parse_refusal("data=4,data=8"), HasSubstr("'data' is given twice"));
  EXPECT_THAT(parse_refusal("tensor=3"), HasSubstr("64 devices cannot be shared by tensor 3"));
}

TEST(MeshTest, AMeshThatDoesNotDivideIsRefusedWithWhatWould) {
  EXPECT_EQ(mesh_refusal({2, 8, 4, 1}), "no error");
  EXPECT_THAT(mesh_refusal({2, 8, 2, 0}), HasSubstr("are 32 devices, not 64"));
  EXPECT_THAT(mesh_refusal({4, 16, 1, 0}),
              HasSubstr("8 heads of keys and values cannot be shared by 16 (tensor)\n  tensor may "
                        "be 1, 2, 4, 8"));
  EXPECT_THAT(mesh_refusal({2, 1, 32, 0}), HasSubstr("80 layers cannot be shared by 32"));
}

TEST(MeshTest, WhatIsAdvisedIsAccepted) {
  // 64 heads could be shared by 32, the 8 heads of keys and values could not.
  const std::string refused = mesh_refusal({1, 64, 1, 0});
  EXPECT_THAT(refused, HasSubstr("tensor may be 1, 2, 4, 8"));
  EXPECT_THAT(refused, ::testing::Not(HasSubstr("16")));
  EXPECT_EQ(mesh_refusal({8, 8, 1, 0}), "no error");
}

TEST(MeshTest, ASequenceThatCannotBeSharedSaysWhichCould) {
  EXPECT_THAT(testing::error_of([] {
                require_sequence({1, 8, 1, 0}, 100);
                return 0;
              }),
              HasSubstr("use a sequence that is a multiple of 8"));
}

}  // namespace
}  // namespace assay::train::planner
