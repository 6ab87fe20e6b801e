#include <array>

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/files.h"
#include "read_events.h"
#include "temporary_folder.h"
#include "tensorboard/event_file.h"

namespace assay::tensorboard {
namespace {

using testing::read_events;

TEST(EventFile, IsReadByAnybodyWhoKnowsTheFormat) {
  const testing::TemporaryFolder folder;
  const auto path = folder.path() / "a" / "events.out.tfevents.1.assay";
  EventFile file(path, 1.5);
  file.add(2.25, 300, std::array{Scalar{"train/loss", 0.5}, Scalar{"train/learning_rate", 1e-3}});
  file.flush();
  file.add(3, std::int64_t{1} << 40, std::array{Scalar{"train/loss", 0.25}});
  file.flush();
  const auto events = read_events(path);
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0], (Json{{"at", 2.25}, {"step", 300}, {"tag", "train/loss"}, {"value", 0.5}}));
  EXPECT_FLOAT_EQ(events[1]["value"].get<float>(), 1e-3F);
  EXPECT_EQ(events[2]["step"], std::int64_t{1} << 40);
}

TEST(EventFile, IsMadeAnewInPlaceOfAnOldOne) {
  const testing::TemporaryFolder folder;
  const auto path = folder.path() / "events.out.tfevents.1.assay";
  write_file_atomic(path, std::string(100'000, 'x'));
  EventFile file(path, 1);
  file.flush();
  EXPECT_TRUE(read_events(path).empty());
}

TEST(EventFile, GoesOnWhereItsWritingFailed) {
  const testing::TemporaryFolder folder;
  const auto path = folder.path() / "place" / "events.out.tfevents.1.assay";
  write_file_atomic(folder.path() / "place", "a file in the way");
  EventFile file(path, 1);
  file.add(1, 1, std::array{Scalar{"a", 1}});
  EXPECT_THROW(file.flush(), Error);
  std::filesystem::remove(folder.path() / "place");
  file.flush();
  EXPECT_EQ(read_events(path).size(), 1U);
}

}  // namespace
}  // namespace assay::tensorboard
