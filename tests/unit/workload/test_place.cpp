#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "workload/place.h"

namespace assay::workload {
namespace {

using ::testing::HasSubstr;

class PlaceTest : public ::testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }
  static void clear() {
    for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"})
      ::unsetenv(name);
  }
};

TEST_F(PlaceTest, IsAloneWithoutAnEnvironment) {
  const Place place = place_from_environment();
  EXPECT_TRUE(place.alone());
  EXPECT_EQ(place.rank, 0);
}

TEST_F(PlaceTest, ComesFromTheVariablesOfTorchrun) {
  ::setenv("RANK", "3", 1);
  ::setenv("WORLD_SIZE", "8", 1);
  ::setenv("LOCAL_RANK", "1", 1);
  ::setenv("MASTER_ADDR", "node7", 1);
  ::setenv("MASTER_PORT", "12345", 1);
  const Place place = place_from_environment();
  EXPECT_EQ(place.rank, 3);
  EXPECT_EQ(place.world_size, 8);
  EXPECT_EQ(place.local_rank, 1);
  EXPECT_EQ(place.master_address, "node7");
  EXPECT_EQ(place.master_port, 12345);
}

TEST_F(PlaceTest, NonsenseIsAnErrorThatNamesTheVariable) {
  ::setenv("RANK", "8", 1);
  EXPECT_THROW(static_cast<void>(place_from_environment()), Error);  // no WORLD_SIZE
  ::setenv("WORLD_SIZE", "8", 1);
  EXPECT_THROW(static_cast<void>(place_from_environment()), Error);  // not below it
  ::setenv("RANK", "x", 1);
  try {
    static_cast<void>(place_from_environment());
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("RANK"));
    EXPECT_EQ(error.kind(), ErrorKind::usage);
  }
}

}  // namespace
}  // namespace assay::workload
