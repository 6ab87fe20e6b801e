#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/enum_names.h"
#include "core/error.h"
#include "core/json.h"

namespace assay {

// Tolerant access to members of a value of unknown form (a journal, another system's answer). A
// member that is missing, or has another type, yields the fallback.

/// Returns null when the member is missing.
[[nodiscard]] const Json& member_at(const Json& json, const char* key);
/// A list or object to iterate over; empty when it is missing.
[[nodiscard]] const Json& list_at(const Json& json, const char* key);
[[nodiscard]] const Json& object_at(const Json& json, const char* key);
[[nodiscard]] std::string text_at(const Json& json, const char* key,
                                  std::string_view fallback = {});
/// The member's text; a number or boolean is converted to text.
[[nodiscard]] std::string any_text_at(const Json& json, const char* key);
/// The text at the end of a path of names: "token/project/id".
[[nodiscard]] std::string text_at_path(const Json& json, std::string_view path);
/// The number, if it is finite.
[[nodiscard]] std::optional<double> number_at(const Json& json, const char* key);
[[nodiscard]] double number_at(const Json& json, const char* key, double fallback);
/// Truncates fractions.
[[nodiscard]] std::optional<std::int64_t> integer_at(const Json& json, const char* key);
[[nodiscard]] std::int64_t integer_at(const Json& json, const char* key, std::int64_t fallback);
/// Whether the member exists and is true.
[[nodiscard]] bool true_at(const Json& json, const char* key);
/// The integer, even when it is written as a string ("3043").
[[nodiscard]] std::int64_t any_integer_at(const Json& json, const char* key,
                                          std::int64_t fallback = 0);

/// Strict access to the fields of an object that Assay has written. A failure is an Error naming
/// the field and its object's place ("plan.json: cases[1]: limits"). `json` must outlive the
/// reader.
class JsonReader {
 public:
  /// `advice` is added to every error. Throws when `json` is not an object.
  JsonReader(const Json& json, std::string where, std::string advice = {},
             ErrorKind kind = ErrorKind::config);

  [[nodiscard]] const std::string& where() const noexcept { return where_; }
  [[nodiscard]] bool has(const char* key) const { return json_.contains(key); }
  [[nodiscard]] const Json& at(const char* key) const;

  [[nodiscard]] std::string text(const char* key) const;
  [[nodiscard]] std::string text_or_empty(const char* key) const;
  [[nodiscard]] std::vector<std::string> texts(const char* key) const;
  [[nodiscard]] std::map<std::string, std::string> text_map(const char* key) const;
  [[nodiscard]] double number(const char* key) const;
  [[nodiscard]] bool boolean(const char* key) const;
  template <std::integral T = int>
  [[nodiscard]] T integer(const char* key) const {
    const Json& value = at(key);
    if (!value.is_number_integer()) wrong(key, "a whole number");
    const bool fits = value.is_number_unsigned() ? std::in_range<T>(value.get<std::uint64_t>())
                                                 : std::in_range<T>(value.get<std::int64_t>());
    if (!fits) wrong(key, std::is_unsigned_v<T> ? "a whole number" : "a smaller number");
    return value.get<T>();
  }
  template <NamedEnum E>
  [[nodiscard]] E choice(const char* key) const {
    const auto value = parse_enum<E>(text(key));
    if (!value) wrong(key, enum_choices<E>());
    return *value;
  }

  [[nodiscard]] const Json& object(const char* key) const;
  [[nodiscard]] const Json& array(const char* key) const;
  [[nodiscard]] JsonReader fields(const char* key) const;
  /// Calls `read(JsonReader)` for every object of a list.
  template <class Read>
  void each(const char* key, Read read) const {
    const Json& items = array(key);
    for (std::size_t i = 0; i < items.size(); ++i)
      read(inside(items[i], std::string(key) + "[" + std::to_string(i) + "]"));
  }

  /// Reports "'nodes' should be a whole number".
  [[noreturn]] void wrong(const char* key, const std::string& expected) const;

 private:
  [[noreturn]] void fail(const std::string& message) const;
  [[nodiscard]] JsonReader inside(const Json& json, const std::string& name) const;

  const Json& json_;
  std::string where_;
  std::string advice_;
  ErrorKind kind_;
};

}  // namespace assay
