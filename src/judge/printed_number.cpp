#include "judge/printed_number.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>

#include "core/parse_number.h"

namespace assay::judge {

namespace {

// Typographic spaces between groups of digits: no-break, thin, narrow no-break.
constexpr std::string_view kNarrowSpaces[] = {"\xC2\xA0", "\xE2\x80\x89", "\xE2\x80\xAF"};
constexpr std::string_view kMinus = "\xE2\x88\x92";
constexpr std::string_view kMicro[] = {"\xC2\xB5s", "\xCE\xBCs"};

bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

bool take(std::string_view& text, std::string_view front) {
  if (!text.starts_with(front)) return false;
  text.remove_prefix(front.size());
  return true;
}

void skip_spaces(std::string_view& text) {
  const auto one = [&] {
    return take(text, " ") || take(text, "\t") ||
           std::ranges::any_of(kNarrowSpaces, [&](auto space) { return take(text, space); });
  };
  while (one()) {
  }
}

std::string_view take_digits(std::string_view& text) {
  const auto end = std::ranges::find_if_not(text, is_digit);
  const std::string_view digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(digits.size());
  return digits;
}

// The thousands separator at the front of `text`, if three digits follow.
std::string_view separator_at(std::string_view text) {
  for (const std::string_view separator :
       {std::string_view(","), std::string_view("_"), std::string_view("'"), kNarrowSpaces[0],
        kNarrowSpaces[1], kNarrowSpaces[2]}) {
    std::string_view rest = text;
    if (take(rest, separator) && take_digits(rest).size() == 3) return separator;
  }
  return {};
}

// A decimal number without separators and suffix, "-1234.5e3", from the front of `text`.
struct Decimal {
  std::string digits;
  bool exponent = false;
};

std::optional<Decimal> take_decimal(std::string_view& text) {
  Decimal out;
  if (take(text, "-") || take(text, kMinus))
    out.digits = "-";
  else
    (void)take(text, "+");
  std::string whole(take_digits(text));
  const std::string_view separator = separator_at(text);
  // No group begins with a zero, so 0,123 has a decimal comma.
  if (!separator.empty() && !whole.empty() && whole.size() <= 3 && whole.front() != '0')
    while (separator_at(text) == separator && take(text, separator)) whole += take_digits(text);
  std::string_view fraction;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    fraction = take_digits(text);
  }
  if (whole.empty() && fraction.empty()) return std::nullopt;
  out.digits += (whole.empty() ? "0" : whole) + '.' + std::string(fraction) + '0';
  if (text.starts_with('e') || text.starts_with('E')) {
    std::string_view rest = text.substr(1);
    const bool negative = take(rest, "-");
    if (!negative) (void)take(rest, "+");
    if (const std::string_view exponent = take_digits(rest); !exponent.empty()) {
      out.digits += std::string("e") + (negative ? "-" : "") + std::string(exponent);
      out.exponent = true;
      text = rest;
    }
  }
  return out;
}

struct Suffix {
  std::string_view name;
  int decimal;  // exponent of 10
  int binary;   // exponent of 2
};
// Longer ones first. Leaves out "m" (milli, minutes or million), "B" and "E" as ambiguous.
constexpr Suffix kSuffixes[] = {{"Ki", 0, 10}, {"Mi", 0, 20}, {"Gi", 0, 30}, {"Ti", 0, 40},
                                {"Pi", 0, 50}, {"k", 3, 0},   {"K", 3, 0},   {"M", 6, 0},
                                {"G", 9, 0},   {"T", 12, 0},  {"P", 15, 0},  {"%", -2, 0}};

// Applies the decimal exponent to the text, so that 12.3k is exactly 12300.
std::optional<double> value_of(const Decimal& decimal, const Suffix& suffix) {
  if (decimal.exponent && !suffix.name.empty()) return std::nullopt;
  const std::string text =
      suffix.decimal == 0 ? decimal.digits : decimal.digits + "e" + std::to_string(suffix.decimal);
  const auto number = parse_number<double>(text);
  if (!number) return std::nullopt;
  const double value = std::ldexp(*number, suffix.binary);
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<double> seconds_of(std::string_view unit) {
  struct Unit {
    std::string_view name;
    double seconds;
  };
  static constexpr Unit kUnits[] = {{"ns", 1e-9},      {"us", 1e-6}, {kMicro[0], 1e-6},
                                    {kMicro[1], 1e-6}, {"ms", 1e-3}, {"s", 1},
                                    {"sec", 1},        {"min", 60},  {"h", 3600}};
  const auto at = std::ranges::find(kUnits, unit, &Unit::name);
  return at == std::end(kUnits) ? std::nullopt : std::optional(at->seconds);
}

// "it/s" for the unit "it", with an optional suffix in front.
std::optional<Suffix> rate_suffix(std::string_view text, std::string_view unit) {
  for (const std::string_view second : {"/s", "/sec"}) {
    const std::string wanted = std::string(unit) + std::string(second);
    if (!text.ends_with(wanted)) continue;
    std::string_view front = text.substr(0, text.size() - wanted.size());
    while (front.ends_with(' ')) front.remove_suffix(1);
    if (front.empty()) return Suffix{};
    const auto at = std::ranges::find(kSuffixes, front, &Suffix::name);
    if (at != std::end(kSuffixes) && at->name != "%") return *at;
  }
  return std::nullopt;
}

// Removes the comma that a pattern such as [0-9.,]+ takes along after a number.
std::string_view without_end(std::string_view text) {
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  if (text.ends_with(',')) text.remove_suffix(1);
  return text;
}

}  // namespace

std::optional<double> printed_number(std::string_view text) {
  text = without_end(text);
  skip_spaces(text);
  const auto decimal = take_decimal(text);
  if (!decimal) return std::nullopt;
  skip_spaces(text);
  if (text.empty()) return value_of(*decimal, {});
  const auto suffix = std::ranges::find(kSuffixes, text, &Suffix::name);
  return suffix == std::end(kSuffixes) ? std::nullopt : value_of(*decimal, *suffix);
}

PrintedSpeed printed_speed(std::string_view text, std::string_view unit) {
  text = without_end(text);
  skip_spaces(text);
  if (take(text, "?")) {
    skip_spaces(text);
    return {std::nullopt, rate_suffix(text, unit).has_value()};
  }
  const auto decimal = take_decimal(text);
  if (!decimal) return {};
  skip_spaces(text);
  if (const auto suffix = rate_suffix(text, unit)) return {value_of(*decimal, *suffix)};
  const std::string per = "/" + std::string(unit);
  if (!text.ends_with(per)) return {};
  const auto seconds = seconds_of(text.substr(0, text.size() - per.size()));
  const auto value = value_of(*decimal, {});
  if (!seconds || !value || !(*value > 0)) return {};
  const double speed = 1 / (*value * *seconds);
  return {std::isfinite(speed) ? std::optional(speed) : std::nullopt};
}

}  // namespace assay::judge
