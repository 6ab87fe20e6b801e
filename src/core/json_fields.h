#pragma once

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/enum_names.h"
#include "core/error.h"
#include "core/json.h"
#include "core/time.h"

namespace assay {

/// A struct whose JSON form is written down once, for both directions:
///
///     struct RankStart {
///       int rank = 0;
///       std::string host{};
///       static void fields(auto& self, auto&& field) {
///         field("rank", self.rank);
///         field.optional("host", self.host);
///       }
///     };
///
/// A field is a number, text, bool, path, named enum, duration (whole nanoseconds), Json, another
/// such struct, a type with to_json(value) and decode_json(json, value, where), or a std::optional,
/// std::vector or std::map of these. A plain field must be present when reading; an optional one
/// keeps the struct's default where it is missing. Optional fields are not written when they are
/// empty optionals, texts or containers.

namespace json_fields_detail {

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
inline constexpr bool kIsVector = false;
template <class T>
inline constexpr bool kIsVector<std::vector<T>> = true;
template <class T>
inline constexpr bool kIsMap = false;
template <class K, class T>
inline constexpr bool kIsMap<std::map<K, T>> = true;

struct Probe {
  template <class T>
  void operator()(const char*, T&) const {}
  template <class T>
  void optional(const char*, T&) const {}
};

template <class T>
concept Struct = requires(T& value, Probe probe) {
  T::fields(value, probe);
};

}  // namespace json_fields_detail

template <class T>
[[nodiscard]] Json fields_to_json(const T& value);

/// Throws Error of kind config at `where` when a field is missing or of the wrong type.
template <class T>
[[nodiscard]] T fields_from_json(const Json& json, const std::string& where);

namespace json_fields_detail {

template <class T>
Json encode(const T& value) {
  // Comes first because a Json also fits some of the others.  NOLINTNEXTLINE(bugprone-branch-clone)
  if constexpr (std::is_same_v<T, Json>) {
    return value;
  } else if constexpr (NamedEnum<T>) {
    return std::string(to_text(value));
  } else if constexpr (std::is_same_v<T, Nanoseconds>) {
    return value.count();
  } else if constexpr (std::is_same_v<T, std::filesystem::path>) {
    return value.string();
  } else if constexpr (kIsOptional<T>) {
    return value ? encode(*value) : Json();
  } else if constexpr (kIsVector<T>) {
    Json out = Json::array();
    for (const auto& item : value) out.push_back(encode(item));
    return out;
  } else if constexpr (kIsMap<T>) {
    Json out = Json::object();
    for (const auto& [key, item] : value) out[key] = encode(item);
    return out;
  } else if constexpr (Struct<T>) {
    return fields_to_json(value);
  } else if constexpr (requires { to_json(value); }) {
    return to_json(value);
  } else {
    return value;
  }
}

[[noreturn]] inline void wrong(const std::string& where, const std::string& expected) {
  throw Error(ErrorKind::config, "expected " + expected, where);
}

template <class T>
void decode(const Json& json, T& to, const std::string& where) {
  if constexpr (std::is_same_v<T, Json>) {
    to = json;
  } else if constexpr (NamedEnum<T>) {
    const auto value =
        json.is_string() ? parse_enum<T>(json.get_ref<const std::string&>()) : std::nullopt;
    if (!value) wrong(where, enum_choices<T>());
    to = *value;
  } else if constexpr (std::is_same_v<T, Nanoseconds>) {
    if (!json.is_number_integer()) wrong(where, "whole nanoseconds");
    to = Nanoseconds(json.get<std::int64_t>());
  } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::filesystem::path>) {
    if (!json.is_string()) wrong(where, "text");
    to = json.get<std::string>();
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!json.is_boolean()) wrong(where, "true or false");
    to = json.get<bool>();
  } else if constexpr (std::integral<T>) {
    if (!json.is_number_integer()) wrong(where, "a whole number");
    const bool fits = json.is_number_unsigned() ? std::in_range<T>(json.get<std::uint64_t>())
                                                : std::in_range<T>(json.get<std::int64_t>());
    if (!fits) wrong(where, "a number within its range");
    to = json.get<T>();
  } else if constexpr (std::floating_point<T>) {
    if (!json.is_number()) wrong(where, "a number");
    to = json.get<T>();
  } else if constexpr (kIsOptional<T>) {
    to.reset();
    if (json.is_null()) return;
    to = typename T::value_type{};  // clang 16 rejects emplace() for a struct of a struct
    decode(json, *to, where);
  } else if constexpr (kIsVector<T>) {
    if (!json.is_array()) wrong(where, "a list");
    to.clear();
    for (const Json& item : json) decode(item, to.emplace_back(), where);
  } else if constexpr (kIsMap<T>) {
    if (!json.is_object()) wrong(where, "an object");
    to.clear();
    for (const auto& [key, item] : json.items()) decode(item, to[key], where + ": " + key);
  } else if constexpr (Struct<T>) {
    to = fields_from_json<T>(json, where);
  } else {
    decode_json(json, to, where);
  }
}

class Writer {
 public:
  explicit Writer(Json& out) : out_(out) {}
  template <class T>
  void operator()(const char* key, const T& value) const {
    out_[key] = encode(value);
  }
  template <class T>
  void optional(const char* key, const T& value) const {
    if constexpr (kIsOptional<T>) {
      if (!value) return;
    } else if constexpr (std::is_same_v<T, Json>) {
      if (value.is_null()) return;
    } else if constexpr (requires { value.empty(); }) {
      if (value.empty()) return;
    }
    out_[key] = encode(value);
  }

 private:
  Json& out_;
};

class Reader {
 public:
  Reader(const Json& json, const std::string& where) : json_(json), where_(where) {
    if (!json_.is_object()) wrong(where_, "an object");
  }
  template <class T>
  void operator()(const char* key, T& to) const {
    const auto found = json_.find(key);
    if (found == json_.end())
      throw Error(ErrorKind::config, "'" + std::string(key) + "' is missing", where_);
    decode(*found, to, where_ + ": " + key);
  }
  template <class T>
  void optional(const char* key, T& to) const {
    if (const auto found = json_.find(key); found != json_.end())
      decode(*found, to, where_ + ": " + key);
  }

 private:
  const Json& json_;
  const std::string& where_;
};

}  // namespace json_fields_detail

template <class T>
Json fields_to_json(const T& value) {
  Json out = Json::object();
  T::fields(value, json_fields_detail::Writer(out));
  return out;
}

template <class T>
T fields_from_json(const Json& json, const std::string& where) {
  T out{};
  T::fields(out, json_fields_detail::Reader(json, where));
  return out;
}

}  // namespace assay
