#pragma once

#include <utility>

#include "core/json_fields.h"

namespace assay {

/// fields_from_json() for a value of unknown form (a journal that somebody else wrote): a field
/// that is missing, or whose value its member cannot hold, keeps the struct's default; a value that
/// is not an object leaves them all. List items that do not fit are left out. Never throws.
template <class T>
[[nodiscard]] T fields_from_any(const Json& json);

namespace json_fields_detail {

/// Returns false when `json` has another form; `to` is then unchanged.
template <class T>
bool decode_any(const Json& json, T& to) {
  if constexpr (kIsVector<T>) {
    if (!json.is_array()) return false;
    to.clear();
    for (const Json& item : json) {
      typename T::value_type value{};
      if (decode_any(item, value)) to.push_back(std::move(value));
    }
    return true;
  } else if constexpr (Struct<T>) {
    if (!json.is_object()) return false;
    to = fields_from_any<T>(json);
    return true;
  } else {
    try {
      T value{};
      decode(json, value, {});
      to = std::move(value);
      return true;
    } catch (const Error&) {
      return false;
    }
  }
}

class AnyReader {
 public:
  explicit AnyReader(const Json& json) : json_(json) {}
  template <class T>
  void operator()(const char* key, T& to) const {
    if (!json_.is_object()) return;
    if (const auto found = json_.find(key); found != json_.end()) (void)decode_any(*found, to);
  }
  template <class T>
  void optional(const char* key, T& to) const {
    (*this)(key, to);
  }

 private:
  const Json& json_;
};

}  // namespace json_fields_detail

template <class T>
T fields_from_any(const Json& json) {
  T out{};
  T::fields(out, json_fields_detail::AnyReader(json));
  return out;
}

}  // namespace assay
