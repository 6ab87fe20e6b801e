#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

namespace assay::page {

/// Escapes text for HTML and XML content and for attributes in double quotes: makes it printable,
/// escapes markup, and removes code points that XML 1.0 does not allow.
[[nodiscard]] std::string escape_markup(std::string_view text);

/// Well-formed markup that is safe on a page. Text becomes Html only through text(), markup() and
/// fill() (page/template.h), which escape it; the constructor is for Assay's own markup.
class Html {
 public:
  Html() = default;
  explicit Html(std::string markup) : markup_(std::move(markup)) {}

  [[nodiscard]] static Html text(std::string_view text) { return Html(escape_markup(text)); }

  [[nodiscard]] const std::string& str() const noexcept { return markup_; }
  [[nodiscard]] bool empty() const noexcept { return markup_.empty(); }

  Html& operator+=(const Html& other) {
    markup_ += other.markup_;
    return *this;
  }
  friend Html operator+(Html left, const Html& right) { return left += right; }

 private:
  std::string markup_;
};

/// A name given by a person, such as a case's; bilingual() does not translate it.
[[nodiscard]] inline Html as_name(std::string_view name) {
  return Html("<span translate=\"no\">" + escape_markup(name) + "</span>");
}

/// An argument of markup(): numbers and Html are used as they are, text is escaped.
inline const std::string& as_markup(const Html& html) {
  return html.str();
}
inline std::string as_markup(std::string_view text) {
  return escape_markup(text);
}
template <class Number>
requires(std::is_arithmetic_v<Number> && !std::same_as<Number, char> &&
         !std::same_as<Number, bool>) Number as_markup(Number number) {
  return number;
}
template <class Argument>
using AsMarkup = std::remove_cvref_t<decltype(as_markup(std::declval<const Argument&>()))>;

/// fmt::format() for markup: "<b>{}</b> {:.1f}". All text arguments are escaped. For drawings and
/// single elements; anything with structure should be a template.
template <class... Arguments>
[[nodiscard]] Html markup(fmt::format_string<AsMarkup<Arguments>...> form,
                          const Arguments&... arguments) {
  return [&](const auto&... shown) {
    return Html(fmt::vformat(fmt::string_view(form), fmt::make_format_args(shown...)));
  }(as_markup(arguments)...);
}

}  // namespace assay::page
