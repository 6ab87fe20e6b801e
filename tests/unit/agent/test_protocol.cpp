#include <random>

#include <gtest/gtest.h>

#include "agent/messages.h"
#include "agent/protocol.h"
#include "core/text.h"

namespace assay::agent {
namespace {

struct Received {
  std::vector<std::pair<int, Json>> messages;
  std::vector<std::string> noise;
  Decoder decoder{[this](int node, const Json& message) { messages.emplace_back(node, message); },
                  [this](std::string_view line) { noise.emplace_back(line); }};
};

TEST(Protocol, ASmallMessageIsOneLine) {
  Encoder encoder;
  const std::string line = encoder.encode(3, {{"type", "heartbeat"}, {"running", 8}});
  EXPECT_EQ(line, "{\"node\":3,\"type\":\"heartbeat\",\"running\":8}\n");
}

TEST(Protocol, NoLineIsEverLongerThanTheLimit) {
  Encoder encoder;
  const std::string hard = std::string(50'000, '"') + std::string(50'000, '\\') + "ünïcödé\x01";
  const std::string lines = encoder.encode(0, {{"type", "x"}, {"text", hard}});
  for (const std::string_view line : split(lines, '\n')) EXPECT_LT(line.size(), kMaxLine);
}

TEST(Protocol, ALargeMessageIsPutTogetherAgainFromPiecesOfAnySize) {
  Encoder encoder;
  const Json message{{"type", "round"}, {"text", std::string(5000, '"') + "ünïcödé\n\t\x01"}};
  const std::string lines = encoder.encode(7, message);
  std::mt19937 random(1);
  Received received;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t n = 1 + random() % 700;
    received.decoder.feed(std::string_view(lines).substr(at, n));
    at += n;
  }
  ASSERT_EQ(received.messages.size(), 1u);
  EXPECT_EQ(received.messages[0].first, 7);
  EXPECT_EQ(received.messages[0].second["text"], message["text"]);
}

TEST(Protocol, ChunksOfSeveralNodesMayBeInterleavedLineByLine) {
  Encoder a;
  Encoder b;
  const std::string text(3000, 'x');
  const std::string from_a = a.encode(0, {{"type", "m"}, {"who", "a"}, {"text", text}});
  const std::string from_b = b.encode(1, {{"type", "m"}, {"who", "b"}, {"text", text}});
  const auto lines_a = split(from_a, '\n');
  const auto lines_b = split(from_b, '\n');
  Received received;
  for (std::size_t i = 0; i + 1 < lines_a.size(); ++i) {
    received.decoder.feed(std::string(lines_a[i]) + "\n");
    received.decoder.feed(std::string(lines_b[i]) + "\n");
  }
  ASSERT_EQ(received.messages.size(), 2u);
  EXPECT_EQ(received.messages[0].second["who"], "a");
  EXPECT_EQ(received.messages[1].second["who"], "b");
}

TEST(Protocol, WhatIsNotAMessageIsNoiseAndDoesNotDisturbTheNext) {
  Received received;
  received.decoder.feed("Welcome to node1!\n{\"node\":0}\n{\"node\":-7,\"type\":\"x\"}\n[1,2]\n");
  received.decoder.feed(std::string(100'000, 'z') + "\n");
  received.decoder.feed("{\"node\":0,\"chunk\":9,\"part\":1,\"parts\":2,\"data\":\"x\"}\n");
  received.decoder.feed("{\"node\":0,\"type\":\"hello\"}\r\n");
  ASSERT_EQ(received.messages.size(), 1u);
  EXPECT_EQ(received.messages[0].second["type"], "hello");
  EXPECT_GE(received.noise.size(), 5u);
}

TEST(Protocol, AnEndlessMessageIsRefusedInsteadOfFillingTheMemory) {
  Received received;
  const std::string rest = R"(,"parts":1000000000,"data":")" + std::string(800, 'x') + "\"}\n";
  for (int part = 0; part < 100'000; ++part)
    received.decoder.feed(R"({"node":0,"chunk":1,"part":)" + std::to_string(part) + rest);
  EXPECT_TRUE(received.messages.empty());
  EXPECT_FALSE(received.noise.empty());
}

TEST(RoundRequest, SurvivesTheWayThroughJson) {
  RoundRequest request;
  request.id = "run/case/1";
  request.directory = "/tmp/x y";
  request.files["config.json"] = "{}";
  request.env["A"] = "b=c";
  request.ranks.push_back({3, 1, {"sh", "-c", "true"}, {{"RANK", "3"}}});
  request.time_limit = std::chrono::seconds(5);
  request.output_limit = 1 << 20;
  const Request sent = request;
  const Request received = request_from_json(Json::parse(dump_line(to_json(sent))));
  EXPECT_EQ(to_json(received), to_json(sent));
  EXPECT_EQ(std::get<RoundRequest>(received).ranks[0].argv[2], "true");
}

}  // namespace
}  // namespace assay::agent
