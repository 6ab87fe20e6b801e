#include <cmath>

#include <fmt/format.h>

#include "pyliteral/python_expression.h"

namespace assay::pyliteral {

namespace {

using Kind = Value::Kind;

constexpr std::int64_t kMaxRepeat = 1'000'000;

[[noreturn]] void unsupported(std::string_view op, const Value& left, const Value& right,
                              Place place) {
  throw Fault{place, fmt::format("{} {} {}", type_name(left), op, type_name(right))};
}

std::optional<std::int64_t> power(std::int64_t base, std::int64_t exponent) noexcept {
  std::int64_t result = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) return std::nullopt;
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) return std::nullopt;
  }
  return result;
}

/// The integer result, or nothing if it needs more than 64 bits or the operator yields a float.
std::optional<std::int64_t> integer_result(std::string_view op, std::int64_t a, std::int64_t b,
                                           Place place) {
  std::int64_t out = 0;
  if (op == "+") return __builtin_add_overflow(a, b, &out) ? std::nullopt : std::optional(out);
  if (op == "-") return __builtin_sub_overflow(a, b, &out) ? std::nullopt : std::optional(out);
  if (op == "*") return __builtin_mul_overflow(a, b, &out) ? std::nullopt : std::optional(out);
  if (op == "**") return b >= 0 ? power(a, b) : std::nullopt;
  if (op == "//" || op == "%") {
    if (b == 0) throw Fault{place, "a division by zero", true};
    if (b == -1) {  // INT64_MIN / -1 overflows
      if (op == "%") return 0;
      return __builtin_sub_overflow(std::int64_t{0}, a, &out) ? std::nullopt : std::optional(out);
    }
    const bool adjust = a % b != 0 && ((a % b < 0) != (b < 0));
    return op == "//" ? a / b - (adjust ? 1 : 0) : a % b + (adjust ? b : 0);
  }
  return std::nullopt;
}

Value arithmetic(std::string_view op, const Value& left, const Value& right, Place place) {
  const bool integers = left.kind != Kind::real && right.kind != Kind::real;
  if (integers) {
    if (const auto result = integer_result(op, integral(left), integral(right), place))
      return Value::of_integer(*result);
  }
  const double a = left.number();
  const double b = right.number();
  if ((op == "/" || op == "//" || op == "%") && b == 0)
    throw Fault{place, "a division by zero", true};
  double out = 0;
  if (op == "+") {
    out = a + b;
  } else if (op == "-") {
    out = a - b;
  } else if (op == "*") {
    out = a * b;
  } else if (op == "/") {
    out = a / b;
  } else if (op == "//") {
    out = std::floor(a / b);
  } else if (op == "%") {
    out = a - b * std::floor(a / b);
  } else if (op == "**") {
    out = std::pow(a, b);
  } else {
    unsupported(op, left, right, place);
  }
  if (!std::isfinite(out) && std::isfinite(a) && std::isfinite(b))
    throw Fault{place, "a number too large to read"};
  return Value::of_real(out);
}

Value repeat(const Value& sequence, std::int64_t count, Place place, Budget& budget) {
  Value out = sequence;
  out.text.clear();
  out.items.clear();
  const std::int64_t times = std::max<std::int64_t>(count, 0);
  if (times > kMaxRepeat) throw Fault{place, "values larger than an import reads"};
  charge(budget, weight(sequence) * static_cast<std::size_t>(times), place);
  for (std::int64_t i = 0; i < times; ++i) {
    out.text += sequence.text;
    out.items.insert(out.items.end(), sequence.items.begin(), sequence.items.end());
  }
  return out;
}

}  // namespace

void charge(Budget& budget, std::size_t cost, Place place) {
  if (cost > budget.left) throw Fault{place, "values larger than an import reads"};
  budget.left -= cost;
}

Value binary(std::string_view op, const Value& left, const Value& right, Place place,
             Budget& budget) {
  if (left.is_number() && right.is_number()) return arithmetic(op, left, right, place);
  const auto repeatable = [](const Value& value) {
    return value.is_text() || value.kind == Kind::list || value.kind == Kind::tuple;
  };
  if (op == "+" && left.kind == right.kind && repeatable(left)) {
    charge(budget, weight(left) + weight(right), place);
    Value out = left;
    out.text += right.text;
    out.items.insert(out.items.end(), right.items.begin(), right.items.end());
    return out;
  }
  if (op == "*" && repeatable(left) && right.is_number() && right.kind != Kind::real)
    return repeat(left, integral(right), place, budget);
  if (op == "*" && repeatable(right) && left.is_number() && left.kind != Kind::real)
    return repeat(right, integral(left), place, budget);
  unsupported(op, left, right, place);
}

void add_item(Value& container, Value item, Place place) {
  if (depth(item) + 1 > kMaxValueDepth) throw Fault{place, "values nested too deeply"};
  container.items.push_back(std::move(item));
}

void set_item(Value& container, Value key, Value value, Place place) {
  if (depth(value) + 1 > kMaxValueDepth) throw Fault{place, "values nested too deeply"};
  if (container.kind == Kind::dict) {
    if (!hashable(key)) throw Fault{place, fmt::format("a {} as key", type_name(key)), true};
    for (Entry& entry : container.entries) {
      if (hash_text(entry.key) != hash_text(key)) continue;
      entry.value = std::move(value);
      return;
    }
    container.entries.push_back({std::move(key), std::move(value)});
    return;
  }
  if (container.kind == Kind::list && key.kind == Kind::integer) {
    const auto size = static_cast<std::int64_t>(container.items.size());
    const std::int64_t index = key.integer < 0 ? key.integer + size : key.integer;
    if (index < 0 || index >= size) throw Fault{place, "an index out of range", true};
    container.items[static_cast<std::size_t>(index)] = std::move(value);
    return;
  }
  throw Fault{place, fmt::format("an assignment to an item of a {}", type_name(container))};
}

}  // namespace assay::pyliteral
