#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/json_fields.h"
#include "core/text.h"

namespace assay {

/// fields_from_json ignores unknown keys, so that files of later versions can be read. In a file
/// that people write, an unknown key is a mistake and would silently have no effect: this throws an
/// Error of kind config at the path of the first one ("queues[0].clsed"), naming the nearest known
/// key. Values of an unexpected type are not searched.
template <class T>
void refuse_unknown_fields(const Json& json, const std::string& path = {});

namespace json_fields_detail {

template <class T>
void refuse_unknown(const Json& json, const std::string& path) {
  if constexpr (kIsOptional<T>) {
    refuse_unknown<typename T::value_type>(json, path);
  } else if constexpr (kIsVector<T>) {
    if (!json.is_array()) return;
    for (std::size_t i = 0; i < json.size(); ++i)
      refuse_unknown<typename T::value_type>(json[i], fmt::format("{}[{}]", path, i));
  } else if constexpr (kIsMap<T>) {
    if (!json.is_object()) return;
    for (const auto& [key, item] : json.items())
      refuse_unknown<typename T::mapped_type>(item, path + "." + key);
  } else if constexpr (Struct<T>) {
    refuse_unknown_fields<T>(json, path);
  }
}

class Keys {
 public:
  Keys(const Json& json, const std::string& path) : json_(json), path_(path) {}
  template <class T>
  void operator()(const char* key, T&) {
    known.emplace_back(key);
    if (const auto found = json_.find(key); found != json_.end())
      refuse_unknown<T>(*found, path_.empty() ? key : path_ + "." + key);
  }
  template <class T>
  void optional(const char* key, T& value) {
    (*this)(key, value);
  }
  std::vector<std::string> known{};

 private:
  const Json& json_;
  const std::string& path_;
};

}  // namespace json_fields_detail

template <class T>
void refuse_unknown_fields(const Json& json, const std::string& path) {
  if (!json.is_object()) return;
  T value{};
  json_fields_detail::Keys keys(json, path);
  T::fields(value, keys);
  for (const auto& [key, item] : json.items()) {
    if (std::ranges::find(keys.known, key) != keys.known.end()) continue;
    const std::string shown = printable(ellipsize(key, 60));
    std::string meant = did_you_mean(shown, keys.known);
    const auto longer = std::ranges::find_if(
        keys.known, [&](const std::string& one) { return one.starts_with(shown); });
    // "warn" is too far from "warn_s" for a typo.
    if (meant.empty() && shown.size() > 2 && longer != keys.known.end())
      meant = " (did you mean '" + *longer + "'?)";
    throw Error(ErrorKind::config, "unknown key '" + shown + "'" + meant,
                path.empty() ? shown : path + "." + shown,
                "its keys are: " + join(keys.known, ", "));
  }
}

}  // namespace assay
