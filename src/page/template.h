#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>

#include "page/asset.h"
#include "page/markup.h"

namespace assay::page {

/// A value for a placeholder. Text is escaped on construction.
class Field {
 public:
  Field(std::string_view name, std::string_view text)
      : name_(name), content_(escape_markup(text)) {}
  Field(std::string_view name, const Html& html)
      : name_(name), content_(html.str()), kind_(Kind::html) {}
  template <std::integral Number>
  requires(!std::same_as<Number, bool> && !std::same_as<Number, char>)
      Field(std::string_view name, Number number)
      : name_(name), content_(std::to_string(number)) {}
  /// Opens or closes a section; has no text of its own.
  template <std::same_as<bool> Flag>
  Field(std::string_view name, Flag shown)
      : name_(name), content_(shown ? "true" : ""), kind_(Kind::flag) {}

 private:
  friend class Filler;
  enum class Kind { text, html, flag };

  std::string_view name_;
  std::string content_;
  Kind kind_ = Kind::text;
};

/// `form` with its placeholders filled:
///
///     {{name}}               a text or number
///     {{{name}}}             an Html
///     {{#name}}…{{/name}}    left out when the value is empty or false
///     {{\n}}                 a line break
///
/// A line break in the form, with the following indentation, only serves its reader: it is removed
/// between two tags and becomes a blank next to text.
///
/// Form and fields must agree: a placeholder without a field, a field without a placeholder, a text
/// where the form wants Html or vice versa, and an unclosed section throw an Error of kind
/// internal, whether or not the section is shown.
[[nodiscard]] Html fill(const Asset& form, std::initializer_list<Field> fields);

}  // namespace assay::page
