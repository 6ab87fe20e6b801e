#include "pyliteral/python_value.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace assay::pyliteral {

using Kind = Value::Kind;

Value Value::container(Kind kind) {
  Value value;
  value.kind = kind;
  return value;
}

Value Value::boolean(bool flag) {
  Value value = container(Kind::boolean);
  value.flag = flag;
  return value;
}

Value Value::of_integer(std::int64_t integer) {
  Value value = container(Kind::integer);
  value.integer = integer;
  return value;
}

Value Value::of_real(double real) {
  Value value = container(Kind::real);
  value.real = real;
  return value;
}

Value Value::of_text(std::string text) {
  Value value = container(Kind::text);
  value.text = std::move(text);
  return value;
}

double Value::number() const noexcept {
  switch (kind) {
    case Kind::boolean:
      return flag ? 1 : 0;
    case Kind::integer:
      return static_cast<double>(integer);
    case Kind::real:
      return real;
    default:
      return 0;
  }
}

bool Value::truth() const noexcept {
  switch (kind) {
    case Kind::none:
      return false;
    case Kind::text:
      return !text.empty();
    case Kind::list:
    case Kind::tuple:
      return !items.empty();
    case Kind::dict:
      return !entries.empty();
    default:
      return number() != 0;
  }
}

std::string_view type_name(const Value& value) noexcept {
  constexpr std::array<std::string_view, 8> kNames{"None", "bool", "int",   "float",
                                                   "str",  "list", "tuple", "dict"};
  return kNames[static_cast<std::size_t>(value.kind)];
}

std::int64_t integral(const Value& value) noexcept {
  return value.kind == Kind::boolean ? (value.flag ? 1 : 0) : value.integer;
}

std::string hash_text(const Value& value) {
  switch (value.kind) {
    case Kind::none:
      return "N";
    case Kind::boolean:
    case Kind::integer:
      return fmt::format("n{}", integral(value));
    case Kind::real: {
      const double whole = std::trunc(value.real);
      if (whole == value.real && std::abs(whole) < 9e18)
        return fmt::format("n{}", static_cast<std::int64_t>(whole));
      return fmt::format("f{}", value.real);
    }
    case Kind::text:
      return "s" + value.text;
    default: {
      std::string out = "(";
      for (const Value& item : value.items) {
        const std::string inner = hash_text(item);
        out += fmt::format("{}:{}", inner.size(), inner);
      }
      return out + ")";
    }
  }
}

bool hashable(const Value& value) noexcept {
  if (value.kind == Kind::tuple) return std::ranges::all_of(value.items, hashable);
  return !value.is_container();
}

std::size_t weight(const Value& value) noexcept {
  std::size_t total = 1 + value.text.size() / 64;
  for (const Value& item : value.items) total += weight(item);
  for (const Entry& entry : value.entries) total += weight(entry.key) + weight(entry.value);
  return total;
}

int depth(const Value& value) noexcept {
  int deepest = 0;
  for (const Value& item : value.items) deepest = std::max(deepest, depth(item));
  for (const Entry& entry : value.entries)
    deepest = std::max({deepest, depth(entry.key), depth(entry.value)});
  return value.is_container() ? deepest + 1 : 0;
}

Json to_json(const Value& value) {
  switch (value.kind) {
    case Kind::none:
      return nullptr;
    case Kind::boolean:
      return value.flag;
    case Kind::integer:
      return value.integer;
    case Kind::real:
      if (std::isnan(value.real)) return "nan";
      if (std::isinf(value.real)) return value.real > 0 ? "inf" : "-inf";
      return value.real;
    case Kind::text:
      return value.text;
    case Kind::dict: {
      Json out = Json::object();
      for (const Entry& entry : value.entries) out[display(entry.key)] = to_json(entry.value);
      return out;
    }
    default: {
      Json out = Json::array();
      for (const Value& item : value.items) out.push_back(to_json(item));
      return out;
    }
  }
}

std::string display(const Value& value) {
  switch (value.kind) {
    case Kind::none:
      return "None";
    case Kind::boolean:
      return value.flag ? "True" : "False";
    case Kind::integer:
      return std::to_string(value.integer);
    case Kind::text:
      return value.text;
    default:
      return dump_line(to_json(value));
  }
}

}  // namespace assay::pyliteral
