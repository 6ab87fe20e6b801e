#include "train/data/tf_example.h"

namespace assay::train::data {

namespace {

using Bytes = std::span<const std::uint8_t>;

// The part of the protobuf wire format that these messages use. Every read is checked.
class Wire {
 public:
  explicit Wire(Bytes bytes) : bytes_(bytes) {}

  struct Field {
    std::uint64_t number = 0;
    unsigned type = 0;        // 0 varint, 1 eight bytes, 2 length-delimited, 5 four bytes
    std::uint64_t value = 0;  // of a varint
    Bytes bytes;              // for the other types
  };

  /// Returns false at the end and for invalid bytes; ok() tells them apart.
  bool next(Field& field) {
    if (!ok_ || bytes_.empty()) return false;
    std::uint64_t key = 0;
    if (!varint(key)) return false;
    field.number = key >> 3;
    field.type = static_cast<unsigned>(key & 7);
    if (field.number == 0) return fail();
    switch (field.type) {
      case 0:
        return varint(field.value);
      case 1:
        return take(8, field.bytes);
      case 2: {
        std::uint64_t size = 0;
        return varint(size) && take(size, field.bytes);
      }
      case 5:
        return take(4, field.bytes);
      default:
        return fail();  // groups and invalid types
    }
  }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool empty() const { return bytes_.empty(); }

  bool varint(std::uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (bytes_.empty()) return fail();
      const std::uint8_t byte = bytes_.front();
      bytes_ = bytes_.subspan(1);
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return true;
    }
    return fail();
  }

 private:
  bool take(std::uint64_t size, Bytes& out) {
    if (size > bytes_.size()) return fail();
    out = bytes_.first(size);
    bytes_ = bytes_.subspan(size);
    return true;
  }
  bool fail() {
    ok_ = false;
    return false;
  }

  Bytes bytes_;
  bool ok_ = true;
};

// Calls `use` with the payload of every length-delimited field `number`.
template <class Use>
bool each_message(Bytes message, std::uint64_t number, const Use& use) {
  Wire wire(message);
  Wire::Field field;
  while (wire.next(field))
    if (field.number == number && field.type == 2 && !use(field.bytes)) return false;
  return wire.ok();
}

// Feature: one of bytes_list = 1, float_list = 2, int64_list = 3.
bool list_of(Bytes feature, std::uint64_t kind, Bytes& list, bool& found) {
  Wire wire(feature);
  Wire::Field field;
  while (wire.next(field)) {
    if (field.number < 1 || field.number > 3 || field.type != 2) continue;
    found = field.number == kind;
    list = field.bytes;
  }
  return wire.ok();
}

bool first_bytes(Bytes feature, Bytes& value, bool& right_type) {
  Bytes list;
  if (!list_of(feature, 1, list, right_type)) return false;
  if (!right_type) return true;
  bool first = true;
  return each_message(list, 1, [&](Bytes item) {
    if (first) value = item;
    first = false;
    return true;
  });
}

bool first_integer(Bytes feature, std::optional<std::int64_t>& value, bool& right_type) {
  Bytes list;
  if (!list_of(feature, 3, list, right_type)) return false;
  if (!right_type) return true;
  Wire wire(list);
  Wire::Field field;
  while (wire.next(field)) {
    if (field.number != 1 || value.has_value()) continue;
    std::uint64_t number = field.value;
    if (field.type == 2) {  // packed
      if (field.bytes.empty()) continue;
      Wire packed(field.bytes);
      if (!packed.varint(number)) return false;
    } else if (field.type != 0) {
      continue;
    }
    value = static_cast<std::int64_t>(number);
  }
  return wire.ok();
}

}  // namespace

bool parse_image_example(Bytes message, ImageExample& example, std::string& error) {
  example = {};
  const char* problem = nullptr;
  const auto feature_entry = [&](Bytes entry) {
    Wire wire(entry);
    Wire::Field field;
    std::string_view key;
    Bytes value;
    while (wire.next(field)) {
      if (field.type != 2) continue;
      if (field.number == 1)
        key = {reinterpret_cast<const char*>(field.bytes.data()), field.bytes.size()};
      if (field.number == 2) value = field.bytes;
    }
    if (!wire.ok()) return false;
    bool right_type = true;
    if (key == "image/encoded") {
      if (!first_bytes(value, example.encoded, right_type)) return false;
      if (!right_type) problem = "image/encoded is not a list of bytes";
    } else if (key == "image/class/label") {
      if (!first_integer(value, example.label, right_type)) return false;
      if (!right_type) problem = "image/class/label is not a list of int64";
    }
    return true;
  };
  // Example { Features features = 1; }, Features { map<string, Feature> feature = 1; }
  const bool well_formed = each_message(
      message, 1, [&](Bytes features) { return each_message(features, 1, feature_entry); });
  if (!well_formed) problem = "not a well-formed tf.Example";
  if (problem == nullptr) return true;
  error = problem;
  return false;
}

}  // namespace assay::train::data
