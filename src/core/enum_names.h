#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace assay {

/// One line of an enum's table of names. The table is a function beside the enum, in its namespace
/// (or a friend, when the enum is in a class):
///
///     enum class Better { higher, lower, neither };
///
///     constexpr auto enum_names(Better) {
///       using enum Better;
///       return std::to_array<EnumName<Better>>(
///           {{higher, "higher"}, {lower, "lower"}, {neither, "neither"}});
///     }
///
/// A table that repeats a value or a text, or that lacks the enumerator after its greatest one,
/// does not compile.
template <class E>
struct EnumName {
  E value;
  std::string_view text;
};

template <class E>
concept NamedEnum = std::is_enum_v<E> && requires(E value) {
  { enum_names(value)[0] } -> std::convertible_to<EnumName<E>>;
};

namespace enum_names_detail {

// The compiler writes "Better::higher" for an enumerator and "(Better)3" for any other value.
template <auto Value>
consteval bool is_enumerator() {
  const std::string_view name = __PRETTY_FUNCTION__;
  const char after = name[name.rfind(')') + 1];
  return !(after == '-' || (after >= '0' && after <= '9'));
}

template <NamedEnum E>
inline constexpr auto kTable = enum_names(E{});

template <NamedEnum E>
consteval bool is_sound() {
  constexpr auto& table = kTable<E>;
  for (std::size_t i = 0; i < table.size(); ++i)
    for (std::size_t k = i + 1; k < table.size(); ++k)
      if (table[i].value == table[k].value || table[i].text == table[k].text) return false;
  constexpr E greatest = std::ranges::max(table, {}, &EnumName<E>::value).value;
  return !is_enumerator<static_cast<E>(static_cast<std::underlying_type_t<E>>(greatest) + 1)>();
}

}  // namespace enum_names_detail

/// The text of `value`; "" for a value that is not an enumerator.
template <NamedEnum E>
[[nodiscard]] constexpr std::string_view to_text(E value) noexcept {
  static_assert(enum_names_detail::is_sound<E>(), "the enum's table of names is wrong");
  for (const EnumName<E>& entry : enum_names_detail::kTable<E>)
    if (entry.value == value) return entry.text;
  return {};
}

/// The value whose text is exactly `text`.
template <NamedEnum E>
[[nodiscard]] constexpr std::optional<E> parse_enum(std::string_view text) noexcept {
  static_assert(enum_names_detail::is_sound<E>(), "the enum's table of names is wrong");
  for (const EnumName<E>& entry : enum_names_detail::kTable<E>)
    if (entry.text == text) return entry.value;
  return std::nullopt;
}

/// All values, in the table's order.
template <NamedEnum E>
[[nodiscard]] constexpr auto enum_values() noexcept {
  std::array<E, enum_names_detail::kTable<E>.size()> out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = enum_names_detail::kTable<E>[i].value;
  return out;
}

/// All texts, in the table's order, for lists of choices and for `nearest`.
template <NamedEnum E>
[[nodiscard]] std::vector<std::string> enum_texts() {
  std::vector<std::string> out;
  for (const EnumName<E>& entry : enum_names_detail::kTable<E>) out.emplace_back(entry.text);
  return out;
}

/// "higher, lower or neither", for messages.
template <NamedEnum E>
[[nodiscard]] std::string enum_choices() {
  constexpr auto& table = enum_names_detail::kTable<E>;
  std::string out{table[0].text};
  for (std::size_t i = 1; i < table.size(); ++i)
    out.append(i + 1 < table.size() ? ", " : " or ").append(table[i].text);
  return out;
}

}  // namespace assay
