#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "client/event_stream.h"
#include "core/error.h"

namespace assay::client {
namespace {

std::vector<StreamEvent> events_of(const std::string& text, std::size_t piece) {
  std::vector<StreamEvent> events;
  EventStream stream([&](const StreamEvent& event) { events.push_back(event); });
  for (std::size_t at = 0; at < text.size(); at += piece) stream.feed(text.substr(at, piece));
  return events;
}

TEST(EventStream, GivesTheSameEventsHoweverItIsCut) {
  const std::string text =
      "\xEF\xBB\xBF: hello\n\nevent: job\r\nid: 7\r\ndata: {\"id\":1}\r\n\r\ndata:a\rdata: b\r\r"
      "data\n\nid: 8\n\nevent: ping\n\nevent:x\ndata: cut off";
  const std::vector<StreamEvent> expected{
      {"job", "{\"id\":1}", "7"}, {"message", "a\nb", "7"}, {"message", "", "7"}};
  for (std::size_t piece = 1; piece <= text.size(); ++piece)
    EXPECT_EQ(events_of(text, piece), expected) << piece;
}

TEST(EventStream, RefusesAnEventThatNeverEnds) {
  EventStream stream([](const StreamEvent&) { FAIL(); });
  const std::string line = "data: " + std::string(1 << 20, 'x') + "\n";
  EXPECT_THROW(for (int i = 0; i < 5; ++i) stream.feed(line), Error);
}

}  // namespace
}  // namespace assay::client
