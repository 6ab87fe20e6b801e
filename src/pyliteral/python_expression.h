#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pyliteral/python_tokens.h"
#include "pyliteral/python_value.h"

namespace assay::pyliteral {

/// Thrown within the parser for an expression that cannot be read.
struct Fault {
  Place place;
  std::string message;  ///< describes it: "a function call, GradScaler(…)"
  bool syntax = false;  ///< not valid Python either
};

/// What is known about a name.
struct Name {
  std::optional<Value> value;  ///< nothing: assigned, but not a literal
  std::string why;             ///< what it is otherwise
  Place place;                 ///< of the assignment
  std::string file;            ///< of the assignment
  bool imported = false;       ///< bound by an import statement, not a setting
};

using Names = std::map<std::string, Name, std::less<>>;

/// Limits the cost of one file, however it refers to and repeats its own values.
struct Budget {
  std::size_t left = 200'000;  ///< weight() of all values created
};

/// Deducts `cost` from the budget; throws Fault when it is used up.
void charge(Budget& budget, std::size_t cost, Place place);

/// The value of an expression, and the names of containers that it refers to.
struct Evaluated {
  Value value;
  std::set<std::string> containers;  ///< names whose object the value may share
  std::vector<std::pair<Place, std::string>> notes;
};

/// Evaluates the tokens as one expression (or a tuple without parentheses) of literals, operators
/// on literals and names of literals. Throws Fault for anything else.
[[nodiscard]] Evaluated evaluate(std::span<const Token> tokens, const Names& names, Budget& budget);

/// `left op right` as Python computes it: + - * / // % **.
[[nodiscard]] Value binary(std::string_view op, const Value& left, const Value& right, Place place,
                           Budget& budget);

/// The maximum nesting depth of containers.
inline constexpr int kMaxValueDepth = 100;

/// Appends to a list or tuple. Throws Fault.
void add_item(Value& container, Value item, Place place);

/// Sets container[key] of a dict or a list in place. Throws Fault.
void set_item(Value& container, Value key, Value value, Place place);

/// Whether `text` is a word Python reserves.
[[nodiscard]] bool is_keyword(std::string_view text) noexcept;

}  // namespace assay::pyliteral
