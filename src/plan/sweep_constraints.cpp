#include "plan/sweep_constraints.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "core/parse_number.h"
#include "core/text.h"

namespace assay::plan {

using config::Entry;
using config::Node;

namespace {

constexpr const char* kWhereForm =
    "two sides of numbers and names of axes with + - * / and ( ), and < <= > >= == or != between "
    "them: batch_size * procs <= 128";
constexpr int kMaxNesting = 50;

std::vector<Node> one_or_list(const Node& node) {
  return node.is_sequence() ? node.items() : std::vector<Node>{node};
}

[[noreturn]] void unknown_axis(const Node& place, const std::string& name,
                               const std::vector<std::string>& names) {
  place.fail("no axis of the sweep is named '" + printable(ellipsize(name, 60)) + "'" +
                 did_you_mean(name, names),
             "names: " + join(names, ", "));
}

std::optional<double> number_of(const Node& value) {
  if (!value.is_scalar()) return std::nullopt;
  const auto number = parse_number<double>(trim(value.text()));
  return number && std::isfinite(*number) ? number : std::nullopt;
}

// One comparison of arithmetic expressions over the axes of a grid.
class WhereExpression {
 public:
  WhereExpression(const Node& place, const SweepConstraints::ValueOf& value_of,
                  const std::vector<std::string>& names)
      : place_(place), text_(place.nonempty_text()), value_of_(value_of), names_(names) {}

  bool holds() {
    const double left = sum(0);
    const std::string relation = comparison();
    const double right = sum(0);
    skip_blanks();
    if (at_ != text_.size()) refuse("what follows is not understood");
    if (relation == "<") return left < right;
    if (relation == "<=") return left <= right;
    if (relation == ">") return left > right;
    if (relation == ">=") return left >= right;
    return (left == right) == (relation == "==");
  }

 private:
  double sum(int depth) {
    double value = product(depth);
    for (char sign = next(); sign == '+' || sign == '-'; sign = next()) {
      ++at_;
      const double other = product(depth);
      value = sign == '+' ? value + other : value - other;
    }
    return value;
  }

  double product(int depth) {
    double value = factor(depth);
    for (char sign = next(); sign == '*' || sign == '/'; sign = next()) {
      ++at_;
      const double other = factor(depth);
      if (sign == '/' && other == 0) place_.fail("'" + printable(text_) + "' divides by zero");
      value = sign == '*' ? value * other : value / other;
    }
    return value;
  }

  double factor(int depth) {
    const char first = next();
    if (depth > kMaxNesting) refuse("the parentheses are nested too deep");
    if (first == '-') {
      ++at_;
      return -factor(depth + 1);
    }
    if (first == '(') {
      ++at_;
      const double value = sum(depth + 1);
      if (next() != ')') refuse("a ')' is missing");
      ++at_;
      return value;
    }
    const std::string word = take_word();
    if (word.empty()) refuse("a number or a name is missing");
    const bool digits = std::isdigit(static_cast<unsigned char>(word[0])) != 0 || word[0] == '.';
    if (digits) {
      if (const auto number = parse_number<double>(word)) return *number;
      refuse("not a number: '" + printable(word) + "'");
    }
    const auto value = value_of_(word);
    if (!value) unknown_axis(place_, word, names_);
    const auto number = number_of(*value);
    if (!number)
      place_.fail("'" + printable(word) + "' is " + value->describe() + ", not a number",
                  "'exclude' can name any value: exclude: [{" + printable(word) + ": …}]");
    return *number;
  }

  std::string comparison() {
    (void)next();
    for (const std::string_view relation : {"<=", ">=", "==", "!=", "<", ">"})
      if (text_.compare(at_, relation.size(), relation) == 0) {
        at_ += relation.size();
        return std::string(relation);
      }
    refuse("a comparison is missing");
  }

  // A number or a name, which may contain dots; anything but an operator.
  std::string take_word() {
    skip_blanks();
    const std::size_t begin = at_;
    const bool number =
        at_ < text_.size() && (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0);
    while (at_ < text_.size() &&
           std::string_view(" \t()+*/<>=!").find(text_[at_]) == std::string_view::npos) {
      if (text_[at_] == '-' && at_ != begin &&
          !(number && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E')))
        break;
      ++at_;
      // An exponent's sign belongs to the number.
      if (number && at_ < text_.size() && text_[at_] == '+' &&
          (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E'))
        ++at_;
    }
    return text_.substr(begin, at_ - begin);
  }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }

  char next() {
    skip_blanks();
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  [[noreturn]] void refuse(const std::string& what) const {
    place_.fail("not a condition: '" + printable(ellipsize(text_, 100)) + "': " + what +
                    " (character " + std::to_string(at_ + 1) + ")",
                kWhereForm);
  }

  const Node& place_;
  std::string text_;
  const SweepConstraints::ValueOf& value_of_;
  const std::vector<std::string>& names_;
  std::size_t at_ = 0;
};

bool same_value(const Node& a, const Node& b) {
  if (a.is_scalar() && b.is_scalar() && a.text() == b.text()) return true;
  const auto one = number_of(a);
  const auto other = number_of(b);
  if (one && other) return *one == *other;
  return !a.is_scalar() && !b.is_scalar() && a.json() == b.json();
}

bool leaves_out(const Node& excluded, const SweepConstraints::ValueOf& value_of,
                const std::vector<std::string>& names) {
  bool all = true;
  for (const Entry& entry : excluded.entries()) {
    const auto value = value_of(entry.key);
    if (!value) unknown_axis(entry.value, entry.key, names);
    all &= std::ranges::any_of(one_or_list(entry.value),
                               [&](const Node& one) { return same_value(one, *value); });
  }
  return all;
}

}  // namespace

SweepConstraints::SweepConstraints(const Node& sweep) {
  if (sweep.is_null()) return;
  if (const Node* where = sweep.find("where"); where != nullptr && !where->is_null())
    where_ = one_or_list(*where);
  if (const Node* exclude = sweep.find("exclude"); exclude != nullptr && !exclude->is_null())
    for (const Node& mapping : one_or_list(*exclude)) exclude_.push_back({mapping});
  for (const Node& where : where_) (void)where.nonempty_text();
  for (const Excluded& excluded : exclude_)
    if (excluded.mapping.entries().empty())
      excluded.mapping.fail("the mapping is empty: it would leave out every point",
                            "exclude: [{batch_size: 128, procs: 1}]");
}

bool SweepConstraints::allows(const ValueOf& value_of, const std::vector<std::string>& names) {
  // Evaluates every constraint, so that a wrong one shows at the first point.
  bool allowed = true;
  for (const Node& where : where_) allowed &= WhereExpression(where, value_of, names).holds();
  for (Excluded& excluded : exclude_) {
    const bool fits = leaves_out(excluded.mapping, value_of, names);
    excluded.fits |= fits;
    allowed &= !fits;
  }
  return allowed;
}

void SweepConstraints::require_use() const {
  for (const Excluded& excluded : exclude_)
    if (!excluded.fits)
      excluded.mapping.fail("it leaves out nothing: no point of the sweep has these values",
                            "write values of the sweep's lists");
}

}  // namespace assay::plan
