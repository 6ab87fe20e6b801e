#include <filesystem>

#include <gtest/gtest.h>

#include "core/error.h"
#include "database/database.h"
#include "tester/failure.h"

namespace assay::tester {
namespace {

using database::Cause;
using database::DatabaseError;

TEST(Failure, OfAFullDiskIsNoRoomAndNoFaultOfTheTester) {
  const serve::Refusal full =
      failure_of(DatabaseError(Cause::disk_full, "insert", "tester.db", ""), "it failed");
  EXPECT_EQ(full.status, 507);
  EXPECT_EQ(full.code, "no_room");
  const std::filesystem::filesystem_error also("cannot copy",
                                               std::make_error_code(std::errc::no_space_on_device));
  EXPECT_EQ(failure_of(also, "it failed").status, 507);
}

TEST(Failure, ThatPassesIsToBeTriedAgain) {
  const serve::Refusal locked =
      failure_of(DatabaseError(Cause::locked, "insert", "tester.db", ""), "it failed");
  EXPECT_EQ(locked.status, 503);
  EXPECT_GT(locked.retry_after_s, 0);
}

TEST(Failure, OfAnyOtherKindSaysWhatFailed) {
  const serve::Refusal other = failure_of(Error(ErrorKind::internal, "odd"), "it failed");
  EXPECT_EQ(other.status, 500);
  EXPECT_STREQ(other.what(), "it failed");
}

}  // namespace
}  // namespace assay::tester
