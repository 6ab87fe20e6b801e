#pragma once

#include <cstdint>
#include <cstring>
#include <string>

/// A writer of tf.Example records with ImageNet's keys, from the formats' descriptions.
namespace assay::train::data::testing::tfrecord {

inline std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}
inline std::string message(int field, const std::string& bytes) {
  return varint(static_cast<std::uint64_t>(field) << 3 | 2) + varint(bytes.size()) + bytes;
}
inline std::string bytes_feature(const std::string& value) {
  return message(1, message(1, value));
}
inline std::string integer_feature(std::int64_t value, bool packed = true) {
  const std::string number = varint(static_cast<std::uint64_t>(value));
  return message(3, packed ? message(1, number) : varint(1 << 3) + number);
}
inline std::string entry(const std::string& key, const std::string& feature) {
  return message(1, message(1, key) + message(2, feature));
}
inline std::string example(const std::string& jpeg, std::int64_t label) {
  return message(1, entry("image/height", integer_feature(60)) +
                        entry("image/class/label", integer_feature(label)) +
                        entry("image/class/text", bytes_feature("a fish")) +
                        entry("image/encoded", bytes_feature(jpeg)));
}
inline std::uint32_t slow_crc(const std::string& bytes) {
  std::uint32_t crc = ~0U;
  for (const char c : bytes) {
    crc ^= static_cast<std::uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78U : 0);
  }
  return ~crc;
}
template <class Number>
inline std::string raw(Number number) {
  std::string out(sizeof number, '\0');
  std::memcpy(out.data(), &number, sizeof number);
  return out;
}
inline std::string masked_crc(const std::string& bytes) {
  const std::uint32_t crc = slow_crc(bytes);
  return raw<std::uint32_t>((crc >> 15 | crc << 17) + 0xA282EAD8U);
}
inline std::string record(const std::string& data) {
  const std::string length = raw<std::uint64_t>(data.size());
  return length + masked_crc(length) + data + masked_crc(data);
}

}  // namespace assay::train::data::testing::tfrecord
