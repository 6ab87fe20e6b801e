#include <gtest/gtest.h>

#include "core/error.h"
#include "door/websocket.h"

namespace assay::door {
namespace {

// As a browser sends it.
std::string masked(unsigned char first, const std::string& content) {
  std::string out(1, static_cast<char>(first));
  if (content.size() < 126) {
    out += static_cast<char>(0x80U | content.size());
  } else {
    out += static_cast<char>(0x80U | 126U);
    out += static_cast<char>(content.size() >> 8U);
    out += static_cast<char>(content.size() & 0xFFU);
  }
  const std::string mask = "\x11\x22\x33\x44";
  out += mask;
  for (std::size_t i = 0; i < content.size(); ++i)
    out += static_cast<char>(content[i] ^ mask[i % 4]);
  return out;
}

TEST(WebSocket, AcceptsAsTheRfcHasIt) {
  EXPECT_EQ(websocket_accept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

TEST(WebSocket, FramesComeBackWhateverThePieces) {
  const std::string bytes = masked(0x82, "hello") + masked(0x82, std::string(300, 'x'));
  for (const std::size_t piece : {1U, 4U, 1000U}) {
    WebSocketReader reader;
    std::vector<WebSocketFrame> found;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      reader.feed(std::string_view(bytes).substr(at, piece));
      while (auto frame = reader.next()) found.push_back(std::move(*frame));
    }
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].content, "hello");
    EXPECT_EQ(found[1].content, std::string(300, 'x'));
  }
}

TEST(WebSocket, WhatNoBrowserSendsIsRefused) {
  for (const std::string& bytes : {std::string("\x82\x05hello"), masked(0xC2, "x"),
                                   masked(0x83, "x"), masked(0x89, std::string(126, 'p')),
                                   std::string("\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff", 10)}) {
    WebSocketReader reader;
    reader.feed(bytes);
    EXPECT_THROW((void)reader.next(), Error);
  }
}

TEST(WebSocket, LengthsAreWrittenInTheShortestWay) {
  EXPECT_EQ(websocket_bytes(WebSocketKind::binary, "ab"), std::string("\x82\x02") + "ab");
  EXPECT_EQ(websocket_bytes(WebSocketKind::binary, std::string(126, 'x')).substr(0, 4),
            std::string("\x82\x7e\x00\x7e", 4));
  EXPECT_EQ(websocket_bytes(WebSocketKind::binary, std::string(70000, 'x')).substr(0, 10),
            std::string("\x82\x7f\x00\x00\x00\x00\x00\x01\x11\x70", 10));
}

}  // namespace
}  // namespace assay::door
