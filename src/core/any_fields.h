#pragma once

#include <utility>

#include "core/json_fields.h"

namespace assay {

/// fields_from_json() for a value that may be anything (a journal that somebody else wrote): a
/// field that is missing, or that its member cannot hold, keeps the struct's default, and so does
/// every field of what is no object. Items of a list that it cannot hold are left out. Nothing is
/// thrown.
template <class T>
[[nodiscard]] T fields_from_any(const Json& json);

namespace json_fields_detail {

/// False: `json` is of another form, and `to` is as it was.
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
