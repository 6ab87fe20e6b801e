#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"

namespace assay::pyliteral {

/// A place in a file, counted from 1.
struct Place {
  int line = 0;
  int column = 0;
};

struct Entry;

/// The value of a Python literal. Copying it copies everything below it.
struct Value {
  enum class Kind { none, boolean, integer, real, text, list, tuple, dict };

  Kind kind = Kind::none;
  bool flag = false;           ///< boolean
  std::int64_t integer = 0;    ///< integer
  double real = 0;             ///< real; may be infinite
  std::string text{};          ///< text (UTF-8)
  std::vector<Value> items{};  ///< list, tuple
  std::vector<Entry> entries;  ///< dict, in the order of first insertion
  Place place{};               ///< of its first token

  [[nodiscard]] static Value boolean(bool flag);
  [[nodiscard]] static Value of_integer(std::int64_t integer);
  [[nodiscard]] static Value of_real(double real);
  [[nodiscard]] static Value of_text(std::string text);
  [[nodiscard]] static Value container(Kind kind);

  [[nodiscard]] bool is_text() const noexcept { return kind == Kind::text; }
  [[nodiscard]] bool is_container() const noexcept { return kind >= Kind::list; }
  [[nodiscard]] bool is_number() const noexcept {
    return kind == Kind::boolean || kind == Kind::integer || kind == Kind::real;
  }
  /// The number as a double; 0 for other kinds.
  [[nodiscard]] double number() const noexcept;
  /// Python's bool(value).
  [[nodiscard]] bool truth() const noexcept;
};

struct Entry {
  Value key;
  Value value;
};

/// "str", "int", "list", …: Python's name of the type.
[[nodiscard]] std::string_view type_name(const Value& value) noexcept;

/// Python's int(value) for an integer or a bool.
[[nodiscard]] std::int64_t integral(const Value& value) noexcept;

/// Equal for keys that are equal in Python (1, 1.0 and True), and different for others. Requires
/// hashable values (no list or dict inside).
[[nodiscard]] std::string hash_text(const Value& value);
[[nodiscard]] bool hashable(const Value& value) noexcept;

/// A value's memory use in units of about 64 bytes, and the nesting depth of its containers.
[[nodiscard]] std::size_t weight(const Value& value) noexcept;
[[nodiscard]] int depth(const Value& value) noexcept;

/// None → null, tuple → array, dict keys → strings ("1", "true");
/// infinities and NaN → the strings "inf", "-inf", "nan", since JSON has no such numbers.
[[nodiscard]] Json to_json(const Value& value);

/// Python's str(value) for a string, an integer, a bool or None; JSON for others.
[[nodiscard]] std::string display(const Value& value);

}  // namespace assay::pyliteral
