#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace assay {

/// A protocol buffers message, written field by field in call order. Zero values are written too,
/// which readers of every version accept. Field numbers are those of the definition.
class ProtoMessage {
 public:
  /// For the types int32, int64, uint32, uint64 and bool, and for enumerations.
  ProtoMessage& number(std::uint32_t field, std::int64_t value);
  ProtoMessage& real(std::uint32_t field, double value);
  ProtoMessage& real(std::uint32_t field, float value);
  ProtoMessage& bytes(std::uint32_t field, std::string_view value);
  /// Invalid UTF-8 becomes U+FFFD, because readers refuse a whole message for it.
  ProtoMessage& text(std::uint32_t field, std::string_view value);
  ProtoMessage& message(std::uint32_t field, const ProtoMessage& value);

  [[nodiscard]] const std::string& encoded() const noexcept { return encoded_; }

 private:
  std::string encoded_;
};

}  // namespace assay
