#include <algorithm>
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "core/text.h"
#include "pyliteral/python_expression.h"

namespace assay::pyliteral {

namespace {

using Kind = Value::Kind;

template <class T>
bool order(std::string_view op, const T& a, const T& b) {
  if (op == "<") return a < b;
  if (op == "<=") return a <= b;
  if (op == ">") return a > b;
  return a >= b;
}

Value convert(const std::string& callee, const Value& value, const Fault& fault) {
  if (callee == "bool") return Value::boolean(value.truth());
  if (callee == "str" && (value.is_text() || value.kind == Kind::integer ||
                          value.kind == Kind::boolean || value.kind == Kind::none))
    return Value::of_text(display(value));
  if (callee == "float") {
    if (value.is_number()) return Value::of_real(value.number());
    const std::string text = to_lower(trim(value.is_text() ? value.text : ""));
    const double infinity = std::numeric_limits<double>::infinity();
    if (text == "inf" || text == "infinity" || text == "+inf") return Value::of_real(infinity);
    if (text == "-inf" || text == "-infinity") return Value::of_real(-infinity);
    double real = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), real);
    if (!text.empty() && error == std::errc{} && end == text.data() + text.size() &&
        text.find('n') == std::string::npos)
      return Value::of_real(real);
  }
  if (callee == "int") {
    if (value.kind == Kind::integer || value.kind == Kind::boolean)
      return Value::of_integer(value.kind == Kind::boolean ? std::int64_t{value.flag}
                                                           : value.integer);
    if (value.kind == Kind::real && value.real > -9e18 && value.real < 9e18)
      return Value::of_integer(static_cast<std::int64_t>(value.real));
    const std::string_view text = trim(value.is_text() ? std::string_view(value.text) : "");
    std::int64_t integer = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), integer);
    if (!text.empty() && error == std::errc{} && end == text.data() + text.size())
      return Value::of_integer(integer);
  }
  throw fault;
}

}  // namespace

void add_item(Value& container, Value item, Place place) {
  if (depth(item) + 1 > kMaxValueDepth) throw Fault{place, "values nested too deeply"};
  if (container.kind == Kind::set && !hashable(item))
    throw Fault{place, fmt::format("a {} in a set", type_name(item)), true};
  container.items.push_back(std::move(item));
}

bool compare(std::string_view op, const Value& a, const Value& b, Place place, Budget& budget) {
  if (a.is_container() && b.is_container()) charge(budget, weight(a) * weight(b) / 64, place);
  if (op == "==") return equal(a, b);
  if (op == "!=") return !equal(a, b);
  if (op == "is" || op == "is not") {
    const bool comparable = a.kind == Kind::none || b.kind == Kind::none ||
                            (a.kind == Kind::boolean && b.kind == Kind::boolean);
    if (!comparable) throw Fault{place, "an identity test"};
    return (a.kind == b.kind && equal(a, b)) == (op == "is");
  }
  if (op == "in" || op == "not in") {
    bool found = false;
    if (b.is_text() && a.is_text()) {
      found = b.text.find(a.text) != std::string::npos;
    } else if (b.kind == Kind::dict) {
      found = std::ranges::any_of(b.entries, [&](const Entry& e) { return equal(e.key, a); });
    } else if (b.is_container()) {
      found = std::ranges::any_of(b.items, [&](const Value& item) { return equal(item, a); });
    } else {
      throw Fault{place, fmt::format("'in' of a {}", type_name(b)), true};
    }
    return found == (op == "in");
  }
  if (a.is_number() && b.is_number()) return order(op, a.number(), b.number());
  if (a.is_text() && b.is_text()) return order(op, a.text, b.text);
  throw Fault{place, fmt::format("{} {} {}", type_name(a), op, type_name(b))};
}

Value construct(const std::string& callee, const std::vector<Value>& arguments,
                const Value& keywords, Place place) {
  const Fault fault{place, fmt::format("a call of {}(…) that is not a literal", callee)};
  if (callee == "dict") {
    Value out = Value::container(Kind::dict);
    if (arguments.size() > 1 || (arguments.size() == 1 && arguments[0].kind != Kind::dict))
      throw fault;
    if (!arguments.empty()) out = arguments[0];
    for (const Entry& entry : keywords.entries) set_item(out, entry.key, entry.value, place);
    return out;
  }
  if (!keywords.entries.empty() || arguments.size() > 1) throw fault;
  if (callee == "list" || callee == "tuple" || callee == "set") {
    Value out = Value::container(callee == "list"    ? Kind::list
                                 : callee == "tuple" ? Kind::tuple
                                                     : Kind::set);
    if (arguments.empty()) return out;
    if (!arguments[0].is_container() || arguments[0].kind == Kind::dict) throw fault;
    for (const Value& item : arguments[0].items) add_item(out, item, place);
    return out;
  }
  if (arguments.empty()) throw fault;
  return convert(callee, arguments[0], fault);
}

}  // namespace assay::pyliteral
