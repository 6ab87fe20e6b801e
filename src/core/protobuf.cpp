#include "core/protobuf.h"

#include <bit>

#include "core/little_endian.h"
#include "core/utf8.h"

namespace assay {

namespace {

// How the value after a field's number is encoded.
enum class Wire : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void put_key(std::string& out, std::uint32_t field, Wire wire) {
  put_varint(out, field << 3 | static_cast<std::uint32_t>(wire));
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    out += length == 0 ? std::string_view("\uFFFD") : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

}  // namespace

ProtoMessage& ProtoMessage::number(std::uint32_t field, std::int64_t value) {
  put_key(encoded_, field, Wire::varint);
  put_varint(encoded_, static_cast<std::uint64_t>(value));
  return *this;
}

ProtoMessage& ProtoMessage::real(std::uint32_t field, double value) {
  put_key(encoded_, field, Wire::fixed64);
  put_little_endian(encoded_, std::bit_cast<std::uint64_t>(value));
  return *this;
}

ProtoMessage& ProtoMessage::real(std::uint32_t field, float value) {
  put_key(encoded_, field, Wire::fixed32);
  put_little_endian(encoded_, std::bit_cast<std::uint32_t>(value));
  return *this;
}

ProtoMessage& ProtoMessage::bytes(std::uint32_t field, std::string_view value) {
  put_key(encoded_, field, Wire::bytes);
  put_varint(encoded_, value.size());
  encoded_ += value;
  return *this;
}

ProtoMessage& ProtoMessage::text(std::uint32_t field, std::string_view value) {
  return bytes(field, valid_utf8(value));
}

ProtoMessage& ProtoMessage::message(std::uint32_t field, const ProtoMessage& value) {
  return bytes(field, value.encoded());
}

}  // namespace assay
