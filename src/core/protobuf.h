#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace assay {

/// A message of protocol buffers, written field by field in the order of the calls. Nothing is left
/// out because it is zero: readers of every version take it. Fields are the definition's numbers.
class ProtoMessage {
 public:
  /// Of the types int32, int64, uint32, uint64, bool and of an enumeration.
  ProtoMessage& number(std::uint32_t field, std::int64_t value);
  ProtoMessage& real(std::uint32_t field, double value);
  ProtoMessage& real(std::uint32_t field, float value);
  ProtoMessage& bytes(std::uint32_t field, std::string_view value);
  /// Readers refuse a whole message for a text that is not UTF-8: what is not becomes U+FFFD.
  ProtoMessage& text(std::uint32_t field, std::string_view value);
  ProtoMessage& message(std::uint32_t field, const ProtoMessage& value);

  [[nodiscard]] const std::string& encoded() const noexcept { return encoded_; }

 private:
  std::string encoded_;
};

}  // namespace assay
