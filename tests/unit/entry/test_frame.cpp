#include <gtest/gtest.h>

#include "core/error.h"
#include "entry/frame.h"

namespace assay::entry {
namespace {

TEST(Frame, ComesBackWhateverThePieces) {
  const std::string bytes = frame_bytes(FrameKind::output, "hello") +
                            frame_bytes(FrameKind::end_of_input) +
                            frame_bytes(FrameKind::error, std::string(300, 'x'));
  for (const std::size_t piece : {1U, 3U, 7U, 1000U}) {
    FrameReader reader;
    std::vector<Frame> found;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      reader.feed(std::string_view(bytes).substr(at, piece));
      while (auto frame = reader.next()) found.push_back(std::move(*frame));
    }
    ASSERT_EQ(found.size(), 3U) << piece;
    EXPECT_EQ(found[0].content, "hello");
    EXPECT_EQ(found[1].kind, FrameKind::end_of_input);
    EXPECT_EQ(found[2].content, std::string(300, 'x'));
  }
}

TEST(Frame, LongContentBecomesSeveral) {
  FrameReader reader;
  reader.feed(frame_bytes(FrameKind::input, std::string(kMaxFrame + 1, 'y')));
  EXPECT_EQ(reader.next()->content.size(), kMaxFrame);
  EXPECT_EQ(reader.next()->content, "y");
  EXPECT_FALSE(reader.next());
}

TEST(Frame, WhatIsNoneIsRefusedAtItsFirstByte) {
  FrameReader reader;
  reader.feed("G");
  EXPECT_THROW((void)reader.next(), Error);
}

TEST(Frame, ALengthThatNobodySendsIsRefused) {
  FrameReader reader;
  reader.feed(std::string("i\xff\xff\xff\xff", 5));
  EXPECT_THROW((void)reader.next(), Error);
}

}  // namespace
}  // namespace assay::entry
