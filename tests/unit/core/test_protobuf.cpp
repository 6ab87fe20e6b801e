#include <gtest/gtest.h>

#include "core/crc32.h"
#include "core/crc32c.h"
#include "core/protobuf.h"

namespace assay {
namespace {

std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// Examples of the format's own description.
TEST(ProtoMessage, WritesWhatTheFormatSays) {
  EXPECT_EQ(ProtoMessage().number(1, 150).encoded(), "\x08\x96\x01");
  EXPECT_EQ(ProtoMessage().text(2, "testing").encoded(), "\x12\x07testing");
  EXPECT_EQ(ProtoMessage().message(3, ProtoMessage().number(1, 150)).encoded(),
            "\x1a\x03\x08\x96\x01");
}

TEST(ProtoMessage, NumbersBelowZeroHaveTenBytes) {
  EXPECT_EQ(ProtoMessage().number(1, -1).encoded(), "\x08" + std::string(9, '\xff') + "\x01");
}

TEST(ProtoMessage, LargeFieldNumbersHaveTwoBytes) {
  EXPECT_EQ(ProtoMessage().number(16, 1).encoded(), "\x80\x01\x01");
}

TEST(ProtoMessage, RealNumbersAreLittleEndian) {
  EXPECT_EQ(ProtoMessage().real(1, 1.0).encoded(), std::string("\x09\0\0\0\0\0\0\xf0\x3f", 9));
  EXPECT_EQ(ProtoMessage().real(1, 1.0F).encoded(), std::string("\x0d\0\0\x80\x3f", 5));
}

TEST(ProtoMessage, TextIsAlwaysUtf8) {
  EXPECT_EQ(ProtoMessage().text(1, "a\xff z").encoded(),
            "\x0a\x06"
            "a\xef\xbf\xbd z");
  EXPECT_EQ(ProtoMessage().bytes(1, "a\xff").encoded(),
            "\x0a\x02"
            "a\xff");
}

// Check values of both algorithms' catalog entries.
TEST(Crc, OfTheUsualText) {
  EXPECT_EQ(crc32(bytes_of("123456789")), 0xCBF43926U);
  EXPECT_EQ(crc32(bytes_of("56789"), crc32(bytes_of("1234"))), 0xCBF43926U);
  EXPECT_EQ(crc32({}), 0U);
  EXPECT_EQ(crc32c(bytes_of("123456789")), 0xE3069283U);
  EXPECT_EQ(crc32c_portable(bytes_of("123456789")), 0xE3069283U);
}

}  // namespace
}  // namespace assay
