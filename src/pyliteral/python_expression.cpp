#include "pyliteral/python_expression.h"

#include <algorithm>
#include <array>
#include <ranges>
#include <unordered_map>

#include <fmt/format.h>

#include "core/text.h"
#include "pyliteral/python_strings.h"

namespace assay::pyliteral {

namespace {

using Kind = Value::Kind;

constexpr int kMaxRecursion = 250;  // of the parser; brackets alone are limited to 200

class Evaluator {
 public:
  Evaluator(std::span<const Token> tokens, const Names& names, Budget& budget)
      : tokens_(tokens), names_(names), budget_(budget) {}

  Evaluated run() {
    if (tokens_.empty()) throw Fault{{}, "an expression is missing", true};
    out_.value = expression_list();
    if (!at_end()) unexpected();
    return std::move(out_);
  }

 private:
  /// Bounds the recursion on every path through the grammar.
  class Guard {
   public:
    Guard(int& level, Place place) : level_(level) {
      if (++level_ > kMaxRecursion) {
        --level_;
        throw Fault{place, "an expression nested too deeply"};
      }
    }
    ~Guard() { --level_; }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    int& level_;
  };

  [[nodiscard]] bool at_end() const noexcept { return pos_ >= tokens_.size(); }
  [[nodiscard]] const Token& current() const noexcept { return tokens_[pos_]; }
  [[nodiscard]] Place here() const noexcept {
    return at_end() ? tokens_.back().place : current().place;
  }
  [[nodiscard]] bool is(std::string_view text) const noexcept {
    return !at_end() && current().is(text);
  }
  bool accept(std::string_view text) noexcept {
    if (!is(text)) return false;
    ++pos_;
    return true;
  }
  void expect(std::string_view text) {
    if (accept(text)) return;
    if (at_end()) throw Fault{here(), fmt::format("'{}' is missing", text), true};
    unexpected();
  }
  [[noreturn]] void unexpected() const {
    if (is("for") || is("async")) throw Fault{here(), "a comprehension"};
    if (is(":=")) throw Fault{here(), "an assignment expression"};
    if (is("*") || is("**")) throw Fault{here(), "unpacking with a star"};
    for (const std::string_view op : {"if", "and", "or", "not", "in", "is", "==", "!=", "<",
                                      "<=", ">", ">=", "|", "^", "&", "<<", ">>", "~", "@"})
      if (is(op)) throw Fault{here(), fmt::format("an expression with '{}'", op)};
    if (is("lambda")) throw Fault{here(), "a lambda"};
    if (is("await") || is("yield")) throw Fault{here(), fmt::format("{}", current().text)};
    throw Fault{here(), fmt::format("'{}' is not expected here", printable(current().text)), true};
  }

  Value charged(Value value) {
    spend(weight(value));
    return value;
  }

  void spend(std::size_t cost) { charge(budget_, cost, here()); }

  Value expression_list() {
    const Place start = here();
    Value first = expression();
    if (!is(",")) return first;
    Value tuple = Value::container(Kind::tuple);
    tuple.place = start;
    add_item(tuple, std::move(first), here());
    while (accept(","))
      if (!at_end()) add_item(tuple, expression(), here());
    return tuple;
  }

  Value expression() {
    const Guard guard(level_, here());
    return arithmetic(0);
  }

  /// Left-associative binary operators, weakest first.
  Value arithmetic(std::size_t rank) {
    static constexpr std::array<std::array<std::string_view, 4>, 2> kRanks{
        {{"+", "-"}, {"*", "/", "//", "%"}}};
    if (rank == kRanks.size()) return unary();
    Value left = arithmetic(rank + 1);
    for (;;) {
      const auto& operators = kRanks[rank];
      const auto found = std::ranges::find_if(
          operators, [&](std::string_view op) { return !op.empty() && is(op); });
      if (found == operators.end()) return left;
      const Place place = here();
      ++pos_;
      Value right = arithmetic(rank + 1);
      const Place start = left.place;
      const bool integers = left.kind == Kind::integer && right.kind == Kind::integer;
      left = binary(*found, left, right, place, budget_);
      note_overflow(integers && *found != "/", left, place);
      left.place = start;
    }
  }

  void note_overflow(bool integers, const Value& result, Place place) {
    if (integers && result.kind == Kind::real)
      out_.notes.emplace_back(place, "an integer beyond 64 bits, kept as a floating-point number");
  }

  Value unary() {
    const Guard guard(level_, here());
    const Place place = here();
    std::vector<char> signs;
    while (is("-") || is("+")) signs.push_back(tokens_[pos_++].text.front());
    Value value = power();
    for (const char sign : signs | std::views::reverse) {
      if (!value.is_number())
        throw Fault{place, fmt::format("'{}' before a {}", sign, type_name(value)), true};
      if (value.kind == Kind::real) {
        if (sign == '-') value.real = -value.real;
      } else {
        value = binary(sign == '-' ? "-" : "+", Value::of_integer(0), value, place, budget_);
      }
    }
    value.place = place;
    return value;
  }

  Value power() {
    Value base = postfix();
    if (!is("**")) return base;
    const Place place = here();
    ++pos_;
    const Value exponent = unary();
    const bool integers =
        base.kind == Kind::integer && exponent.kind == Kind::integer && exponent.integer >= 0;
    const Place start = base.place;
    Value result = binary("**", base, exponent, place, budget_);
    note_overflow(integers, result, place);
    result.place = start;
    return result;
  }

  Value postfix() {
    const Place start = here();
    const std::size_t first = pos_;
    if (!at_end() && current().kind == Token::Kind::name && calls_something()) return call();
    Value value = primary();
    while (!at_end()) {
      if (is("[")) {
        value = subscript(value);
      } else if (is(".")) {
        throw Fault{start, member_text(first)};
      } else if (is("(")) {
        throw Fault{start, "a call"};
      } else {
        break;
      }
    }
    return value;
  }

  /// Whether the name at the current position is followed by members and then by "(".
  [[nodiscard]] bool calls_something() const noexcept {
    std::size_t at = pos_ + 1;
    while (at + 1 < tokens_.size() && tokens_[at].is(".") &&
           tokens_[at + 1].kind == Token::Kind::name)
      at += 2;
    return at < tokens_.size() && tokens_[at].is("(") && !is_keyword(current().text);
  }

  [[nodiscard]] std::string member_text(std::size_t first) const {
    std::string text;
    for (std::size_t at = first; at < tokens_.size() && at < first + 8; ++at) {
      if (tokens_[at].is("(")) return fmt::format("a method call, {}(…)", ellipsize(text, 60));
      text += tokens_[at].text;
    }
    return fmt::format("a member, {}", ellipsize(text, 60));
  }

  Value call() {
    const Place start = here();
    std::string callee(current().text);
    ++pos_;
    while (is(".")) {
      callee += '.';
      callee += tokens_[pos_ + 1].text;
      pos_ += 2;
    }
    if (callee != "dict" || names_.contains(callee))
      throw Fault{start, fmt::format("a function call, {}(…)", printable(callee))};
    expect("(");
    Value out = Value::container(Kind::dict);
    out.place = start;
    while (!is(")")) {
      if (at_end()) throw Fault{here(), "')' is missing", true};
      const bool keyword = current().kind == Token::Kind::name && pos_ + 1 < tokens_.size() &&
                           tokens_[pos_ + 1].is("=");
      if (!keyword) {
        Value other = expression();
        if (other.kind != Kind::dict || !out.entries.empty())
          throw Fault{start, "a call of dict(…) that is not a literal"};
        out.entries = std::move(other.entries);
        if (!is(")")) expect(",");
        continue;
      }
      Value key = Value::of_text(std::string(current().text));
      key.place = here();
      pos_ += 2;
      spend(out.entries.size() / 8);  // finding the key also takes time
      set_item(out, std::move(key), expression(), start);
      if (!is(")")) expect(",");
    }
    expect(")");
    return out;
  }

  Value subscript(const Value& container) {
    const Place place = here();
    expect("[");
    if (is(":")) throw Fault{place, "a slice"};
    const Value key = expression();
    if (is(":")) throw Fault{place, "a slice"};
    expect("]");
    if (container.kind == Kind::dict) {
      for (const Entry& entry : container.entries)
        if (hash_text(entry.key) == hash_text(key)) return charged(entry.value);
      throw Fault{
          place,
          fmt::format("a key that is not in the dict, {}", ellipsize(printable(display(key)), 60)),
          true};
    }
    const bool sequence = container.kind == Kind::list || container.kind == Kind::tuple;
    if (!sequence || key.kind != Kind::integer)
      throw Fault{place, fmt::format("an item of a {}", type_name(container))};
    const auto size = static_cast<std::int64_t>(container.items.size());
    const std::int64_t index = key.integer < 0 ? key.integer + size : key.integer;
    if (index < 0 || index >= size) throw Fault{place, "an index out of range", true};
    return charged(container.items[static_cast<std::size_t>(index)]);
  }

  Value primary() {
    if (at_end()) throw Fault{here(), "an expression is missing", true};
    const Token& token = current();
    switch (token.kind) {
      case Token::Kind::number:
        return number(token);
      case Token::Kind::string:
        return strings();
      case Token::Kind::name:
        return name(token);
      case Token::Kind::op:
        break;
    }
    if (token.is("(")) return parenthesis();
    if (token.is("[")) return list();
    if (token.is("{")) return braces();
    if (token.is("...")) throw Fault{token.place, "an ellipsis"};
    unexpected();
  }

  Value number(const Token& token) {
    std::string note;
    auto value = decode_number(token.text, note);
    if (!value) throw Fault{token.place, note, note.find("imaginary") == std::string::npos};
    if (!note.empty()) out_.notes.emplace_back(token.place, note);
    ++pos_;
    value->place = token.place;
    return charged(std::move(*value));
  }

  Value strings() {
    const Token& first = current();
    Value value = Value::of_text({});
    value.place = first.place;
    for (; !at_end() && current().kind == Token::Kind::string; ++pos_) {
      const Token& token = current();
      if (!token.problem.empty()) throw Fault{token.place, token.problem};
      if (token.format.empty()) value.text += token.decoded;
      for (const FormatPart& part : token.format)
        value.text += part.is_expression ? formatted(part.text, token.place) : part.text;
    }
    return charged(std::move(value));
  }

  /// A replacement field of an f-string: only the name of a string or an integer.
  std::string formatted(const std::string& source, Place place) {
    const auto found = names_.find(trim(source));
    const bool plain =
        found != names_.end() && found->second.value &&
        (found->second.value->is_text() || found->second.value->kind == Kind::integer);
    if (!plain)
      throw Fault{place, fmt::format("an f-string with the expression {{{}}}",
                                     ellipsize(printable(source), 60))};
    return display(charged(*found->second.value));
  }

  Value name(const Token& token) {
    if (token.text == "True" || token.text == "False" || token.text == "None") {
      ++pos_;
      Value value = token.text == "None" ? Value{} : Value::boolean(token.text == "True");
      value.place = token.place;
      return charged(std::move(value));
    }
    if (is_keyword(token.text)) unexpected();
    const auto found = names_.find(token.text);
    if (found == names_.end())
      throw Fault{token.place,
                  fmt::format("a name that this file does not define, {}", printable(token.text))};
    if (!found->second.value)
      throw Fault{token.place,
                  fmt::format("a name that is not a literal, {} ({})", printable(token.text),
                              ellipsize(found->second.why, 100))};
    ++pos_;
    const Value& value = *found->second.value;
    if (value.is_container()) out_.containers.insert(found->first);
    Value copy = charged(value);
    copy.place = token.place;
    return copy;
  }

  Value parenthesis() {
    const Place start = here();
    expect("(");
    if (accept(")")) {
      Value empty = Value::container(Kind::tuple);
      empty.place = start;
      return empty;
    }
    Value first = expression();
    if (accept(")")) return first;
    Value tuple = Value::container(Kind::tuple);
    tuple.place = start;
    add_item(tuple, std::move(first), here());
    items_until(")", tuple);
    return tuple;
  }

  /// The remaining items of a list, after the first.
  void items_until(std::string_view end, Value& container) {
    while (!accept(end)) {
      expect(",");
      if (accept(end)) return;
      add_item(container, expression(), here());
    }
  }

  Value list() {
    Value out = Value::container(Kind::list);
    out.place = here();
    expect("[");
    if (accept("]")) return out;
    add_item(out, expression(), here());
    items_until("]", out);
    return out;
  }

  Value braces() {
    const Place start = here();
    expect("{");
    Value out = Value::container(Kind::dict);
    out.place = start;
    if (accept("}")) return out;
    Value first = expression();
    if (!is(":")) throw Fault{start, "a set"};
    return dict(std::move(out), std::move(first));
  }

  Value dict(Value out, Value key) {
    std::unordered_map<std::string, std::size_t> index;
    for (;;) {
      if (!hashable(key)) throw Fault{key.place, fmt::format("a {} as key", type_name(key)), true};
      expect(":");
      Value value = expression();
      if (depth(value) + 1 > kMaxValueDepth) throw Fault{here(), "values nested too deeply"};
      const auto [found, added] = index.emplace(hash_text(key), out.entries.size());
      if (added) {
        out.entries.push_back({std::move(key), std::move(value)});
      } else {
        out_.notes.emplace_back(key.place, fmt::format("the key {} again: the last one counts",
                                                       ellipsize(printable(display(key)), 80)));
        out.entries[found->second].value = std::move(value);
      }
      if (accept("}")) return out;
      expect(",");
      if (accept("}")) return out;
      key = expression();
    }
  }

  std::span<const Token> tokens_;
  const Names& names_;
  Budget& budget_;
  std::size_t pos_ = 0;
  int level_ = 0;
  Evaluated out_;
};

}  // namespace

Evaluated evaluate(std::span<const Token> tokens, const Names& names, Budget& budget) {
  return Evaluator(tokens, names, budget).run();
}

bool is_keyword(std::string_view text) noexcept {
  static constexpr std::array<std::string_view, 35> kKeywords{
      "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
      "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
      "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
      "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
  return std::ranges::find(kKeywords, text) != kKeywords.end();
}

}  // namespace assay::pyliteral
